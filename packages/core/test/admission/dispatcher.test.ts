import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Dispatcher, type DispatcherOptions } from '../../src/admission/dispatcher.ts'
import { resumeAttempt, suspendAttempt, type RunnerContext } from '../../src/attempts/attempt.ts'
import { Capacity } from '../../src/capacity/capacity.ts'
import { HeddleError, isError } from '../../src/errors.ts'
import type { PermitOptions } from '../../src/kernel/permits.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { Flights } from '../../src/registry/flights.ts'
import { outcomes } from '../../src/registry/outcomes.ts'
import { codeOf, gate, listenersOf, testKernel, turn, watch, withCode } from '../sync/support.ts'

/** Work that the test ends. It notes when it starts and keeps its context. */
function bench() {
  const started: string[] = []
  const contexts = new Map<string, RunnerContext>()
  const gates = new Map<string, PromiseWithResolvers<string>>()
  const work =
    (name: string) =>
    (context: RunnerContext): Promise<string> => {
      started.push(name)
      contexts.set(name, context)
      const done = gate<string>()
      gates.set(name, done)
      return done.promise
    }
  const finish = async (name: string): Promise<void> => {
    gates.get(name)!.resolve(name)
    await turn()
  }
  return { started, contexts, gates, work, finish }
}

interface Options extends DispatcherOptions {
  /** Permits of the loop, in a capacity of its own. */
  readonly slots?: number | PermitOptions
}

/** On a clock that stands still, so that no slice is over by chance. */
const dispatcherOf = ({ slots, ...options }: Options): Dispatcher =>
  new Dispatcher({
    kernel: testKernel(),
    ...(slots !== undefined && { permits: new Capacity({ loop: slots }) }),
    ...options,
  })

const sum = (counts: Readonly<Record<string, number>>): number =>
  outcomes.reduce((total, outcome) => total + counts[outcome]!, 0)

test('runs work and returns its result; slots limit how much runs', async () => {
  const dispatcher = dispatcherOf({ slots: 2 })
  const { started, work, finish } = bench()
  const results = ['a', 'b', 'c'].map((name) => dispatcher.run(work(name)))
  assert.deepEqual(started, ['a', 'b'])
  await finish('b')
  assert.deepEqual(started, ['a', 'b', 'c'], 'I5')
  await finish('a')
  await finish('c')
  assert.deepEqual(await Promise.all(results), ['a', 'b', 'c'])
  assert.equal(dispatcher.stats().queue.running, 0)
})

test('work that throws, at once or late, fails only itself', async () => {
  const dispatcher = dispatcherOf({ slots: 1 })
  const broken = new Error('no')
  const throws = dispatcher.run(() => {
    throw broken
  })
  const rejects = dispatcher.run(() => Promise.reject(broken))
  const works = dispatcher.run(() => 42)
  await assert.rejects(throws, (error) => error === broken)
  await assert.rejects(rejects, (error) => error === broken)
  assert.equal(await works, 42)
  assert.deepEqual([dispatcher.stats().outcomes.error, dispatcher.stats().outcomes.success], [2, 1])
})

test('S36 a reserved slot: priority 0 starts at once while background work fills the rest', async () => {
  const dispatcher = dispatcherOf({ slots: { permits: 1, reserved: 1 } })
  const { started, work, finish } = bench()
  const background = Array.from({ length: 10 }, (_, i) => dispatcher.run(work(`b${i}`)))
  assert.deepEqual(started, ['b0'])
  const urgent = dispatcher.run(work('urgent'), { priority: 0 })
  assert.deepEqual(started, ['b0', 'urgent'])
  await finish('urgent')
  assert.deepEqual(started, ['b0', 'urgent'], 'background never takes the reserved slot')
  assert.equal(await urgent, 'urgent')
  for (let i = 0; i < 10; i++) await finish(`b${i}`)
  await Promise.all(background)
})

test('S36 a reserved slot serves priority 0 also when older background has aged past it', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: { permits: 1, reserved: 1 }, aging: 10 })
  const { started, work } = bench()
  for (const name of ['b0', 'b1']) dispatcher.submit(work(name))
  await kernel.clock.advance(10_000)
  dispatcher.submit(work('urgent'), { priority: 0 })
  assert.deepEqual(started, ['b0', 'urgent'])
})

