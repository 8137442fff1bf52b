import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sixLevels } from '../../src/admission/load-levels.ts'
import { Capacity } from '../../src/capacity/capacity.ts'
import { AdmissionQueue, type Admitted, type Reservation } from '../../src/admission/queue.ts'
import { isError } from '../../src/errors.ts'
import { codeOf, listenersOf, testKernel, turn, watch, withCode } from '../sync/support.ts'

/** Takes and finishes everything, in order. */
function serveAll<T>(queue: AdmissionQueue<T>): T[] {
  const served: T[] = []
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    served.push(next.item)
    next.finish()
  }
  return served
}

const enqueue = <T>(queue: AdmissionQueue<T>, item: T, priority?: number): Admitted<T> =>
  queue.reserve({ priority }).fill(item)

test('S31 entries are first in, first out inside a priority', () => {
  const queue = new AdmissionQueue<number>()
  for (let i = 0; i <= 5; i++) enqueue(queue, i)
  assert.deepEqual(serveAll(queue), [0, 1, 2, 3, 4, 5])
})

test('S32 priority 0 is next although ten requests wait', () => {
  const queue = new AdmissionQueue<string>()
  for (let i = 0; i < 10; i++) enqueue(queue, `p1 ${i}`, 1)
  enqueue(queue, 'p0', 0)
  assert.equal(queue.take()?.item, 'p0')
})

test('S33 equal keys with payloads that cannot be compared keep their order', () => {
  const queue = new AdmissionQueue<object>({ capacity: 2000 })
  const payloads = Array.from({ length: 1000 }, () => Object.create(null) as object)
  for (const payload of payloads) enqueue(queue, payload)
  assert.deepEqual(serveAll(queue), payloads)
})

/** One worker, one p3, and so much p0 that some of it always waits. When did the p3 start? */
async function startOfBackground(aging: number, until: number): Promise<number | undefined> {
  const kernel = testKernel()
  const queue = new AdmissionQueue<string>({ kernel, capacity: 100, aging })
  enqueue(queue, 'p3', 3)
  for (let i = 0; i < 5; i++) enqueue(queue, 'p0', 0)
  const service = 10
  while (kernel.clock.now() < until) {
    const next = queue.take()!
    if (next.item === 'p3') return kernel.clock.now()
    await kernel.clock.advance(service)
    next.finish()
    enqueue(queue, 'p0', 0)
  }
  return undefined
}

test('S34 aging: under an endless stream of p0 a p3 starts within 3 × aging and the backlog of then', async () => {
  const aging = 100
  const backlog = 5 * 10
  const started = await startOfBackground(aging, 10_000)
  assert.ok(started !== undefined && started <= 3 * aging + backlog, String(started))
  assert.ok(started >= 3 * aging, 'and not before its time')
})

test('S34 without aging the same p3 never starts: the test is able to fail', async () => {
  assert.equal(await startOfBackground(Infinity, 2_000), undefined)
})

test('S35 a removed entry never starts, frees its seat, and the remaining order is kept', () => {
  const queue = new AdmissionQueue<number>({ capacity: 2000 })
  const entries = Array.from({ length: 1000 }, (_, i) => enqueue(queue, i))
  assert.equal(entries[500]!.remove(), true)
  assert.equal(entries[500]!.remove(), false)
  assert.equal(entries[500]!.state, 'removed')
  assert.equal(queue.used, 999)
  const served = serveAll(queue)
  assert.equal(served.length, 999)
  assert.ok(!served.includes(500))
  assert.ok(served.every((value, i) => i === 0 || value > served[i - 1]!))
})

test('S39 an entry asked for again with a smaller priority moves, and is not queued twice', () => {
  const queue = new AdmissionQueue<string>()
  enqueue(queue, 'first', 1)
  const wanted = enqueue(queue, 'wanted', 3)
  enqueue(queue, 'other', 0)
  assert.equal(wanted.move(0), true)
  assert.equal(wanted.priority, 0)
  assert.deepEqual(queue.stats().queuedByPriority.slice(0, 4), [2, 1, 0, 0])
  assert.deepEqual(serveAll(queue), ['wanted', 'other', 'first'])
  assert.equal(wanted.move(1), false)
})

