import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mutex } from '../../src/sync/mutex.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

test('M1: one caller at a time is inside, in order of arrival', async () => {
  const mutex = new Mutex()
  const log: string[] = []
  let inside = 0
  const visit = async (id: number): Promise<void> => {
    using _ = await mutex.acquire()
    inside++
    assert.equal(inside, 1)
    log.push(`in ${id}`)
    await turn()
    log.push(`out ${id}`)
    inside--
  }
  await Promise.all([visit(0), visit(1), visit(2)])
  assert.deepEqual(log, ['in 0', 'out 0', 'in 1', 'out 1', 'in 2', 'out 2'])
  assert.deepEqual(mutex.stats(), { held: false, waiting: 0 })
})

test('M2: a release hands the lock over in the same step, so no other caller slips in between', async () => {
  const mutex = new Mutex()
  const first = mutex.tryAcquire()
  const second = watch(mutex.acquire())
  first?.release()
  assert.equal(mutex.isHeld, true)
  assert.equal(mutex.tryAcquire(), undefined)
  await turn()
  assert.equal(second.state, 'fulfilled')
  second.value?.release()
  assert.equal(mutex.isHeld, false)
})

test('releasing twice is harmless, also when another caller holds the lock by then', () => {
  const mutex = new Mutex()
  const first = mutex.tryAcquire()
  first?.release()
  assert.equal(first?.released, true)
  const second = mutex.tryAcquire()
  assert.notEqual(second, undefined)
  first?.release()
  assert.equal(mutex.isHeld, true)
  second?.release()
})

test('an aborted or late waiter loses its place and nothing else', async () => {
  const kernel = testKernel()
  const mutex = new Mutex({ name: 'db', kernel })
  const controller = new AbortController()
  const holder = await mutex.acquire()
  const aborted = watch(mutex.acquire({ signal: controller.signal }))
  const late = watch(mutex.acquire({ deadline: 20 }))
  const patient = watch(mutex.acquire({ deadline: 1000 }))
  controller.abort()
  await kernel.clock.advance(20)
  withCode('HDL_CANCELLED')(aborted.error)
  assert.match(String(late.error), /Mutex "db" timed out after 20 ms/)
  holder.release()
  await turn()
  assert.equal(patient.state, 'fulfilled')
  assert.equal(kernel.clock.pending, 0)
  await assert.rejects(mutex.acquire({ deadline: 0 }), withCode('HDL_TIMEOUT'))
  patient.value?.release()
  await assert.rejects(mutex.acquire({ signal: controller.signal }), withCode('HDL_CANCELLED'))
  assert.equal(mutex.isHeld, false)
})

test('W4: a lock released by an abort listener does not go to a waiter of the same signal', async () => {
  const mutex = new Mutex()
  const controller = new AbortController()
  const holder = await mutex.acquire()
  // Registered before the waiter follows the signal, so it runs first.
  controller.signal.addEventListener('abort', () => holder.release())
  const doomed = watch(mutex.acquire({ signal: controller.signal }))
  const next = watch(mutex.acquire())
  controller.abort()
  await turn()
  withCode('HDL_CANCELLED')(doomed.error)
  assert.equal(next.state, 'fulfilled')
})

test('W5: one waiter more than maxWaiters is refused', async () => {
  const mutex = new Mutex({ maxWaiters: 1 })
  const holder = await mutex.acquire()
  const waiting = watch(mutex.acquire())
  await assert.rejects(mutex.acquire(), withCode('HDL_TOO_MANY_WAITERS'))
  holder.release()
  await turn()
  waiting.value?.release()
  assert.throws(() => new Mutex({ maxWaiters: -1 }), withCode('HDL_BAD_OPTION'))
})
