import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIn } from '../support/races.ts'

const guarded: Readonly<Record<string, string>> = {
  'async-mutex, scoped': 'return this.mutex.runExclusive(async () => { BODY })',
  'a lock that is taken and given back':
    'await this.lock.acquire(); try { BODY } finally { this.lock.release() }',
  'a lock whose release is handed out':
    'const release = await this.mutex.acquire(); try { BODY } finally { release() }',
  'async-lock with a key': `return this.lock.acquire('key', async () => { BODY })`,
  'locks of the browser': `return navigator.locks.request('key', async () => { BODY })`,
  'a queue of one': 'return this.queue.add(async () => { BODY })',
  'a limit of one': 'return limit(async () => { BODY })',
  'a run that callers share': `return coalesceAsync('key', async () => { BODY })`,
}

function program(method: string): string {
  return `import pLimit from 'p-limit'
import PQueue from 'p-queue'
const limit = pLimit(1)
export class A {
  queue = new PQueue({ concurrency: 1 })
  async get() {
    ${method.replace('BODY', 'if (!this.c) this.c = await connect(); return this.c')}
  }
}
`
}

for (const [name, method] of Object.entries(guarded)) {
  test(`guard: ${name}`, async () => {
    const findings = await findIn(program(method))
    assert.deepEqual(
      findings.filter((finding) => finding.rule === 'H101'),
      [],
    )
  })
}

test('a survey without a guard prints none', async () => {
  const findings = await findIn(program('BODY'))
  assert.equal(findings.filter((finding) => finding.rule === 'H101').length, 1)
})

test('guard: a queue of four is none', async () => {
  const source = program(guarded['a queue of one']!).replace('concurrency: 1', 'concurrency: 4')
  const findings = await findIn(source)
  assert.equal(findings.filter((finding) => finding.rule === 'H101').length, 1)
})
