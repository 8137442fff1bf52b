import assert from 'node:assert/strict'
import test from 'node:test'
import { HeddleError, isError } from '../../src/errors.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { systemKernel } from '../../src/kernel/kernel.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { Observer } from '../../src/scheduler/events.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'
import { final, retryAfter } from '../../src/attempts/retry.ts'
import { Bench, recorder } from './kit.ts'

const code = (expected: string) => (error: unknown) =>
  error instanceof HeddleError && error.code === expected

// The numbers are those of the black-box scenarios for the scheduler.

test('1 single: one node runs and the result is ok', async () => {
  const s = new Scheduler({ concurrency: 1 })
  s.add('a')
  const { calls, work } = recorder()
  const r = await s.run(work)
  assert.deepEqual(calls, ['a'])
  assert.equal(r.ok, true)
  assert.deepEqual(r.succeeded, ['a'])
  assert.equal(s.state, 'finished')
})

test('2 chain order: a, then b, then c', async () => {
  const b = new Bench({ concurrency: 1 }).add({ a: [], b: ['a'], c: ['b'] })
  const run = b.scheduler.run(b.work)
  for (const name of ['a', 'b', 'c']) {
    await b.clock.settle()
    assert.equal(b.started.at(-1), name)
    await b.finish(name)
  }
  assert.deepEqual((await run).succeeded, ['a', 'b', 'c'])
})

