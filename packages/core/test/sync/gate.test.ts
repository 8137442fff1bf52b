import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Gate } from '../../src/sync/gate.ts'
import { Queue } from '../../src/sync/queue.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

test('a gate starts open, holds back while it is closed, and opens again', async () => {
  const gate = new Gate()
  await gate.wait({ deadline: 0 })
  assert.equal(gate.open(), false)
  assert.equal(gate.close(), true)
  assert.equal(gate.close(), false)

  const held = watch(gate.wait())
  await turn()
  assert.equal(held.state, 'pending')
  assert.deepEqual(gate.stats(), { open: false, waiting: 1 })

  assert.equal(gate.open(), true)
  await turn()
  assert.equal(held.state, 'fulfilled')

  gate.close()
  const again = watch(gate.wait())
  await turn()
  assert.equal(again.state, 'pending')
  gate.open()
  await turn()
  assert.equal(again.state, 'fulfilled')
})

test('P1: a worker that took work before the pause does not start it in the pause', async () => {
  const gate = new Gate()
  const queue = new Queue<string>({ capacity: 4 })
  const started: string[] = []
  const worker = async (): Promise<void> => {
    using ticket = await queue.take()
    while (!gate.isOpen) await gate.wait()
    started.push(ticket.item)
  }
  const working = worker()
  await turn()

  gate.close()
  queue.tryPut('a')
  await turn()
  assert.deepEqual(started, [])

  // Open for a moment only: the loop around wait() notices.
  gate.open()
  gate.close()
  await turn()
  assert.deepEqual(started, [])

  gate.open()
  await working
  assert.deepEqual(started, ['a'])
})

test('a wait at a gate ends by its signal or its deadline and leaves nothing', async () => {
  const kernel = testKernel()
  const gate = new Gate({ open: false, kernel })
  const controller = new AbortController()
  const aborted = watch(gate.wait({ signal: controller.signal }))
  const late = watch(gate.wait({ deadline: 10 }))
  controller.abort()
  await kernel.clock.advance(10)
  assert.equal(aborted.state, 'rejected')
  withCode('HDL_CANCELLED')(aborted.error)
  withCode('HDL_TIMEOUT')(late.error)
  assert.equal(gate.stats().waiting, 0)
  assert.equal(kernel.clock.pending, 0)
})
