import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event } from '../../src/sync/event.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

test('an event wakes every waiting caller, in order, and happens once', async () => {
  const event = new Event()
  const woken: number[] = []
  for (const id of [0, 1, 2]) void event.wait().then(() => woken.push(id))
  await turn()
  assert.deepEqual(woken, [])
  assert.deepEqual(event.stats(), { set: false, waiting: 3 })

  assert.equal(event.set(), true)
  assert.equal(event.set(), false)
  await turn()

  assert.deepEqual(woken, [0, 1, 2])
  assert.equal(event.isSet, true)
  assert.deepEqual(event.stats(), { set: true, waiting: 0 })
  await event.wait({ deadline: 0 })
})

test('a wait for an event ends by its signal or its deadline and leaves nothing', async () => {
  const kernel = testKernel()
  const event = new Event({ name: 'ready', kernel })
  const controller = new AbortController()
  const aborted = watch(event.wait({ signal: controller.signal, deadline: 100 }))
  const late = watch(event.wait({ deadline: 50 }))

  controller.abort(new Error('no longer needed'))
  await kernel.clock.advance(50)

  assert.match(String(aborted.error), /Event "ready" was cancelled \(user\): no longer needed/)
  assert.match(String(late.error), /Event "ready" timed out after 50 ms/)
  assert.deepEqual(event.stats(), { set: false, waiting: 0 })
  assert.equal(kernel.clock.pending, 0)

  event.set()
  await assert.rejects(event.wait({ signal: controller.signal }), withCode('HDL_CANCELLED'))
})
