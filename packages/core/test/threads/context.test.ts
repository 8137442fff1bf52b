import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoopContext } from '@heddle/core'
import { ThreadContext } from '../../src/threads/context.ts'

function newContext(progress: (text: string | undefined) => void = () => {}): ThreadContext {
  return new ThreadContext('parse', 0, 0, {
    words: new Int32Array(1),
    readMail: () => {},
    log: () => {},
    progress: (_ticket, _fraction, text) => progress(text),
    artifact: () => Promise.reject(new Error('none')),
  })
}

test('a thread job that calls a durable step past its types gets an error that says why', () => {
  const context = newContext() as unknown as LoopContext
  for (const step of ['run', 'sleep', 'waitFor'] as const) {
    assert.throws(() => context[step], {
      code: 'HDL_NO_STEPS',
      message: new RegExp(`ctx\\.${step}`),
    })
  }
})

test('a long progress text is cut before it is sent to the loop, unless the loop redacts it first', () => {
  const sent: (string | undefined)[] = []
  const context = newContext((text) => sent.push(text))
  const long = 'x'.repeat(100_000)
  context.progress(0.1)
  context.progress(0.2, long)
  context.isRedacted = true
  context.progress(0.3, long)
  assert.deepEqual(sent, [undefined, `${'x'.repeat(999)}…`, long])
})
