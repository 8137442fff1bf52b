import assert from 'node:assert/strict'
import test from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { Output } from '../../src/output/output.ts'

test('when the reader has left nothing is written any more, and nothing is reported', async () => {
  const written: string[] = []
  const listeners: ((error: Error) => void)[] = []
  const output = new Output({
    write: (text, callback) => {
      written.push(text)
      callback?.()
      return true
    },
    on: (_event, listener) => listeners.push(listener),
  })
  output.line('one')
  await output.flush()
  for (const listener of listeners) listener(new Error('EPIPE'))
  assert.equal(output.gone, true)
  output.line('two')
  await output.flush()
  assert.deepEqual(written, ['one\n', ''])
})

test('flush ends also when the reader leaves before it', async () => {
  const listeners: ((error: Error) => void)[] = []
  const output = new Output({
    write: () => false,
    on: (_event, listener) => listeners.push(listener),
  })
  const flushed = output.flush()
  for (const listener of listeners) listener(new Error('EPIPE'))
  await flushed
})

test('with a clock, writes of one turn are one write; drain() does not wait for its end', async () => {
  const written: string[] = []
  const clock = new VirtualClock()
  const output = new Output(
    { write: (text, done) => (written.push(text), done?.(), true), on: () => {} },
    clock,
  )
  output.line('one')
  output.line('two')
  assert.equal(written.length, 0)
  await clock.settle()
  assert.deepEqual(written, ['one\ntwo\n'])
  output.line('three')
  output.drain()
  output.drain()
  assert.deepEqual(written.slice(1), ['three\n'])
  output.line('four')
  await output.flush()
  assert.deepEqual(written.slice(2), ['four\n', ''])
  output.write('x'.repeat(70_000))
  assert.deepEqual(
    written.slice(4).map((text) => text.length),
    [70_000],
  )
})
