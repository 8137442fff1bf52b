import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { enterThread, parkedInThread } from '../../src/threads/inside-thread.ts'

const key = Symbol.for('heddle.thread')
afterEach(() => Reflect.deleteProperty(globalThis, key))

test('outside of a thread of ours nothing is parked', () => {
  assert.equal(parkedInThread(), false)
})

test('inside, a main program is parked, and the thread is notified; a job is not', () => {
  const calls: string[] = []
  let isInJob = false
  enterThread({ inJob: () => isInJob, parked: () => calls.push('parked') })
  assert.equal(parkedInThread(), true)
  isInJob = true
  assert.equal(parkedInThread(), false)
  assert.deepEqual(calls, ['parked'])
})

const copyOfInside: string = '../../src/threads/inside-thread.ts?copy=2'

test('another copy of the package sees the same thread', async () => {
  enterThread({ inJob: () => false, parked: () => undefined })
  const copy = await import(copyOfInside)
  assert.notEqual(copy.parkedInThread, parkedInThread)
  assert.equal(copy.parkedInThread(), true)
})