test('S41 I3: full means refused, with a time, and nothing is dropped', () => {
  const kernel = testKernel()
  const queue = new AdmissionQueue<number>({ kernel, capacity: 32, name: 'inference' })
  for (let i = 0; i < 25; i++) enqueue(queue, i)
  assert.throws(
    () => queue.reserve(),
    (error) => {
      assert.ok(isError(error, 'HDL_OVERLOADED'))
      assert.match(error.message, /^inference is full/)
      assert.ok(error.retryable && error.retryAfter! > 0)
      return true
    },
  )
  assert.equal(queue.tryReserve(), undefined)
  assert.equal(serveAll(queue).length, 25)
})

test('S42 I1: priority 0 is bounded too', () => {
  const queue = new AdmissionQueue<number>({ capacity: 4 })
  let refused = 0
  for (let i = 0; i < 50; i++) {
    const seat = queue.tryReserve({ priority: 0 })
    if (seat === undefined) refused++
    else seat.fill(i)
    assert.ok(queue.size <= 4)
  }
  assert.deepEqual([queue.size, refused], [4, 46])
})

test('S43 I1: seats are taken before the parse, so a hundred slow parses cannot share one', async () => {
  const kernel = testKernel()
  const queue = new AdmissionQueue<number>({ kernel, capacity: 8, levels: sixLevels })
  const submit = async (i: number): Promise<boolean> => {
    using seat = queue.tryReserve()
    if (seat === undefined) return false
    // The slow parse.
    await new Promise<void>((parsed) => kernel.clock.setTimer(200, parsed))
    seat.fill(i)
    return true
  }
  const all = Promise.all(Array.from({ length: 100 }, (_, i) => submit(i)))
  assert.deepEqual([queue.used, queue.size], [8, 0])
  const accepted = (await kernel.clock.runUntil(all)).filter(Boolean).length
  assert.deepEqual([accepted, queue.size], [8, 8])
})

test('S43 I2: a reservation comes back on every path, and only once', () => {
  const queue = new AdmissionQueue<string>({ capacity: 4 })
  assert.throws(() => {
    using seat = queue.reserve()
    assert.ok(seat.held)
    throw new SyntaxError('bad input')
  }, SyntaxError)
  assert.equal(queue.used, 0)
  {
    using seat = queue.reserve()
    seat.fill('work')
    assert.equal(seat.held, false)
    assert.throws(() => seat.fill('twice'), withCode('HDL_NOT_HELD'))
  }
  assert.equal(queue.used, 1, 'a filled seat is not given back by its reservation')
  const seat = queue.reserve()
  seat.release()
  seat.release()
  seat[Symbol.dispose]()
  assert.equal(queue.used, 1)
  assert.throws(() => seat.fill('late'), withCode('HDL_NOT_HELD'))
  const running = queue.take()!
  running.finish()
  running.finish()
  running[Symbol.dispose]()
  assert.equal(queue.used, 0)
})

test('S44 running work counts: the load is not idle while something runs', () => {
  const queue = new AdmissionQueue<string>({ capacity: 4 })
  assert.equal(queue.load().label, 'idle')
  enqueue(queue, 'work')
  const running = queue.take()!
  assert.deepEqual([queue.size, queue.load().utilisation, queue.load().label], [0, 0.25, 'loaded'])
  running.finish()
  assert.equal(queue.load().label, 'idle')
})

test('S45 I6: a refusal takes nothing: no tenant, no seat, no entry', () => {
  const queue = new AdmissionQueue<string>({ capacity: 1 })
  enqueue(queue, 'work')
  for (let i = 0; i < 1000; i++) assert.equal(queue.tryReserve({ tenant: `t${i}` }), undefined)
  const { tenants, reserved, queued, rejected } = queue.stats()
  assert.deepEqual([tenants, reserved, queued, rejected], [1, 0, 1, 1000])
})

