import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError, isError } from '@heddle/core'
import { converge } from '../../src/registry/converge.ts'
import { virtualKernel } from '../support/virtual-time.ts'

const lost = (): HeddleError =>
  new HeddleError('HDL_REGISTRY_UNAVAILABLE', {
    registry: 'r',
    action: 'PUT',
    problem: 'lost',
    outcome: 'unknown',
    tries: 1,
  })

test('a value that is already set is not written', async () => {
  let writes = 0
  const write = async (): Promise<void> => void writes++
  await converge({ what: 'w', kernel: virtualKernel(), isDone: async () => true, write })
  assert.equal(writes, 0)
})

test('a write whose answer got lost is not repeated when a read finds it', async () => {
  const kernel = virtualKernel()
  let writes = 0
  const work = converge({
    what: 'w',
    kernel,
    isDone: async () => writes > 0,
    write: async () => {
      writes++
      throw lost()
    },
  })
  await kernel.clock.runUntil(work)
  assert.equal(writes, 1)
})

test('it gives up after four writes, and at once when it is refused for good', async () => {
  const kernel = virtualKernel()
  let writes = 0
  const never = { what: 'w', kernel, isDone: async () => false }
  const failing = converge({
    ...never,
    write: async () => {
      writes++
      throw lost()
    },
  })
  await assert.rejects(kernel.clock.runUntil(failing), (error) =>
    isError(error, 'HDL_REGISTRY_UNAVAILABLE'),
  )
  assert.equal(writes, 4)
  const refused = converge({
    ...never,
    write: async () => {
      writes++
      const details = { registry: 'r', action: 'PUT', status: 401, said: '', hint: '' }
      throw new HeddleError('HDL_REGISTRY_AUTH', details)
    },
  })
  await assert.rejects(refused, (error) => isError(error, 'HDL_REGISTRY_AUTH'))
  assert.equal(writes, 5)
})

test('a write that is answered with success and stores nothing is repeated, then an error', async () => {
  const kernel = virtualKernel()
  let writes = 0
  const write = async (): Promise<void> => void writes++
  const work = { what: 'w', kernel, write, confirmedAt: 'r' }
  const never = converge({ ...work, isDone: async () => false })
  await assert.rejects(kernel.clock.runUntil(never), /changed nothing/)
  assert.equal(writes, 4)
  let reads = 0
  const late = converge({ ...work, isDone: async () => ++reads > 3 })
  await kernel.clock.runUntil(late)
  assert.equal(writes, 5, 'a slow registry is waited for')
})