test('S38 I1: work that waits for a scarce resource holds no slot', async () => {
  const dispatcher = dispatcherOf({ slots: 2, resources: { gpu: 1 } })
  const { started, work, finish } = bench()
  const needs = { gpu: 1 }
  for (const name of ['r1', 'r2']) dispatcher.submit(work(name), { needs })
  dispatcher.submit(work('other'))
  assert.deepEqual(started, ['r1', 'other'])
  await finish('other')
  assert.deepEqual(started, ['r1', 'other'])
  await finish('r1')
  assert.deepEqual(started, ['r1', 'other', 'r2'])
})

test('I5: when heavy work gives up, the work behind it starts at once', async () => {
  const dispatcher = dispatcherOf({ slots: 3 })
  const { started, work } = bench()
  dispatcher.submit(work('light'), { needs: { loop: 1 } })
  const heavy = dispatcher.submit(work('heavy'), { needs: { loop: 3 } })
  dispatcher.submit(work('behind'), { needs: { loop: 1 } })
  assert.deepEqual(started, ['light'], 'nobody overtakes it on what it waits for')
  heavy.cancel()
  assert.deepEqual(started, ['light', 'behind'])
})

test('S39 S44 the same content asked for again: one task, moved to the better priority', async () => {
  const dispatcher = dispatcherOf({ slots: { permits: 1, reserved: 1 }, capacity: 8 })
  const flights = new Flights<string, string>()
  const { started, work, finish } = bench()
  dispatcher.submit(work('busy'))
  const tasks = new Map<string, { move: (priority: number) => boolean }>()
  const ask = (priority: number): Promise<string> => {
    tasks.get('h')?.move(priority)
    return flights.join('h', (signal) => {
      const task = dispatcher.submit(work('h'), { priority, signal })
      tasks.set('h', task)
      return task.done
    })
  }
  const background = ask(3)
  assert.deepEqual(started, ['busy'])
  const urgent = ask(0)
  assert.deepEqual(started, ['busy', 'h'], 'moved, it may use the reserved slot')
  const more = Array.from({ length: 18 }, () => ask(1))
  assert.equal(dispatcher.stats().queue.running, 2)
  assert.equal(dispatcher.load().utilisation, 2 / 8)
  await finish('h')
  assert.deepEqual(new Set(await Promise.all([background, urgent, ...more])), new Set(['h']))
  assert.equal(started.length, 2, '20 requests, one computation')
})

test('S41 S42 S50 refused callers learn when to come back; the counters agree', async () => {
  const dispatcher = dispatcherOf({ slots: 1, capacity: 4, name: 'inference' })
  const { work, finish, started } = bench()
  const tasks = []
  let refused = 0
  for (let i = 0; i < 50; i++) {
    try {
      tasks.push(dispatcher.submit(work(`w${i}`), { priority: 0 }))
    } catch (error) {
      assert.ok(isError(error, 'HDL_OVERLOADED'))
      assert.ok(error.retryAfter! > 0)
      refused++
    }
  }
  await assert.rejects(dispatcher.run(work('one more')), withCode('HDL_OVERLOADED'))
  assert.deepEqual([tasks.length, refused], [4, 46])
  for (const [i] of tasks.entries()) await finish(`w${i}`)
  const { submitted, outcomes: counts, queue } = dispatcher.stats()
  assert.deepEqual([counts.success, counts.rejected, queue.rejected], [4, 47, 47])
  assert.equal(submitted, sum(counts))
  assert.equal(started.length, 4)
  assert.equal(await dispatcher.run(() => 'accepted again'), 'accepted again')
})

test('S43 a seat taken before the parse is used by the work that follows', async () => {
  const dispatcher = dispatcherOf({ slots: 1, capacity: 1 })
  const { work, finish } = bench()
  using reservation = dispatcher.reserve({ priority: 0, tenant: 'ada' })
  assert.throws(() => dispatcher.reserve(), withCode('HDL_OVERLOADED'))
  const task = dispatcher.submit(work('w'), { reservation, priority: 9 })
  assert.deepEqual([task.priority, task.tenant], [0, 'ada'], 'those of the seat count')
  await finish('w')
  assert.equal(await task.done, 'w')
  assert.throws(() => dispatcher.submit(work('again'), { reservation }), withCode('HDL_NOT_HELD'))
  const other = dispatcherOf({ slots: 1 })
  using foreign = other.reserve()
  assert.throws(
    () => dispatcher.submit(work('x'), { reservation: foreign }),
    /a seat in Dispatcher/,
  )
  assert.equal(dispatcher.stats().queue.reserved, 0)
})