test('S46 the hint is the time until the load has fallen to half, at the measured rate', async () => {
  const kernel = testKernel()
  const retryAfter = { jitter: 0, least: 1, unknown: 777 }
  const queue = new AdmissionQueue<number>({ kernel, capacity: 32, retryAfter })
  for (let i = 0; i < 25; i++) enqueue(queue, i)
  assert.equal(queue.retryAfter(), 777, 'nothing was measured yet')
  for (let i = 0; i < 5; i++) {
    const next = queue.take()!
    await kernel.clock.advance(100)
    next.finish()
    enqueue(queue, i)
  }
  // 25 in use, 16 are half of 32, one leaves every 100 ms.
  assert.equal(queue.retryAfter(), 900)
  for (let i = 0; i < 15; i++) queue.take()
  await kernel.clock.advance(1000)
  assert.equal(queue.retryAfter(), 9000, 'a stall is told while it lasts')
})

test('S46 a client that comes back after the hinted time is admitted', async () => {
  const kernel = testKernel()
  const queue = new AdmissionQueue<number>({ kernel, capacity: 8 })
  while (queue.tryReserve()?.fill(0)) continue
  let running = queue.take()!
  const service = async (): Promise<void> => {
    await kernel.clock.advance(50)
    running.finish()
    running = queue.take()!
  }
  await service()
  enqueue(queue, 0)
  const told = queue.retryAfter()
  const at = kernel.clock.now() + told
  while (kernel.clock.now() < at) await service()
  assert.ok(queue.tryReserve() !== undefined)
})

test('S47 the load level follows from the number of taken seats', () => {
  const queue = new AdmissionQueue<number>({ capacity: 100 })
  const seen: string[] = []
  for (const percent of [0, 30, 60, 80]) {
    while (queue.used < percent && queue.tryReserve() !== undefined) continue
    const { level, label } = queue.load()
    seen.push(`${queue.used} ${level}/${label}`)
  }
  assert.deepEqual(seen, [
    '0 loaded/idle',
    '30 loaded/loaded',
    '60 overloaded/heavily loaded',
    '76 full/overloaded',
  ])
})

test('S50 I4: after the overload everything is accepted again, and refusals were all counted', () => {
  const queue = new AdmissionQueue<number>({ capacity: 4 })
  let refused = 0
  for (let i = 0; i < 10; i++) {
    try {
      enqueue(queue, i)
    } catch (error) {
      assert.equal(codeOf(error), 'HDL_OVERLOADED')
      refused++
    }
  }
  serveAll(queue)
  enqueue(queue, 99)
  const stats = queue.stats()
  assert.equal(stats.rejected, refused)
  assert.equal(stats.rejectedBy.overload, refused)
  assert.equal(
    stats.admitted,
    stats.reserved + stats.queued + stats.running + stats.released + stats.removed + stats.finished,
  )
})

test('tenants: the cap of one does not affect another, and its hint names the share that is full', () => {
  const queue = new AdmissionQueue<number>({ capacity: 32, tenants: { capacity: 2 } })
  const seats = [queue.reserve({ tenant: 'ada' }), queue.reserve({ tenant: 'ada' })]
  assert.throws(() => queue.reserve({ tenant: 'ada' }), /Tenant "ada" in Queue has used its share/)
  seats.push(queue.reserve({ tenant: 'bob' }))
  assert.equal(queue.stats().rejectedBy.tenant, 1)
  for (const seat of seats) seat.release()
  assert.equal(queue.stats().tenants, 0, 'I7')
  queue.reserve({ tenant: 'ada' })
})

test('tenants: waiting tenants take turns, with a limit of running work for each', () => {
  const queue = new AdmissionQueue<string>({ capacity: 100, tenants: { running: 2 } })
  for (let i = 0; i < 20; i++) queue.reserve({ tenant: 'flood' }).fill(`flood ${i}`)
  queue.reserve({ tenant: 'ada' }).fill('ada 0')
  const started = [queue.take(), queue.take(), queue.take()]
  assert.deepEqual(
    started.map((each) => each?.item),
    ['flood 0', 'ada 0', 'flood 1'],
  )
  assert.equal(queue.take(), undefined)
  started[0]!.finish()
  assert.equal(queue.take()?.item, 'flood 2')
})

