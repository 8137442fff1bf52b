import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Semaphore } from '../../src/sync/semaphore.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

test('S1: never more permits out than there are', async () => {
  const semaphore = new Semaphore({ permits: 2 })
  const a = await semaphore.acquire()
  const b = await semaphore.acquire()
  assert.equal(semaphore.tryAcquire(), undefined)
  const c = watch(semaphore.acquire())
  await turn()
  assert.equal(c.state, 'pending')
  a.release()
  await turn()
  assert.equal(c.state, 'fulfilled')
  a.release()
  assert.equal(semaphore.tryAcquire(), undefined)
  b.release()
  c.value?.release()
  assert.deepEqual(semaphore.stats(), {
    permits: 2,
    reserved: 0,
    available: 2,
    availableReserved: 0,
    waiting: 0,
    waitingUrgent: 0,
  })
})

test('S5: a heavy request is not starved by light requests that come later', async () => {
  const semaphore = new Semaphore({ permits: 3 })
  const light = [semaphore.tryAcquire(), semaphore.tryAcquire()]
  const heavy = watch(semaphore.acquire({ weight: 3 }))
  assert.equal(semaphore.tryAcquire(), undefined)
  const later = watch(semaphore.acquire())
  light[0]?.release()
  await turn()
  assert.equal(heavy.state, 'pending')
  assert.equal(later.state, 'pending')
  light[1]?.release()
  await turn()
  assert.equal(heavy.state, 'fulfilled')
  assert.equal(later.state, 'pending')
  heavy.value?.release()
  await turn()
  assert.equal(later.state, 'fulfilled')
})

test('a heavy request that gives up lets the requests behind it in at once', async () => {
  const kernel = testKernel()
  const semaphore = new Semaphore({ permits: 3, kernel })
  semaphore.tryAcquire()
  const heavy = watch(semaphore.acquire({ weight: 3, deadline: 10 }))
  const behind = [watch(semaphore.acquire()), watch(semaphore.acquire())]
  await kernel.clock.advance(10)
  withCode('HDL_TIMEOUT')(heavy.error)
  assert.deepEqual(
    behind.map((each) => each.state),
    ['fulfilled', 'fulfilled'],
  )
  assert.equal(kernel.clock.pending, 0)
})

test('S36 reserved lane: priority 0 starts at once although background work waits', async () => {
  const slots = new Semaphore({ permits: 1, reserved: 1 })
  const background = Array.from({ length: 10 }, () => watch(slots.acquire({ priority: 1 })))
  await turn()
  assert.equal(background.filter((each) => each.state === 'fulfilled').length, 1)

  const urgent = slots.tryAcquire({ priority: 0 })
  assert.equal(urgent?.reserved, 1)
  assert.deepEqual(slots.stats(), {
    permits: 1,
    reserved: 1,
    available: 0,
    availableReserved: 0,
    waiting: 9,
    waitingUrgent: 0,
  })

  // S2: it goes back to its own pool, not to the nine waiting callers.
  urgent?.release()
  await turn()
  assert.equal(background.filter((each) => each.state === 'fulfilled').length, 1)
  assert.equal(slots.stats().availableReserved, 1)
})

test('J4 priority 0 takes general permits first', () => {
  const slots = new Semaphore({ permits: 2, reserved: 1 })
  const first = slots.tryAcquire({ priority: 0 })
  assert.equal(first?.reserved, 0)
  assert.equal(slots.stats().availableReserved, 1)
  const both = slots.tryAcquire({ priority: 0, weight: 2 })
  assert.equal(both?.weight, 2)
  assert.equal(both?.reserved, 1)
  both?.release()
  first?.release()
  assert.equal(slots.stats().available, 2)
  assert.equal(slots.stats().availableReserved, 1)
})

for (const pool of ['general', 'reserved']) {
  test(`S37, S4: a waiting request of priority 0 gets the permit that is released first in the ${pool} pool`, async () => {
    const slots = new Semaphore({ permits: 1, reserved: 1 })
    const general = slots.tryAcquire({ priority: 0 })
    const reserved = slots.tryAcquire({ priority: 0 })
    assert.deepEqual([general?.reserved, reserved?.reserved], [0, 1])
    const background = watch(slots.acquire({ priority: 1 }))
    const urgent = watch(slots.acquire({ priority: 0 }))
    const freed = pool === 'general' ? general : reserved
    freed?.release()
    await turn()
    assert.equal(urgent.state, 'fulfilled')
    assert.equal(urgent.value?.reserved, freed?.reserved)
    assert.equal(background.state, 'pending')
  })
}

test('S3: lower priorities never take a reserved permit, however long they wait', async () => {
  const kernel = testKernel()
  const slots = new Semaphore({ permits: 1, reserved: 1, aging: 10, kernel })
  const holder = slots.tryAcquire()
  const waiting = watch(slots.acquire({ priority: 9 }))
  await kernel.clock.advance(1_000_000)
  assert.equal(waiting.state, 'pending')
  const other = slots.tryAcquire({ priority: 0 })
  other?.release()
  await turn()
  assert.equal(waiting.state, 'pending')
  holder?.release()
  await turn()
  assert.equal(waiting.value?.reserved, 0)
})

