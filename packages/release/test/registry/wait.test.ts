import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { Patience } from '../../src/registry/wait.ts'
import { virtualKernel } from '../support/virtual-time.ts'

test('each wait gets the rest of the deadline', async () => {
  const kernel = virtualKernel()
  const patience = new Patience('work', kernel, { deadline: 1000 })
  await kernel.clock.runUntil(patience.sleep(300))
  assert.equal(patience.left, 700)
  assert.deepEqual(patience.options, { signal: undefined, deadline: 700 })
  await assert.rejects(patience.sleep(700), (error) => {
    assert.ok(isError(error, 'HDL_TIMEOUT'))
    return error.details.limit === 1000
  })
  assert.equal(kernel.clock.pending, 0)
})

test('without a deadline there is none to pass on', () => {
  const kernel = virtualKernel()
  const { signal } = new AbortController()
  assert.deepEqual(new Patience('work', kernel, { signal }).options, { signal })
})

test('an abort ends a sleep, and is seen before one', async () => {
  const kernel = virtualKernel()
  const abort = new AbortController()
  const patience = new Patience('work', kernel, { signal: abort.signal })
  const sleeping = patience.sleep(1000)
  abort.abort(new Error('enough'))
  await assert.rejects(sleeping, (error) => isError(error, 'HDL_CANCELLED'))
  await assert.rejects(patience.sleep(0), (error) => isError(error, 'HDL_CANCELLED'))
  assert.equal(kernel.clock.pending, 0)
})