test('tenants: weights must be positive', () => {
  const queue = new AdmissionQueue<string>({ tenants: { weight: () => 0 } })
  assert.throws(() => queue.reserve({ tenant: 'ada' }), withCode('HDL_BAD_OPTION'))
  assert.equal(queue.used, 0)
})

test('take() skips entries that lack a permit, and finish() and park() return permits', () => {
  const permits = new Capacity({ resources: { gpu: 1 } })
  const queue = new AdmissionQueue<string>({ permits })
  queue.reserve().fill('gpu', { needs: { gpu: 1 } })
  queue.reserve().fill('second gpu', { needs: { gpu: 1 } })
  queue.reserve().fill('plain')
  const first = queue.take()
  assert.deepEqual([first?.item, queue.take()?.item, queue.take()], ['gpu', 'plain', undefined])
  assert.equal(queue.mayStart, false)
  first!.park()
  assert.equal(queue.mayStart, true)
  const second = queue.take()
  assert.equal(second?.item, 'second gpu')
  first!.requeue()
  assert.equal(queue.take(), undefined)
  second.finish()
  assert.equal(queue.take(), first)
  first!.finish()
  assert.equal(permits.stats()['gpu']!.used, 0)
})

test('work that could never start is refused before it has a seat', () => {
  const queue = new AdmissionQueue<string>({ permits: new Capacity({ resources: { gpu: 1 } }) })
  assert.throws(() => queue.check({ needs: { gpu: 2 } }, 1), withCode('HDL_WOULD_DEADLOCK'))
  const seat = queue.reserve()
  assert.throws(() => seat.fill('x', { needs: { gpuu: 1 } }), /did you mean gpu/)
  assert.ok(seat.held)
})

test('drain closes the door; admitted work continues, reserved work too until it is sealed', async () => {
  const queue = new AdmissionQueue<string>({ name: 'inference' })
  enqueue(queue, 'queued')
  const reserved = queue.reserve()
  const second = queue.reserve()
  queue.drain({ retryAfter: 5000 })
  assert.throws(() => queue.reserve(), { code: 'HDL_DRAINING', retryAfter: 5000 })
  assert.ok(queue.draining && queue.load().refusing)
  reserved.fill('reserved')
  const empty = watch(queue.waitEmpty())
  assert.deepEqual(serveAll(queue), ['queued', 'reserved'])
  await turn()
  assert.equal(empty.state, 'pending')
  queue.seal()
  assert.throws(() => second.fill('too late'), withCode('HDL_DRAINING'))
  second.release()
  await turn()
  assert.equal(empty.state, 'fulfilled')
  await queue.waitEmpty()
  queue.resume()
  enqueue(queue, 'later')
  assert.equal(queue.stats().rejectedBy.draining, 2)
})

test('waitRoom: work that follows from admitted work waits instead of being refused, in order', async () => {
  const queue = new AdmissionQueue<number>({ capacity: 2 })
  const first = await queue.waitRoom()
  await queue.waitRoom()
  const waits = [1, 2].map(() => watch(queue.waitRoom()))
  await assert.rejects(queue.waitRoom(), withCode('HDL_TOO_MANY_WAITERS'))
  first.release()
  assert.equal(queue.tryReserve(), undefined, 'waiting callers come first')
  await turn()
  assert.deepEqual(
    waits.map(({ state }) => state),
    ['fulfilled', 'pending'],
  )
  assert.equal(queue.used, 2)
  queue.drain()
  await turn()
  assert.equal(codeOf(waits[1]!.error), 'HDL_DRAINING')
  await assert.rejects(queue.waitRoom(), withCode('HDL_DRAINING'))
  assert.deepEqual(queue.stats().rejectedBy, { overload: 1, tenant: 0, draining: 2, waiters: 1 })
})