test('S63 the client leaves while its work is queued: it is removed and never starts', async () => {
  const dispatcher = dispatcherOf({ slots: 1 })
  const { started, work, finish } = bench()
  dispatcher.submit(work('busy'))
  const client = new AbortController()
  const result = watch(dispatcher.run(work('mine'), { signal: client.signal }))
  client.abort()
  await turn()
  assert.equal(codeOf(result.error), 'HDL_CANCELLED')
  assert.equal(dispatcher.size, 0)
  await finish('busy')
  assert.deepEqual(started, ['busy'])
  assert.equal(listenersOf(client.signal), 0)
})

test('S62 the client leaves while its work runs: answered at once, the slot is released when the work has settled', async () => {
  const dispatcher = dispatcherOf({ slots: 1 })
  const { started, contexts, gates, work, finish } = bench()
  const client = new AbortController()
  const task = dispatcher.submit(work('mine'), { signal: client.signal })
  const { signal } = contexts.get('mine')!
  dispatcher.submit(work('next'))
  client.abort(new HeddleError('HDL_CANCELLED', { what: 'The request', source: 'disconnect' }))
  assert.deepEqual([task.state, task.outcome], ['stopping', 'disconnected'])
  assert.ok(signal.aborted && contexts.get('mine')!.cancelled)
  assert.deepEqual(started, ['mine'], 'I1: it still holds its slot')
  gates.get('mine')!.resolve('late result')
  await assert.rejects(task.done, withCode('HDL_CANCELLED'))
  await turn()
  assert.deepEqual(started, ['mine', 'next'])
  assert.equal(task.state, 'ended')
  assert.equal(dispatcher.stats().outcomes.success, 0, 'I6')
  await finish('next')
})

test('S81 I4: the limit of the queue names its stage, and the work is removed', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, queueTimeout: 200 })
  const { started, work, finish } = bench()
  dispatcher.submit(work('busy'))
  const result = watch(dispatcher.run(work('w'), { name: 'Plot "h"' }))
  await kernel.clock.advance(199)
  assert.equal(result.state, 'pending')
  await kernel.clock.advance(1)
  assert.ok(isError(result.error, 'HDL_TIMEOUT'))
  assert.deepEqual(result.error.details, { what: 'Plot "h"', limit: 200, stage: 'queue' })
  await finish('busy')
  assert.deepEqual([started.length, kernel.clock.pending], [1, 0])
})

test('S82 I4: the limit of the run names the stage, aborts the work, and frees its slot when it settles', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, stage: 'inference', timeout: 300 })
  const { contexts, gates, work, started, finish } = bench()
  const result = watch(dispatcher.run(work('slow')))
  const { signal } = contexts.get('slow')!
  dispatcher.submit(work('next'), { timeout: Infinity })
  await kernel.clock.advance(300)
  assert.ok(isError(result.error, 'HDL_TIMEOUT'))
  assert.deepEqual([result.error.details.stage, result.error.details.limit], ['inference', 300])
  assert.equal(signal.reason, result.error)
  gates.get('slow')!.reject(new Error('stopped'))
  await turn()
  assert.deepEqual(started, ['slow', 'next'])
  await finish('next')
  assert.equal(kernel.clock.pending, 0)
  assert.equal(dispatcher.stats().outcomes.timeout, 1)
})

test('S84 S88 a deadline runs from submit to the end and names the stage it struck in', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, queueTimeout: 400, timeout: 1000 })
  const { work, finish } = bench()
  dispatcher.submit(work('busy'))
  const queued = watch(dispatcher.run(work('q'), { deadline: 100 }))
  const running = watch(dispatcher.run(work('r'), { deadline: 300 }))
  const late = watch(dispatcher.run(work('l'), { deadline: 0 }))
  await kernel.clock.advance(150)
  await finish('busy')
  await kernel.clock.advance(150)
  const stages = [queued, running, late].map(({ error }) => {
    assert.ok(isError(error, 'HDL_TIMEOUT'))
    return [error.details.stage, error.details.limit]
  })
  assert.deepEqual(stages, [
    ['queue', 100],
    ['run', 300],
    ['queue', 0],
  ])
  await finish('r')
  assert.equal(kernel.clock.pending, 0)
})