test('3 diamond: d starts last and once', async () => {
  const b = new Bench({ concurrency: 2 }).add({ a: [], b: ['a'], c: ['a'], d: ['b', 'c'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.finish('a')
  assert.deepEqual(b.started, ['a', 'b', 'c'])
  await b.finish('c')
  assert.equal(b.scheduler.stateOf('d'), 'waiting')
  await b.finish('b')
  await b.finish('d')
  await run
  assert.deepEqual(b.started, ['a', 'b', 'c', 'd'])
})

test('4 outside dependencies: with `ignore` a name that is never added counts as satisfied', async () => {
  const s = new Scheduler({ unknown: 'ignore' })
  s.add('plugin', { after: ['core'] })
  const { calls, work } = recorder()
  assert.equal((await s.run(work)).ok, true)
  assert.deepEqual(calls, ['plugin'])
})

test('5 independent nodes run side by side', async () => {
  const b = new Bench({ concurrency: 5 }).add({ a: [], b: [], c: [], d: [], e: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.equal(b.running, 5)
  for (const name of ['a', 'b', 'c', 'd', 'e']) await b.finish(name)
  assert.equal((await run).succeeded.length, 5)
})

test('6 concurrency cap: never above 2, and it reaches 2', async () => {
  const b = new Bench({ concurrency: 2 })
  for (let i = 0; i < 20; i++) b.scheduler.add(`n${i}`)
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  for (let i = 0; i < 20; i++) await b.finish(`n${i}`)
  await run
  assert.equal(b.mostRunning, 2)
})

test('7 no level lockstep: C starts when A ends, although B still runs', async () => {
  const b = new Bench({ concurrency: 3 }).add({ A: [], B: [], C: ['A'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.finish('A')
  assert.deepEqual(b.started, ['A', 'B', 'C'])
  await b.finish('C')
  await b.finish('B')
  assert.deepEqual((await run).succeeded, ['A', 'C', 'B'])
})

test('8 and 9 a failure blocks its dependents, and blocked nodes are reported with the cause (P15)', async () => {
  const b = new Bench().add({ a: [], b: ['a'], c: ['b'], d: ['c'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.finish('a')
  const boom = new Error('boom')
  await b.fail('b', boom)
  const r = await run
  assert.equal(r.ok, false)
  assert.deepEqual(r.succeeded, ['a'])
  assert.equal(r.failed.get('b'), boom)
  assert.deepEqual(
    [...r.blocked],
    [
      ['c', 'b'],
      ['d', 'b'],
    ],
  )
  assert.deepEqual(b.started, ['a', 'b'])
  assert.equal(r.stateOf('d'), 'blocked')
})

test('11 a sibling of a failed node survives', async () => {
  const s = new Scheduler()
  s.add('a')
  s.add('z')
  const r = await s.run(async (name) => {
    if (name === 'a') throw new Error('no')
  })
  assert.deepEqual(r.succeeded, ['z'])
})

test('12 empty: ok without a call', async () => {
  const { calls, work } = recorder()
  const r = await new Scheduler().run(work)
  assert.equal(r.ok, true)
  assert.deepEqual(calls, [])
})

test('13 a cycle is refused before anything starts, printed as a path', async () => {
  const s = new Scheduler()
  s.add('a', { after: ['b'] })
  s.add('b', { after: ['c'] })
  s.add('c', { after: ['a'] })
  const { calls, work } = recorder()
  await assert.rejects(s.run(work), (error) => {
    assert.ok(isError(error, 'HDL_CYCLE'))
    assert.match(error.message, /a → b → c → a/)
    return true
  })
  assert.deepEqual(calls, [])
})

test('13 a node that depends on itself is a cycle', async () => {
  const s = new Scheduler()
  s.add('a', { after: ['a'] })
  await assert.rejects(s.run(recorder().work), /a → a/)
})

test('14 partial cycle: with allowCycles the rest runs and the members fail (P11)', async () => {
  const s = new Scheduler({ allowCycles: true })
  s.add('x')
  s.add('b', { after: ['c'] })
  s.add('c', { after: ['b'] })
  s.add('behind', { after: ['c'] })
  const r = await s.run(recorder().work)
  assert.equal(r.ok, false)
  assert.deepEqual(r.succeeded, ['x'])
  assert.deepEqual([...r.failed.keys()].toSorted(), ['b', 'c'])
  assert.deepEqual([...r.blocked.keys()], ['behind'])
})

test('17 retry, then success: dependents run', async () => {
  const b = new Bench({ retries: 2 }).add({ a: [], b: ['a'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a')
  await b.clock.advance(1_000)
  await b.finish('a')
  await b.finish('b')
  const r = await run
  assert.deepEqual(b.started, ['a', 'a', 'b'])
  assert.deepEqual(r.succeeded, ['a', 'b'])
  assert.equal(r.errors.get('a')?.length, 1)
})

test('18 retries exhausted: the last error is the outcome, all errors are kept', async () => {
  const clock = new VirtualClock()
  const s = new Scheduler({ retries: 2, kernel: { ...systemKernel, clock } })
  s.add('a')
  let attempts = 0
  const r = await clock.runUntil(
    s.run(async (_, ctx) => {
      assert.equal(ctx.attempt, attempts)
      throw new Error(`attempt ${attempts++}`)
    }),
  )
  assert.equal(attempts, 3)
  assert.match(String(r.failed.get('a')), /attempt 2/)
  assert.deepEqual(
    r.errors.get('a')?.map((error) => (error as Error).message),
    ['attempt 0', 'attempt 1', 'attempt 2'],
  )
})

test('19 no retry by default', async () => {
  const b = new Bench().add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a')
  await run
  assert.deepEqual(b.started, ['a'])
})

test('22 back-off frees the slot (P16)', async () => {
  const b = new Bench({ concurrency: 1, retries: 1 }).add({ a: [], b: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a')
  assert.deepEqual(b.started, ['a', 'b'])
  await b.finish('b')
  await b.clock.advance(1_000)
  await b.finish('a')
  assert.equal((await run).ok, true)
})

test('23 a final error is not retried, nor is one with retryable: false', async () => {
  for (const error of [
    final(new Error('no')),
    Object.assign(new Error('no'), { retryable: false }),
  ]) {
    const s = new Scheduler({ retries: 3 })
    s.add('a')
    let calls = 0
    const r = await s.run(() => {
      calls++
      throw error
    })
    assert.equal(calls, 1)
    assert.equal(r.failed.get('a'), error)
  }
})

test('retryAfter(ms) takes the place of the back-off', async () => {
  const b = new Bench({ retries: 1 }).add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a', retryAfter(5_000))
  await b.clock.advance(4_999)
  assert.equal(b.started.length, 1)
  await b.clock.advance(1)
  assert.equal(b.started.length, 2)
  await b.finish('a')
  assert.equal((await run).ok, true)
})

test('24 attempt timeout: the signal aborts, and the next attempt waits until the last has settled', async () => {
  const b = new Bench({ timeout: 50, retries: 1, retryBaseDelay: 0 }).add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  const first = b.contexts.get('a')!
  await b.clock.advance(49)
  assert.equal(first.signal.aborted, false)
  await b.clock.advance(1)
  assert.equal(first.signal.aborted, true)
  assert.match(String(first.signal.reason), /timed out after 50 ms/)
  await b.clock.advance(500)
  assert.equal(b.started.length, 1, 'the first attempt is still under way')
  await b.finish('a')
  await b.clock.advance(0)
  assert.equal(b.started.length, 2)
  await b.finish('a')
  const r = await run
  assert.equal(r.ok, true)
  assert.ok(isError(r.errors.get('a')![0], 'HDL_TIMEOUT'))
})

test('an attempt that ignores its timeout is abandoned and its slot comes back', async () => {
  const b = new Bench({ concurrency: 1, timeout: 50, abortGrace: 100, retries: 3 }).add({
    a: [],
    b: [],
  })
  const run = b.scheduler.run(b.work)
  await b.clock.advance(150)
  assert.deepEqual(b.started, ['a', 'b'])
  await b.finish('b')
  const r = await run
  assert.ok(isError(r.failed.get('a'), 'HDL_UNRESPONSIVE'))
  await b.finish('a')
  assert.equal(r.succeeded.length, 1, 'what the abandoned attempt returns later changes nothing')
})

test('26 pause before run: nothing starts until resume', async () => {
  const b = new Bench().add({ a: [], b: [] })
  b.scheduler.pause()
  assert.equal(b.scheduler.state, 'paused')
  const run = b.scheduler.run(b.work)
  await b.clock.advance(200)
  assert.deepEqual(b.started, [])
  b.scheduler.resume()
  assert.deepEqual(b.started, ['a', 'b'])
  await b.finish('a')
  await b.finish('b')
  assert.equal((await run).ok, true)
})

test('27 pause toggles: one event per change', async () => {
  const b = new Bench().add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.pause()
  b.scheduler.pause()
  assert.equal(b.scheduler.state, 'paused')
  b.scheduler.resume()
  b.scheduler.resume()
  assert.equal(b.scheduler.state, 'running')
  await b.finish('a')
  await run
  const states = b.events.flatMap((event) => (event.type === 'state' ? [event.state] : []))
  assert.deepEqual(states, ['running', 'paused', 'running', 'finished'])
})

test('P1 pause: a slot that becomes free while paused stays free', async () => {
  const b = new Bench({ concurrency: 1 }).add({ a: [], b: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.pause()
  await b.finish('a')
  assert.deepEqual(b.started, ['a'])
  b.scheduler.resume()
  await b.clock.settle()
  await b.finish('b')
  assert.equal((await run).ok, true)
})

test('S87 pause while a job runs: its timeout continues, and the time of waiting nodes does not begin', async () => {
  const b = new Bench({ concurrency: 1, timeout: 1_000, retries: 0 }).add({ a: [], b: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.pause()
  await b.clock.advance(5_000)
  b.scheduler.resume()
  await b.clock.settle()
  assert.deepEqual(b.started, ['a', 'b'])
  await b.clock.advance(900)
  await b.finish('b')
  const { failed, succeeded } = await run
  // It has ignored its timeout.
  assert.ok(code('HDL_UNRESPONSIVE')(failed.get('a')), String(failed.get('a')))
  assert.deepEqual(succeeded, ['b'])
})

test('29 pause during back-off: no attempt until resume (P2)', async () => {
  const b = new Bench({ retries: 1 }).add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a')
  b.scheduler.pause()
  await b.clock.advance(10_000)
  assert.equal(b.started.length, 1)
  b.scheduler.resume()
  assert.equal(b.started.length, 2)
  await b.finish('a')
  assert.equal((await run).ok, true)
})

test('30 graceful cancel: running nodes finish, the rest is skipped, the run is not ok', async () => {
  const b = new Bench({ concurrency: 1 }).add({ a: [], b: [], c: ['a'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.cancel({ reason: 'enough', by: 'alice' })
  assert.equal(b.scheduler.state, 'draining')
  await b.finish('a')
  const r = await run
  assert.equal(r.ok, false)
  assert.equal(r.state, 'cancelled')
  assert.deepEqual(r.succeeded, ['a'])
  assert.deepEqual([...r.skipped].toSorted(), ['b', 'c'])
  assert.deepEqual(r.cancelled, [])
})

test('31 hard cancel: a second call aborts running nodes', async () => {
  const b = new Bench().add({ a: [], b: ['a'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.obeySignal('a')
  b.scheduler.cancel()
  assert.equal(b.contexts.get('a')!.signal.aborted, false)
  b.scheduler.cancel()
  assert.equal(b.contexts.get('a')!.signal.aborted, true)
  const r = await run
  assert.deepEqual(r.cancelled, ['a'])
  assert.deepEqual(r.skipped, ['b'])
  assert.equal(b.clock.pending, 0)
})

test('31 hard cancel: the grace running out aborts, and a deaf callback is abandoned', async () => {
  const b = new Bench({ cancelGrace: 1_000, abortGrace: 500 }).add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.cancel()
  await b.clock.advance(1_000)
  assert.equal(b.contexts.get('a')!.signal.aborted, true)
  await b.clock.advance(500)
  const r = await run
  assert.deepEqual(r.cancelled, ['a'])
  assert.equal(r.ok, false)
  assert.equal(b.clock.pending, 0)
})

test('32 outer abort: the run settles as cancelled, with author and reason (P17)', async () => {
  const b = new Bench().add({ a: [], b: ['a'] })
  const controller = new AbortController()
  const run = b.scheduler.run(b.work, { signal: controller.signal })
  await b.clock.settle()
  b.obeySignal('a')
  controller.abort(new Error('the client left'))
  const r = await run
  assert.equal(r.ok, false)
  assert.equal(r.state, 'cancelled')
  assert.match(String(r.errors.get('a')![0]), /the client left/)
})

test('32 a signal that is aborted already: nothing starts', async () => {
  const b = new Bench().add({ a: [] })
  const r = await b.scheduler.run(b.work, { signal: AbortSignal.abort() })
  assert.deepEqual(b.started, [])
  assert.deepEqual(r.skipped, ['a'])
})

test('a run that lasts longer than its deadline is cancelled, and says so', async () => {
  const b = new Bench({ concurrency: 1 }).add({ a: [], b: [] })
  const run = b.scheduler.run(b.work, { deadline: 500 })
  await b.clock.settle()
  b.obeySignal('a')
  await b.clock.advance(499)
  assert.equal(b.contexts.get('a')!.cancelled, false)
  await b.clock.advance(1)
  const r = await run
  assert.equal(r.ok, false)
  assert.deepEqual(r.cancelled, ['a'])
  assert.deepEqual(r.skipped, ['b'])
  const [error] = r.errors.get('a')!
  assert.ok(isError(error, 'HDL_CANCELLED'))
  assert.equal(error.details.source, 'deadline')
  assert.match(error.message, /500 ms/)
  assert.equal(b.clock.pending, 0)
})

test('a deadline leaves no timer behind when the run ends before it; a wrong one is refused', async () => {
  const b = new Bench().add({ a: [] })
  const run = b.scheduler.run(b.work, { deadline: 500 })
  await b.clock.settle()
  await b.finish('a')
  assert.equal((await run).ok, true)
  assert.equal(b.clock.pending, 0)
  await assert.rejects(new Scheduler().run(b.work, { deadline: -1 }), code('HDL_BAD_OPTION'))
})

test('cancel before run: everything is skipped', async () => {
  const b = new Bench().add({ a: [], b: ['a'] })
  b.scheduler.cancel()
  const r = await b.scheduler.run(b.work)
  assert.equal(r.ok, false)
  assert.deepEqual([...r.skipped], ['a', 'b'])
})

test('a cancelled run with nothing left over is still not ok', async () => {
  const b = new Bench().add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.cancel()
  await b.finish('a')
  assert.equal((await run).ok, false)
})

test('34, 35, 36 add while running: no dependency, a pending one, a finished one', async () => {
  const b = new Bench().add({ a: [], hold: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.equal(b.scheduler.add('x'), true)
  assert.equal(b.scheduler.add('y', { after: ['a'] }), true)
  await b.clock.settle()
  assert.deepEqual(b.started, ['a', 'hold', 'x'])
  await b.finish('a')
  assert.deepEqual(b.started, ['a', 'hold', 'x', 'y'])
  b.scheduler.add('z', { after: ['a'] })
  await b.clock.settle()
  assert.equal(b.started.at(-1), 'z')
  for (const name of ['x', 'y', 'z', 'hold']) await b.finish(name)
  assert.equal((await run).succeeded.length, 5)
})

test('37 add with an unknown dependency: refused with a suggestion, ignored on request', async () => {
  const loose = new Bench({ keepOpen: true, unknown: 'ignore' }).add({ core: [] })
  const run = loose.scheduler.run(loose.work)
  await loose.clock.settle()
  loose.scheduler.add('x', { after: ['ghost'] })
  await loose.clock.settle()
  assert.deepEqual(loose.started, ['core', 'x'])
  await loose.finish('core')
  await loose.finish('x')
  loose.scheduler.close()
  assert.equal((await run).ok, true)

  const strict = new Scheduler()
  strict.add('core')
  strict.add('plugin', { after: ['cor'] })
  await assert.rejects(strict.run(recorder().work), (error) => {
    assert.ok(isError(error, 'HDL_UNKNOWN_DEPENDENCY'))
    assert.match(error.message, /Did you mean "core"\?/)
    return true
  })
})

test('38 add twice: false', () => {
  const s = new Scheduler()
  assert.equal(s.add('x'), true)
  assert.equal(s.add('x', { after: ['y'] }), false)
})

test('39 and 40 add on a failed, blocked or removed dependency: blocked at once, never called (P6, P7)', async () => {
  const b = new Bench({ keepOpen: true }).add({ a: [], b: ['a'], gone: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a')
  b.scheduler.remove('gone')
  b.obeySignal('gone')
  b.scheduler.add('x', { after: ['a'] })
  b.scheduler.add('y', { after: ['b'] })
  await b.finish('gone')
  b.scheduler.add('z', { after: ['gone'] })
  b.scheduler.close()
  const r = await run
  assert.deepEqual(Object.fromEntries(r.blocked), { b: 'a', x: 'a', y: 'a', z: 'gone' })
  assert.deepEqual(b.started, ['a', 'gone'])
})

test('41 add before run on an empty scheduler runs (P8)', async () => {
  const s = new Scheduler()
  s.add('a')
  assert.deepEqual((await s.run(recorder().work)).succeeded, ['a'])
})

test('43 keepOpen: a node added after the work ran out still runs; close() ends the run', async () => {
  const b = new Bench({ keepOpen: true }).add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.finish('a')
  await b.clock.advance(60_000)
  b.scheduler.add('later')
  await b.clock.settle()
  await b.finish('later')
  b.scheduler.close()
  assert.deepEqual((await run).succeeded, ['a', 'later'])
})

test('44 remove: false for unknown and ended nodes', async () => {
  const b = new Bench({ keepOpen: true }).add({ a: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.equal(b.scheduler.remove('ghost'), false)
  await b.finish('a')
  assert.equal(b.scheduler.remove('a'), false)
  b.scheduler.close()
  await run
})

test('45 remove a queued node: skipped once, never called (P5)', async () => {
  const b = new Bench({ concurrency: 1 }).add({ a: [], b: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.equal(b.scheduler.remove('b'), true)
  await b.finish('a')
  const r = await run
  assert.deepEqual(r.skipped, ['b'])
  assert.deepEqual(b.started, ['a'])
})

test('46 remove blocks dependents by default', async () => {
  const b = new Bench().add({ a: [], b: ['a'], c: ['b'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.remove('b')
  await b.finish('a')
  const r = await run
  assert.deepEqual(r.succeeded, ['a'])
  assert.deepEqual(r.skipped, ['b'])
  assert.deepEqual([...r.blocked], [['c', 'b']])
})

test('47 remove detaches: the dependent waits for the dependencies of the removed node, then runs (P3)', async () => {
  const b = new Bench().add({ a: [], b: ['a'], c: ['b'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.remove('b', { dependents: 'detach' })
  await b.clock.settle()
  assert.deepEqual(b.started, ['a'])
  await b.finish('a')
  assert.deepEqual(b.started, ['a', 'c'])
  await b.finish('c')
  const r = await run
  assert.deepEqual(r.succeeded, ['a', 'c'])
  assert.deepEqual(r.skipped, ['b'])
  assert.equal(r.ok, true)
})

test('48 remove a running node: its signal aborts, dependents follow the policy, one outcome each (P4)', async () => {
  for (const dependents of ['block', 'detach'] as const) {
    const b = new Bench().add({ a: [], b: ['a'] })
    const run = b.scheduler.run(b.work)
    await b.clock.settle()
    assert.equal(b.scheduler.remove('a', { dependents }), true)
    assert.equal(b.contexts.get('a')!.signal.aborted, true)
    await b.finish('a')
    if (dependents === 'detach') await b.finish('b')
    const r = await run
    assert.deepEqual(r.cancelled, ['a'])
    assert.deepEqual(r.succeeded, dependents === 'detach' ? ['b'] : [])
    assert.deepEqual([...r.blocked], dependents === 'detach' ? [] : [['b', 'a']])
  }
})

test('a node removed after its attempt timed out is not tried again', async () => {
  const b = new Bench({ timeout: 50, retries: 3 }).add({ a: [], b: ['a'] })
  const run = b.scheduler.run(b.work)
  await b.clock.advance(50)
  b.scheduler.remove('a')
  await b.finish('a')
  const r = await run
  assert.equal(b.started.length, 1)
  assert.ok(isError(r.failed.get('a'), 'HDL_TIMEOUT'))
  assert.deepEqual([...r.blocked], [['b', 'a']])
})

test('50 a node that is done already is not called, its dependents start, and it counts as reused', async () => {
  const b = new Bench()
  b.scheduler.add('a', { done: true, value: 41 })
  b.add({ b: ['a'], c: ['b'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.deepEqual(b.started, ['b'])
  assert.equal(b.contexts.get('b')!.resultOf('a'), 41)
  await b.finish('b')
  await b.finish('c')
  const r = await run
  assert.deepEqual(r.succeeded, ['b', 'c'])
  assert.deepEqual(r.reused, ['a'])

  const all = new Scheduler()
  all.add('a', { done: true })
  const empty = await all.run(recorder().work)
  assert.equal(empty.ok, true)
  assert.deepEqual(empty.succeeded, [])
})

test('51 observers see everything in order', async () => {
  const b = new Bench({ concurrency: 1, retries: 1 }).add({ a: [], b: ['a'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a')
  await b.clock.advance(1_000)
  await b.fail('a')
  await run
  assert.deepEqual(b.stages, [
    'a ready',
    'a running',
    'a retrying',
    'a ready',
    'a running',
    'a failed',
    'b blocked',
  ])
  const types = b.events.filter((event) => event.type !== 'node').map((event) => event.type)
  assert.deepEqual(types, ['state', 'start', 'state', 'complete'])
})

test('52 an observer that throws, or rejects, changes nothing and is reported once (P12)', async () => {
  const warnings: Error[] = []
  const collect = (warning: Error): void => void warnings.push(warning)
  process.on('warning', collect)
  try {
    const s = new Scheduler({
      observer: () => {
        throw new Error('broken observer')
      },
    })
    // A caller without type checks may pass an async function.
    const rejecting: unknown = () => Promise.reject(new Error('broken async observer'))
    s.observe(rejecting as Observer)
    s.add('a')
    s.add('b', { after: ['a'] })
    assert.equal((await s.run(recorder().work)).ok, true)
    await new VirtualClock().settle()
    assert.deepEqual(
      warnings.map((warning) => warning.message).filter((message) => message.includes('observer'))
        .length,
      2,
    )
  } finally {
    process.off('warning', collect)
  }
})

test('53 bad arguments, and a second run, are refused at once with the expected form (P10, P18)', async () => {
  for (const concurrency of [0, -1, NaN, 1.5, '5' as unknown as number]) {
    assert.throws(() => new Scheduler({ concurrency }), code('HDL_BAD_OPTION'))
  }
  assert.throws(() => new Scheduler({ concurency: 5 } as object), code('HDL_UNKNOWN_OPTION'))
  assert.throws(() => new Scheduler({ retries: -1 }), code('HDL_BAD_OPTION'))
  assert.throws(() => new Scheduler({ timeout: NaN }), code('HDL_BAD_OPTION'))
  assert.throws(() => new Scheduler().add(''), code('HDL_BAD_OPTION'))
  assert.throws(() => new Scheduler().add('a', { needs: { lop: 1 } }), /did you mean loop/)
  assert.throws(() => new Scheduler().add('a', { needs: { slot: 1 } }), /needs\.slot.*loop: 0/)
  assert.throws(() => new Scheduler({ resources: { slot: 1 } }), /to be set by `concurrency`/)
  assert.throws(() => new Scheduler().add('a', { priority: 10 }), code('HDL_BAD_OPTION'))
  assert.throws(
    () => new Scheduler({ concurrency: 2 }).add('a', { needs: { loop: 3 } }),
    code('HDL_WOULD_DEADLOCK'),
  )

  const s = new Scheduler()
  s.add('a')
  await s.run(recorder().work)
  await assert.rejects(s.run(recorder().work), code('HDL_ALREADY_RUN'))
  assert.throws(() => s.add('b'), code('HDL_RUN_ENDED'))
})

test('58 determinism: a hundred runs start their nodes in the same order', async () => {
  const orders = new Set<string>()
  for (let i = 0; i < 100; i++) {
    // What is ready when dispatch resumes after a slice decides too: on a busy machine slices end anywhere.
    const kernel = { clock: new VirtualClock(), random: systemRandom }
    const s = new Scheduler({ concurrency: 3, kernel })
    for (let n = 0; n < 12; n++)
      s.add(`n${n}`, { after: n < 4 ? [] : [`n${n - 4}`, `n${(n * 7) % 4}`] })
    const { calls, work } = recorder()
    await s.run(work)
    orders.add(calls.join())
  }
  assert.equal(orders.size, 1)
})

test('P9 slots, not workers: eight live adds run five at a time', async () => {
  const b = new Bench({ concurrency: 5, keepOpen: true })
  const run = b.scheduler.run(b.work)
  for (let i = 0; i < 8; i++) b.scheduler.add(`n${i}`)
  await b.clock.settle()
  assert.equal(b.running, 5)
  for (let i = 0; i < 8; i++) await b.finish(`n${i}`)
  b.scheduler.close()
  await run
})

test('P13 a callback that throws a cancellation of its own fails its node and nothing else', async () => {
  const s = new Scheduler({ retries: 2 })
  s.add('a')
  s.add('z')
  const r = await s.run(async (name) => {
    if (name === 'a') throw new DOMException('aborted', 'AbortError')
  })
  assert.deepEqual([...r.failed.keys()], ['a'])
  assert.deepEqual(r.succeeded, ['z'])
})

test('P14 the head of a chain of 50,000 fails: all others are blocked', async () => {
  const s = new Scheduler()
  s.add('n0')
  for (let i = 1; i < 50_000; i++) s.add(`n${i}`, { after: [`n${i - 1}`] })
  const r = await s.run(() => {
    throw new Error('head')
  })
  assert.equal(r.blocked.size, 49_999)
  assert.equal(r.blocked.get('n49999'), 'n0')
})

test('P14 a cycle of 50,000 nodes is found without recursion', async () => {
  const s = new Scheduler()
  for (let i = 0; i < 50_000; i++) s.add(`n${i}`, { after: [`n${(i + 1) % 50_000}`] })
  await assert.rejects(s.run(recorder().work), code('HDL_CYCLE'))
})

test('results flow: a callback reads the results of its dependencies', async () => {
  const s = new Scheduler()
  s.add('a')
  s.add('b', { after: ['a'] })
  const r = await s.run(async (name, ctx) =>
    name === 'a' ? 20 : (ctx.resultOf('a') as number) + 1,
  )
  assert.equal(r.valueOf('b'), 21)
  assert.throws(() => r.valueOf('c'), code('HDL_UNKNOWN_NODE'))
})

test('resources: waiting for a scarce one holds no slot, and other nodes pass (S38)', async () => {
  const b = new Bench({ concurrency: 2, resources: { gpu: 1 } })
  b.scheduler.add('g1', { needs: { gpu: 1 } })
  b.scheduler.add('g2', { needs: { gpu: 1 } })
  b.scheduler.add('other')
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.deepEqual(b.started, ['g1', 'other'])
  await b.finish('g1')
  assert.deepEqual(b.started, ['g1', 'other', 'g2'])
  await b.finish('g2')
  await b.finish('other')
  assert.equal((await run).ok, true)
})

test('resources: a node that only waits takes no permit of its place', async () => {
  const b = new Bench({ concurrency: 1 })
  b.scheduler.add('poll', { needs: { loop: 0 } })
  b.scheduler.add('a')
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.deepEqual(b.started, ['poll', 'a'])
  await b.finish('a')
  await b.finish('poll')
  await run
})

test('resources: a heavy node is not starved by light nodes that came later', async () => {
  const b = new Bench({ concurrency: 5, resources: { cpu: 2 } })
  for (const name of ['l1', 'l2']) b.scheduler.add(name, { needs: { cpu: 1 } })
  b.scheduler.add('heavy', { needs: { cpu: 2 } })
  for (const name of ['l3', 'l4']) b.scheduler.add(name, { needs: { cpu: 1 } })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.finish('l1')
  assert.deepEqual(b.started, ['l1', 'l2'], 'the free permit waits for the heavy node')
  await b.finish('l2')
  assert.deepEqual(b.started, ['l1', 'l2', 'heavy'])
  await b.finish('heavy')
  assert.deepEqual(b.started, ['l1', 'l2', 'heavy', 'l3', 'l4'])
  await b.finish('l3')
  await b.finish('l4')
  await run
})

test('priority: 0 goes first, and waiting raises the others', async () => {
  const b = new Bench({ concurrency: 1, aging: 1_000 })
  b.scheduler.add('hold')
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.add('late', { priority: 3 })
  await b.clock.advance(3_500)
  b.scheduler.add('urgent', { priority: 0 })
  await b.clock.settle()
  await b.finish('hold')
  assert.equal(b.started.at(-1), 'late', 'it has waited long enough to be equal, and is older')
  await b.finish('late')
  await b.finish('urgent')
  await run
})

test('concurrency can be raised and lowered while running', async () => {
  const b = new Bench({ concurrency: 1 }).add({ a: [], b: [], c: [], d: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.scheduler.concurrency = 3
  await b.clock.settle()
  assert.deepEqual(b.started, ['a', 'b', 'c'])
  b.scheduler.concurrency = 1
  await b.finish('a')
  await b.finish('b')
  assert.equal(b.started.length, 3)
  await b.finish('c')
  assert.equal(b.started.length, 4)
  await b.finish('d')
  await run
})

test('I6 nothing is left after a run with retries, timeouts and a cancel', async () => {
  const b = new Bench({ concurrency: 2, retries: 3, timeout: 100 }).add({
    a: [],
    b: ['a'],
    c: [],
    d: [],
  })
  const controller = new AbortController()
  const run = b.scheduler.run(b.work, { signal: controller.signal })
  await b.clock.settle()
  await b.fail('a')
  b.obeySignal('c')
  await b.clock.advance(100)
  b.scheduler.cancel()
  b.scheduler.cancel()
  await b.clock.advance(2_000)
  await run
  assert.equal(b.clock.pending, 0)
  const { ready, running, retrying, unfinished } = b.scheduler.stats()
  assert.deepEqual(
    { ready, running, retrying, unfinished },
    { ready: 0, running: 0, retrying: 0, unfinished: 0 },
  )
})
