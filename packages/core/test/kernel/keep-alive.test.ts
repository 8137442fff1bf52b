import assert from 'node:assert/strict'
import test from 'node:test'
import { keepAlive } from '../../src/kernel/keep-alive.ts'

const timers = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

test('it holds the process until it is disposed of, once or twice', () => {
  const before = timers()
  const hold = keepAlive()
  assert.equal(timers(), before + 1)
  hold[Symbol.dispose]()
  hold[Symbol.dispose]()
  assert.equal(timers(), before)
})