test('I3: work that ignores its signal releases its slot after the grace, and only once', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, grace: 50 })
  const { gates, work, started, finish } = bench()
  const task = dispatcher.submit(work('deaf'))
  dispatcher.submit(work('next'))
  dispatcher.submit(work('last'))
  assert.equal(task.cancel('enough'), true)
  assert.equal(task.cancel('again'), false)
  assert.equal(dispatcher.stats().stopping, 1)
  await kernel.clock.advance(50)
  assert.deepEqual(started, ['deaf', 'next'])
  const { unresponsive, stopping } = dispatcher.stats()
  assert.deepEqual([unresponsive, stopping], [1, 0])
  gates.get('deaf')!.resolve('much too late')
  await turn()
  assert.deepEqual(started, ['deaf', 'next'], 'its slot is not given back a second time')
  await finish('next')
  await finish('last')
  assert.equal(kernel.clock.pending, 0)
  assert.equal(dispatcher.stats().queue.running, 0)
})

test('S72 S15 a task cancelled with a Heddle error passes it on, and is counted by it', async () => {
  const dispatcher = dispatcherOf({ slots: 1 })
  const { work } = bench()
  dispatcher.submit(work('busy'))
  const stale = dispatcher.submit(work('stale'))
  stale.cancel(new HeddleError('HDL_SUPERSEDED', { what: 'Request 1', by: 'request 2' }))
  await assert.rejects(stale.done, withCode('HDL_SUPERSEDED'))
  assert.equal(dispatcher.stats().outcomes.superseded, 1)
})

test('tenants take turns, and a tenant that floods does not hold up the others', async () => {
  const dispatcher = dispatcherOf({ slots: 1, capacity: 64 })
  const { started, work, finish } = bench()
  for (let i = 0; i < 5; i++) dispatcher.submit(work(`f${i}`), { tenant: 'flood' })
  dispatcher.submit(work('ada'), { tenant: 'ada' })
  await finish('f0')
  await finish(started.at(-1)!)
  assert.deepEqual(started.slice(0, 3), ['f0', 'f1', 'ada'])
})

test('work may submit, cancel and end other work while it starts', async () => {
  const dispatcher = dispatcherOf({ slots: 2 })
  const inner = gate<string>()
  const order: string[] = []
  const outer = dispatcher.run(async () => {
    order.push('outer')
    const first = dispatcher.submit(() => {
      order.push('first')
      return inner.promise
    })
    const second = dispatcher.submit(() => order.push('second'))
    second.cancel()
    inner.resolve('inner')
    return first.done
  })
  assert.equal(await outer, 'inner')
  assert.deepEqual(order, ['outer', 'first'])
})

test('S10 work that is being aborted does not start, although a listener makes room for it', async () => {
  const permits = new Capacity({ loop: { permits: 1, reserved: 1 } })
  const dispatcher = dispatcherOf({ permits })
  const { work, started, finish } = bench()
  const controller = new AbortController()
  controller.signal.addEventListener('abort', () => waiting.move(0))
  dispatcher.submit(work('busy'))
  const waiting = dispatcher.submit(work('waiting'), { signal: controller.signal })
  controller.abort()
  await turn()
  assert.deepEqual(started, ['busy'])
  assert.equal(waiting.outcome, 'cancelled')
  assert.equal(permits.stats()['loop']!.usedReserved, 0)
  await finish('busy')
})

test('S91 drain lets everything admitted end, refuses the new, and can be resumed', async () => {
  const dispatcher = dispatcherOf({ slots: 1 })
  const { work, finish } = bench()
  const tasks = ['a', 'b'].map((name) => dispatcher.submit(work(name)))
  const drained = watch(dispatcher.drain({ deadline: 10_000, retryAfter: 3000 }))
  assert.throws(() => dispatcher.submit(work('new')), { code: 'HDL_DRAINING', retryAfter: 3000 })
  await assert.rejects(dispatcher.waitRoom(), withCode('HDL_DRAINING'))
  await finish('a')
  assert.equal(drained.state, 'pending')
  await finish('b')
  assert.deepEqual(drained.value, { clean: true, cancelled: 0 })
  assert.deepEqual(await Promise.all(tasks.map(({ done }) => done)), ['a', 'b'])
  dispatcher.resume()
  assert.equal(await dispatcher.run(() => 1), 1)
})