test('S5: priority 0 passes an aged waiter on reserved permits only', async () => {
  const kernel = testKernel()
  const slots = new Semaphore({ permits: 3, reserved: 1, aging: 10, kernel })
  const holders = [slots.tryAcquire(), slots.tryAcquire()]
  const heavy = watch(slots.acquire({ priority: 1, weight: 3 }))
  await kernel.clock.advance(11)

  // One general permit is free, but it is kept for the heavy one, which has waited long enough.
  const passing = slots.tryAcquire({ priority: 0 })
  assert.equal(passing?.reserved, 1)
  const urgent = watch(slots.acquire({ priority: 0 }))
  await turn()
  assert.equal(urgent.state, 'pending')

  passing?.release()
  await turn()
  assert.equal(urgent.value?.reserved, 1)
  for (const holder of holders) holder?.release()
  await turn()
  assert.equal(heavy.state, 'fulfilled')
})

test('aging: a stream of priority 0 delays other requests by a bounded time', async () => {
  const kernel = testKernel()
  const slots = new Semaphore({ permits: 1, aging: 100, kernel })
  let holder = slots.tryAcquire()
  const low = watch(slots.acquire({ priority: 3 }))
  let turns = 0
  while (low.state === 'pending') {
    const next = watch(slots.acquire({ priority: 0 }))
    await kernel.clock.advance(10)
    holder?.release()
    await turn()
    if (next.state === 'fulfilled') holder = next.value
    turns++
    assert.ok(turns < 40, 'priority 3 must get in within 3 × aging')
  }
  assert.ok(turns >= 30, `it got in after ${turns} turns, but priority 0 goes first until then`)
})

test('a request that could never be granted is refused at once', async () => {
  const slots = new Semaphore({ name: 'gpu', permits: 3, reserved: 1 })
  await assert.rejects(slots.acquire({ weight: 5, priority: 0 }), withCode('HDL_WOULD_DEADLOCK'))
  await assert.rejects(slots.acquire({ weight: 4 }), withCode('HDL_WOULD_DEADLOCK'))
  assert.throws(() => slots.tryAcquire({ weight: 4 }), withCode('HDL_WOULD_DEADLOCK'))
  await assert.rejects(slots.acquire({ weight: 0 }), withCode('HDL_BAD_OPTION'))
  await assert.rejects(slots.acquire({ weight: 1.5 }), withCode('HDL_BAD_OPTION'))
  await assert.rejects(slots.acquire({ priority: 10 }), withCode('HDL_BAD_OPTION'))
  assert.equal(slots.tryAcquire({ weight: 4, priority: 0 })?.reserved, 1)
})

test('if two requests run out of time at the same moment, the earlier one goes first, and may let the other one in', async () => {
  const kernel = testKernel()
  const slots = new Semaphore({ permits: 1, reserved: 2, kernel })
  slots.tryAcquire()
  const soon = watch(slots.acquire({ priority: 3, deadline: 1 }))
  const heavy = watch(slots.acquire({ priority: 0, weight: 3, deadline: 21 }))
  const light = watch(slots.acquire({ priority: 0, deadline: 21 }))
  await kernel.clock.advance(21)
  await turn()
  withCode('HDL_TIMEOUT')(soon.error)
  withCode('HDL_TIMEOUT')(heavy.error)
  assert.equal(light.state, 'fulfilled')
})

test('options are checked', () => {
  assert.throws(() => new Semaphore({ permits: 0 }), withCode('HDL_BAD_OPTION'))
  assert.throws(() => new Semaphore({ permits: 2, reserved: -1 }), withCode('HDL_BAD_OPTION'))
  assert.throws(() => new Semaphore({ permits: 2, aging: -1 }), withCode('HDL_BAD_OPTION'))
})

test('an aborted signal gets nothing, even when permits are free; waiters are bounded', async () => {
  const slots = new Semaphore({ permits: 1, maxWaiters: 1 })
  await assert.rejects(slots.acquire({ signal: AbortSignal.abort() }), withCode('HDL_CANCELLED'))
  assert.equal(slots.stats().available, 1)
  slots.tryAcquire()
  const controller = new AbortController()
  const waiting = watch(slots.acquire({ signal: controller.signal }))
  await assert.rejects(slots.acquire({ priority: 0 }), withCode('HDL_TOO_MANY_WAITERS'))
  controller.abort('enough')
  await turn()
  withCode('HDL_CANCELLED')(waiting.error)
  assert.equal(slots.stats().waiting, 0)
})

test('W4: permits released by an abort listener do not go to a waiter of the same signal', async () => {
  const slots = new Semaphore({ permits: 1, reserved: 1 })
  const holder = slots.tryAcquire({ weight: 2, priority: 0 })
  const controller = new AbortController()
  // Registered before the waiters follow the signal, so it runs first.
  controller.signal.addEventListener('abort', () => holder?.release())
  const doomed = [0, 1].map((priority) =>
    watch(slots.acquire({ priority, signal: controller.signal })),
  )
  const next = watch(slots.acquire())
  controller.abort()
  await turn()
  for (const each of doomed) withCode('HDL_CANCELLED')(each.error)
  assert.equal(next.state, 'fulfilled')
  next.value?.release()
  assert.equal(slots.stats().available, 1)
  assert.equal(slots.stats().availableReserved, 1)
})
