import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callAsync } from '../../src/kernel/call.ts'

test('it is called at once, and returns the value of the function', async () => {
  let isCalled = false
  const outcome = callAsync(() => {
    isCalled = true
    return Promise.resolve(5)
  })
  assert.equal(isCalled, true)
  assert.equal(await outcome, 5)
  assert.equal(await callAsync(() => 6), 6)
})

test('an error of the function is a rejection', async () => {
  const outcome = callAsync(() => {
    throw new RangeError('no')
  })
  await assert.rejects(outcome, RangeError)
})