test('S92 S95 at the deadline of a drain every caller is notified, and work has its grace to stop', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, capacity: 200, grace: 500 })
  const { work, started, contexts } = bench()
  const tasks = Array.from({ length: 101 }, (_, i) => dispatcher.submit(work(`w${i}`)))
  const held = dispatcher.reserve()
  const { signal } = contexts.get('w0')!
  const drained = watch(dispatcher.drain({ deadline: 2000 }))
  await kernel.clock.advance(2000)
  assert.ok(signal.aborted)
  const settled = await Promise.allSettled(tasks.map(({ done }) => done))
  for (const each of settled) {
    assert.equal(each.status, 'rejected')
    assert.ok(isError(each.reason, 'HDL_DRAINING') && each.reason.retryable)
  }
  assert.throws(
    () => dispatcher.submit(work('late'), { reservation: held }),
    withCode('HDL_DRAINING'),
  )
  const { submitted, outcomes: counts } = dispatcher.stats()
  assert.deepEqual([submitted, counts.rejected], [102, 102], 'the late one has an outcome too')
  assert.equal(drained.state, 'pending', 'the one that runs has not settled')
  await kernel.clock.advance(500)
  assert.deepEqual(drained.value, { clean: false, cancelled: 101 })
  held.release()
  assert.deepEqual(
    [started.length, kernel.clock.pending, dispatcher.stats().unresponsive],
    [1, 0, 1],
  )
})

test('a drain can be given up; the door stays closed', async () => {
  const dispatcher = dispatcherOf({ slots: 1 })
  const { work, finish } = bench()
  const task = dispatcher.submit(work('w'))
  const operator = new AbortController()
  const drained = dispatcher.drain({ signal: operator.signal })
  operator.abort('not now')
  await assert.rejects(drained, /not now/)
  assert.throws(() => dispatcher.reserve(), withCode('HDL_DRAINING'))
  await finish('w')
  assert.equal(await task.done, 'w')
})

test('S96 drain and resume twice: no doubled starts', async () => {
  const dispatcher = dispatcherOf({ slots: 1 })
  const { started, work, finish } = bench()
  for (const round of ['a', 'b']) {
    const task = dispatcher.submit(work(round))
    const drained = dispatcher.drain()
    await finish(round)
    await drained
    await task.done
    dispatcher.resume()
  }
  assert.deepEqual(started, ['a', 'b'])
})

test('I7: a queue of tiny work lets timers and sockets have their turn', async () => {
  class TickingClock extends VirtualClock {
    #ticks = 0
    /** Every reading of the clock takes a millisecond. */
    override now(): number {
      return this.#ticks++
    }
  }
  const clock = new TickingClock()
  const dispatcher = dispatcherOf({
    kernel: { ...testKernel(), clock },
    slots: 2,
    capacity: 100,
  })
  let started = 0
  let startedAtTurn = 0
  const all = Array.from({ length: 50 }, () => dispatcher.run(() => ++started))
  clock.afterIo(() => {
    startedAtTurn = started
  })
  await Promise.all(all)
  assert.ok(startedAtTurn > 0 && startedAtTurn < 10, `${startedAtTurn} started before I/O`)
  assert.equal(started, 50)
})

test('S89 tasks with one-hour limits that end at once leave no timer', async () => {
  const kernel = testKernel()
  const timeout = 3_600_000
  const dispatcher = dispatcherOf({ kernel, slots: 100, capacity: 50_000, timeout })
  const all = Array.from({ length: 20_000 }, (_, i) => dispatcher.run(() => i))
  assert.equal(kernel.clock.pending, 0, 'what ends in its first turn never sees a timer')
  assert.equal((await Promise.all(all)).length, 20_000)
  assert.equal(kernel.clock.pending, 0)
  assert.equal(dispatcher.stats().outcomes.success, 20_000)
})

test('work that could never start is refused at once and takes no seat', () => {
  const dispatcher = dispatcherOf({
    kernel: testKernel(),
    slots: { permits: 2, reserved: 1 },
    resources: { gpu: 1 },
  })
  const work = (): never => assert.fail('started')
  assert.throws(
    () => dispatcher.submit(work, { needs: { loop: 3 } }),
    withCode('HDL_WOULD_DEADLOCK'),
  )
  assert.throws(() => dispatcher.submit(work, { needs: { cpu: 1 } }), withCode('HDL_BAD_OPTION'))
  assert.throws(() => dispatcher.submit(work, { priority: 12 }), withCode('HDL_BAD_OPTION'))
  assert.throws(() => dispatcher.submit(work, { deadline: -1 }), withCode('HDL_BAD_OPTION'))
  assert.equal(dispatcher.stats().queue.admitted, 0)
  const blocker = dispatcher.submit(() => gate().promise, { priority: 0, needs: { loop: 3 } })
  const urgent = dispatcher.submit(work, { priority: 0, needs: { loop: 3 } })
  assert.throws(() => urgent.move(1), withCode('HDL_WOULD_DEADLOCK'))
  assert.equal(urgent.priority, 0)
  urgent.cancel()
  blocker.cancel()
})