test('waitRoom: a cancelled or late waiter takes no seat and leaves nothing', async () => {
  const kernel = testKernel()
  const queue = new AdmissionQueue<number>({ kernel, capacity: 1 })
  const seat = queue.reserve()
  const client = new AbortController()
  const aborted = watch(queue.waitRoom({ signal: client.signal }))
  client.abort()
  seat.release()
  await turn()
  assert.equal(codeOf(aborted.error), 'HDL_CANCELLED')
  assert.equal(queue.used, 0)
  await assert.rejects(queue.waitRoom({ signal: client.signal }), withCode('HDL_CANCELLED'))
  const again = queue.reserve()
  const late = watch(queue.waitRoom({ deadline: 10 }))
  await kernel.clock.advance(10)
  assert.equal(codeOf(late.error), 'HDL_TIMEOUT')
  again.release()
  assert.deepEqual([queue.used, kernel.clock.pending, listenersOf(client.signal)], [0, 0, 0])
})

test('waitRoom: a seat released inside the abort of the first waiter goes to the second', async () => {
  const queue = new AdmissionQueue<number>({ capacity: 2 })
  const seat = queue.reserve()
  queue.reserve()
  const client = new AbortController()
  client.signal.addEventListener('abort', () => seat.release())
  const first = watch(queue.waitRoom({ signal: client.signal }))
  const second = watch(queue.waitRoom())
  client.abort()
  await turn()
  assert.deepEqual([first.state, second.state], ['rejected', 'fulfilled'])
  assert.equal(queue.used, 2)
})

test('waitRoom: a tenant at its limit does not hold up the others', async () => {
  const queue = new AdmissionQueue<number>({ capacity: 4, tenants: { capacity: 1 } })
  const ada = queue.reserve({ tenant: 'ada' })
  const again = watch(queue.waitRoom({ tenant: 'ada' }))
  const bob = await queue.waitRoom({ tenant: 'bob' })
  bob.release()
  await turn()
  assert.equal(again.state, 'pending')
  ada.release()
  await turn()
  assert.equal(again.state, 'fulfilled')
})

test('waits and runs are measured in constant memory', async () => {
  const kernel = testKernel()
  const queue = new AdmissionQueue<number>({ kernel })
  for (let i = 1; i <= 10; i++) {
    enqueue(queue, i)
    await kernel.clock.advance(10)
    const next = queue.take()!
    await kernel.clock.advance(i)
    next.finish()
  }
  const { wait, run } = queue.stats()
  assert.deepEqual([wait.count, wait.min, wait.max], [10, 10, 10])
  assert.deepEqual([run.count, run.min, run.max, run.sum], [10, 1, 10, 55])
})

test('a seat of another queue is not ours', () => {
  const [mine, other] = [new AdmissionQueue<string>(), new AdmissionQueue<string>()]
  assert.equal(mine.owns(mine.reserve()), true)
  assert.equal(mine.owns(other.reserve()), false)
})

test('options are checked', async () => {
  for (const options of [
    { capacity: 0 },
    { aging: -1 },
    { tenants: { capacity: 0 } },
    { tenants: { running: 0.5 } },
    { retryAfter: { jitter: 3 } },
  ]) {
    assert.throws(() => new AdmissionQueue(options), withCode('HDL_BAD_OPTION'))
  }
  const queue = new AdmissionQueue<string>()
  assert.throws(() => queue.reserve({ priority: 10 }), withCode('HDL_BAD_OPTION'))
  assert.throws(() => queue.tryReserve({ priority: -1 }), withCode('HDL_BAD_OPTION'))
  await assert.rejects(queue.waitRoom({ priority: 0.5 }), withCode('HDL_BAD_OPTION'))
  const entry: Admitted<string> = enqueue(queue, 'work')
  assert.throws(() => entry.move(11), withCode('HDL_BAD_OPTION'))
  const seat: Reservation<string> = queue.reserve()
  seat.release()
  assert.equal(queue.used, 1)
})
