import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callAsync } from '../../src/kernel/call.ts'

test('it is called at once, and gives what the function gives', async () => {
  let isCalled = false
  const outcome = callAsync(() => {
    isCalled = true
    return Promise.resolve(5)
  })
  assert.equal(isCalled, true)
  assert.equal(await outcome, 5)
  assert.equal(await callAsync(() => 6), 6)
})

test('what the function throws is a rejection', async () => {
  const outcome = callAsync(() => {
    throw new RangeError('no')
  })
  await assert.rejects(outcome, RangeError)
})