test('options are checked', () => {
  for (const options of [
    { slots: 0 },
    { slots: 1, queueTimeout: -1 },
    { slots: 1, timeout: NaN },
    { slots: 1, grace: -1 },
    { slots: 1, stage: '' },
  ]) {
    assert.throws(() => dispatcherOf(options), withCode('HDL_BAD_OPTION'))
  }
})

test('I1 a task in back-off keeps its seat and holds no permit; cancelled there, it never runs again', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, capacity: 8 })
  const reports: string[] = []
  const { gates, work, started, finish } = bench()
  const flaky = dispatcher.submit(work('flaky'), {
    retries: 5,
    onReport: (report) => reports.push(`${report.type} ${report.attempt}`),
  })
  const quick = dispatcher.run(work('quick'))
  gates.get('flaky')!.reject(new Error('no'))
  await turn()
  assert.deepEqual([started, flaky.state, flaky.attempt], [['flaky', 'quick'], 'retrying', 1])
  await finish('quick')
  assert.equal(await quick, 'quick')
  const { queued, running, parked } = dispatcher.stats().queue
  assert.deepEqual([queued, running, parked, dispatcher.load().utilisation], [0, 0, 1, 1 / 8])
  await kernel.clock.advance(60_000)
  assert.deepEqual([started, flaky.state], [['flaky', 'quick', 'flaky'], 'running'])
  gates.get('flaky')!.reject(new Error('no'))
  await turn()
  assert.equal(flaky.cancel(), true)
  await assert.rejects(flaky.done, withCode('HDL_CANCELLED'))
  await kernel.clock.advance(60_000)
  assert.deepEqual(reports, [
    'queued 0',
    'started 0',
    'retrying 1',
    'queued 1',
    'started 1',
    'retrying 2',
    'ended 2',
  ])
  const { queue } = dispatcher.stats()
  assert.deepEqual([queue.parked, queue.queued, kernel.clock.pending], [0, 0, 0])
})

test('S82 a timeout that is tried again is not an outcome; the last one is, at once', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, timeout: 100, retryBaseDelay: 0 })
  const { gates, work, started } = bench()
  const result = watch(dispatcher.run(work('slow'), { retries: 1 }))
  await kernel.clock.advance(100)
  assert.equal(result.state, 'pending')
  gates.get('slow')!.reject(new Error('stopped'))
  await kernel.clock.advance(1)
  assert.deepEqual(started, ['slow', 'slow'])
  await kernel.clock.advance(100)
  assert.ok(isError(result.error, 'HDL_TIMEOUT'))
  assert.equal(dispatcher.stats().stopping, 1)
  gates.get('slow')!.resolve('too late')
  await turn()
  assert.deepEqual([dispatcher.stats().stopping, kernel.clock.pending], [0, 0])
})

test('an error of a job is wrapped for the caller, an error of the runner is not', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1, timeout: 100 })
  const wrapFailure = (thrown: unknown): Error => new Error('the job failed', { cause: thrown })
  const { gates, work } = bench()
  const thrown = watch(dispatcher.run(work('a'), { wrapFailure }))
  const ours = new HeddleError('HDL_TIMEOUT', { what: 'A part', limit: 5 })
  gates.get('a')!.reject(ours)
  await turn()
  assert.equal((thrown.error as Error).cause, ours)
  assert.equal(dispatcher.stats().outcomes.error, 1)
  const late = watch(dispatcher.run(work('b'), { wrapFailure }))
  await kernel.clock.advance(100)
  assert.ok(isError(late.error, 'HDL_TIMEOUT'))
  gates.get('b')!.resolve('b')
  await turn()
})

test('A9 a suspended task frees its permit and continues where it was in the queue', async () => {
  const kernel = testKernel()
  const dispatcher = dispatcherOf({ kernel, slots: 1 })
  const { contexts, work, started, finish } = bench()
  const first = dispatcher.submit(work('first'))
  dispatcher.submit(work('second'))
  dispatcher.submit(work('third'))
  suspendAttempt(contexts.get('first')!)
  await turn()
  assert.deepEqual([first.state, started], ['suspended', ['first', 'second']])
  const resumed = resumeAttempt(contexts.get('first')!)
  await finish('second')
  await resumed
  assert.deepEqual([first.state, started], ['running', ['first', 'second']])
  await finish('first')
  await finish('third')
  assert.equal(await first.done, 'first')
  const { running, parked } = dispatcher.stats().queue
  assert.deepEqual([running, parked], [0, 0])
})
