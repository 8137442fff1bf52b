import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { isRetryable, requestedDelay, type FleetAttempt } from '@heddle/core/lowlevel'
import type { Failure } from '../../src/fleet/fleet.ts'
import type { Lease } from '../../src/fleet/lease.ts'
import { jobLeaseTable } from '../../src/fleet/job-records.ts'
import { callOf, makeWorld, TestServer, type World } from './kit.ts'

interface TestAttempt extends FleetAttempt {
  readonly controller: AbortController
  readonly steps: string[]
}

function attemptOf(more: Partial<FleetAttempt> = {}): TestAttempt {
  const controller = new AbortController()
  const steps: string[] = []
  return {
    controller,
    steps,
    job: 'play',
    version: '1',
    capabilities: [],
    name: 'node',
    attempt: 0,
    key: 'run-1/node',
    input: 12,
    signal: controller.signal,
    grace: 2_000,
    onStart: () => steps.push('start'),
    onWaiting: () => steps.push('wait'),
    onLog: (text) => steps.push(`log ${text}`),
    onProgress: (fraction) => steps.push(`progress ${fraction}`),
    ...more,
  }
}

interface Traced {
  readonly state: 'waiting' | 'resolved' | 'rejected'
}

/** Records the outcome of a promise. */
function trace(promise: Promise<unknown>): Traced {
  const traced: { state: Traced['state'] } = { state: 'waiting' }
  promise.then(
    () => (traced.state = 'resolved'),
    () => (traced.state = 'rejected'),
  )
  return traced
}

function finish(server: TestServer, lease: Lease, result: unknown): Promise<{ closed?: string }> {
  return server.fleet.update(callOf(lease), { sequence: 1, done: 1, result })
}

async function rowsOf({ database }: World): Promise<number> {
  return (await database.tables.ofShards(jobLeaseTable, [0, 1, 2, 3])).length
}

test('J1: the row of a lease is there when it is accepted, its result when the report is answered', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const attempt = attemptOf()
  const result = server.jobs.run(attempt)
  const lease = await server.lease('w')
  assert.deepEqual([await rowsOf(world), attempt.steps], [1, ['start']])
  assert.equal((await finish(server, lease, 144)).closed, 'finished')
  assert.equal(await result, 144)
  const [row] = await world.database.tables.ofShards(jobLeaseTable, [0, 1, 2, 3])
  assert.equal(row?.result, '144')
  // L5: the answer was lost; the same report again gets the same answer.
  assert.deepEqual(await finish(server, lease, 144), {
    counted: false,
    closed: 'finished',
    nextBeat: 0,
  })
  await world.clock.advance(130_000)
  assert.equal(await rowsOf(world), 0)
  await server.stop()
})

test('J2 S100: after kill -9 the lease continues, and the run that asks again gets it', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  const lost = first.jobs.run(attemptOf())
  lost.catch(() => undefined)
  const lease = await first.lease('w')
  await first.kill()
  await world.clock.advance(10_000)
  const second = await new TestServer(world).start()
  assert.deepEqual(second.fleet.book.beat(callOf(lease), 1).nextBeat > 0, true)
  const attempt = attemptOf()
  const result = second.jobs.run(attempt)
  assert.deepEqual([attempt.steps, second.jobs.waiting], [['start'], 0])
  await finish(second, lease, 'kept')
  assert.equal(await result, 'kept')
  const { closed, granted } = second.fleet.book.stats()
  assert.deepEqual([closed, granted], [{ finished: 1 }, 0])
  await second.stop()
})

test('J2: a run that asks before the store was read gets its lease too', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  first.jobs.run(attemptOf()).catch(() => undefined)
  const lease = await first.lease('w')
  await first.kill()
  await world.clock.advance(10_000)
  const second = new TestServer(world)
  const attempt = attemptOf()
  const result = second.jobs.run(attempt)
  await second.start()
  assert.deepEqual([attempt.steps, second.jobs.waiting], [['start'], 0])
  await finish(second, lease, 1)
  assert.equal(await result, 1)
  await second.stop()
})

test('J2: a worker that ends before its run asks: the result waits for the run, also over another kill', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  first.jobs.run(attemptOf()).catch(() => undefined)
  const lease = await first.lease('w')
  await first.kill()
  await world.clock.advance(10_000)
  const second = await new TestServer(world).start()
  assert.equal((await finish(second, lease, 'early')).closed, 'finished')
  await second.kill()
  await world.clock.advance(10_000)
  const third = await new TestServer(world).start()
  const attempt = attemptOf()
  assert.equal(await third.jobs.run(attempt), 'early')
  await third.stop()
})

test('J2: the next attempt of the same work does not get the lease of the last one', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  first.jobs.run(attemptOf()).catch(() => undefined)
  await first.lease('w')
  await first.kill()
  await world.clock.advance(10_000)
  const second = await new TestServer(world).start()
  const again = attemptOf({ attempt: 1 })
  second.jobs.run(again).catch(() => undefined)
  assert.deepEqual([again.steps, second.jobs.waiting], [[], 1])
  again.controller.abort(new Error('enough'))
  await second.stop()
})

test('J2: a lease that no run asks for is closed after a stale period', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  first.jobs.run(attemptOf()).catch(() => undefined)
  const lease = await first.lease('w')
  await first.kill()
  await world.clock.advance(10_000)
  const second = await new TestServer(world).start()
  for (let beat = 0; beat < 4; beat++) {
    await world.clock.advance(80_000)
    second.fleet.book.beat(callOf(lease), beat + 1)
  }
  await world.clock.advance(80_000)
  assert.throws(() => second.fleet.book.beat(callOf(lease), 9), /cancelled/)
  assert.equal(await rowsOf(world), 0)
  await second.stop()
})

test('J3: a server that ends closes no lease, a cancel by a user does', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const kept = attemptOf()
  const keptEnd = server.jobs.run(kept)
  const keptLease = await server.lease('w')
  const shutdown = new HeddleError('HDL_CANCELLED', { what: 'node', source: 'shutdown' })
  kept.controller.abort(shutdown)
  await assert.rejects(keptEnd, /shutdown/)
  assert.equal(server.fleet.book.get(keptLease.id), keptLease)
  const cancelled = attemptOf({ key: 'run-2/node' })
  const cancelledEnd = server.jobs.run(cancelled)
  const cancelledLease = await server.lease('v')
  cancelled.controller.abort(new HeddleError('HDL_CANCELLED', { what: 'node', source: 'user' }))
  await server.fleet.handBack(callOf(cancelledLease))
  await assert.rejects(cancelledEnd, /user/)
  assert.equal(server.fleet.book.get(cancelledLease.id), undefined)
  // The worker reports to the server that ends: its result is stored for the next one.
  await finish(server, keptLease, 'late')
  await server.stop()
  await world.clock.advance(10_000)
  const next = await new TestServer(world).start()
  assert.equal(await next.jobs.run(attemptOf()), 'late')
  await next.stop()
})

test('J4 W7: an attempt that is aborted ends when its worker has stopped it, and the worker is asked at once', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const attempt = attemptOf()
  const outcome = trace(server.jobs.run(attempt))
  const lease = await server.lease('w')
  const news = trace(server.fleet.waitNews('w', 'ann', 60_000, new AbortController().signal))
  const claim = trace(server.claim('w', { wait: 25_000, holds: [lease.id] }))
  await world.clock.settle()
  assert.deepEqual([news.state, claim.state], ['waiting', 'waiting'])
  attempt.controller.abort(new Error('too slow'))
  await world.clock.settle()
  // Both calls that wait are answered; the attempt waits for the job.
  assert.deepEqual([news.state, claim.state, outcome.state], ['resolved', 'resolved', 'waiting'])
  const asked = [{ lease: lease.id, reason: 'too slow' }]
  assert.deepEqual(server.fleet.stopsOf('w', 'ann'), asked)
  assert.deepEqual(server.fleet.newStopsOf('w'), asked)
  // A claim says it once: the next one may wait. A beat says it again.
  assert.deepEqual([server.fleet.newStopsOf('w'), server.fleet.stopsOf('w', 'ann')], [[], asked])
  await world.clock.advance(1_999)
  assert.equal(outcome.state, 'waiting')
  await server.fleet.handBack(callOf(lease))
  await world.clock.settle()
  assert.deepEqual([outcome.state, server.jobs.waiting], ['rejected', 0])
  assert.equal(await rowsOf(world), 0)
  await server.stop()
})

test('J4: any report of a worker about a stopped job ends the attempt', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  for (const how of ['update', 'fail'] as const) {
    const attempt = attemptOf({ key: `run-${how}/node` })
    const outcome = trace(server.jobs.run(attempt))
    const lease = await server.lease('w')
    attempt.controller.abort(new Error('too slow'))
    const failure = { message: 'no ink', retryable: true, stage: 'run' } as const
    await (how === 'update' ? finish(server, lease, 1) : server.fleet.fail(callOf(lease), failure))
    await world.clock.settle()
    assert.notEqual(outcome.state, 'waiting')
    assert.equal(server.jobs.waiting, 0)
  }
  await server.stop()
})

test('J4: a job that does not stop within the grace loses its lease', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const attempt = attemptOf()
  const outcome = trace(server.jobs.run(attempt))
  const lease = await server.lease('w')
  attempt.controller.abort(new Error('too slow'))
  await world.clock.advance(2_000)
  assert.equal(outcome.state, 'waiting')
  await world.clock.advance(1)
  assert.equal(outcome.state, 'rejected')
  assert.throws(() => server.fleet.book.beat(callOf(lease), 1), /cancelled/)
  await server.stop()
})

test('J4: an offer of an attempt that is aborted is taken back at once', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const attempt = attemptOf()
  const outcome = trace(server.jobs.run(attempt))
  const offer = await server.claim('w')
  assert.ok(!('reason' in offer))
  attempt.controller.abort(new Error('too slow'))
  await world.clock.settle()
  assert.equal(outcome.state, 'rejected')
  await assert.rejects(server.fleet.accept(callOf(offer)), { code: 'HDL_LEASE_ENDED' })
  await server.stop()
})

test('J5: a result that was uploaded is read when its report has come, also after kill -9', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  const result = first.jobs.run(attemptOf())
  const lease = await first.lease('w')
  const resultAt = { run: 'run-1', artifact: '.result/1' }
  const report = { sequence: 1, done: 1, result: undefined, resultAt }
  assert.equal((await first.fleet.update(callOf(lease), report)).closed, 'finished')
  assert.equal(await result, '.result/1 of run-1')
  await first.kill()
  await world.clock.advance(10_000)
  const second = await new TestServer(world).start()
  assert.equal(await second.jobs.run(attemptOf()), '.result/1 of run-1')
  await second.stop()
})

test('J5: the offer includes an input of small JSON; any other input is downloaded', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const inputs = [{ pages: [1, null, 'x'] }, new Date(0), new Uint8Array(3), 'x'.repeat(100_000)]
  const given: unknown[] = []
  for (const [index, input] of inputs.entries()) {
    server.jobs.run(attemptOf({ key: `run-${index}/node`, input })).catch(() => undefined)
    const lease = await server.lease('w')
    const work = lease.work.describe(lease) as { input?: unknown; input_bytes?: boolean }
    given.push(work.input ?? work.input_bytes)
    assert.equal(server.jobs.inputOf(lease).input, input)
  }
  assert.deepEqual(given, [inputs[0], true, true, true])
  await server.stop()
})

test('an error of a job on its worker arrives with its causes, its delay, and whether it is final', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const fail = async (key: string, failure: Partial<Failure>): Promise<unknown> => {
    const thrown = server.jobs.run(attemptOf({ key })).catch((error: unknown) => error)
    const lease = await server.lease('w')
    const usual = { message: 'no paper', retryable: true, stage: 'run' } as const
    await server.fleet.fail(callOf(lease), { ...usual, ...failure })
    return thrown
  }
  const cause = { name: 'Error', message: 'no ink' }
  const error = { name: 'TypeError', message: 'no paper', cause }
  const whole = (await fail('run-1/a', { error })) as Error
  assert.deepEqual([whole.name, whole.message], ['TypeError', 'no paper'])
  assert.equal((whole.cause as Error).message, 'no ink')
  assert.equal(isRetryable(whole), true)
  // The body that a worker in another language sends.
  const plain = await fail('run-1/b', { retryable: false })
  assert.deepEqual([(plain as Error).message, isRetryable(plain)], ['no paper', false])
  const code = 'HDL_RETRY_AFTER'
  const later = await fail('run-1/c', { retryAfter: 5_000, error: { ...error, code } })
  assert.deepEqual([requestedDelay(later), isRetryable(later)], [5_000, true])
  assert.match((later as Error).message, /no ink/)
  await server.stop()
})

test('L11: a lease whose row could not be written is not held, and may be accepted again', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const attempt = attemptOf()
  const end = server.jobs.run(attempt)
  const offer = await server.claim('w')
  assert.ok(!('reason' in offer))
  world.database.isAway = true
  const refused = server.fleet.accept(callOf(offer))
  refused.catch(() => undefined)
  await world.clock.runUntil(refused.catch(() => undefined))
  assert.deepEqual([attempt.steps, server.fleet.book.stats().held], [[], 0])
  world.database.isAway = false
  const accepted = server.fleet.accept(callOf(offer))
  await world.clock.runUntil(accepted)
  assert.deepEqual(attempt.steps, ['start'])
  attempt.controller.abort(new Error('enough'))
  // It waits for the worker, and no longer than its grace.
  await assert.rejects(world.clock.runUntil(end))
  await server.stop()
})

test('explain: the reason for a waiting attempt names the capability, the version and the connected workers', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const wants = { job: 'play', version: '1', capabilities: ['gpu'] }
  assert.equal(server.jobs.whyWaiting(wants), 'no worker is connected')
  await server.claim({ id: 'ann', name: 'ann' })
  assert.equal(server.jobs.whyWaiting(wants), 'no worker with capability gpu (1 connected: ann)')
  const plain = { ...wants, capabilities: [] }
  assert.equal(
    server.jobs.whyWaiting({ ...plain, version: '2' }),
    'no worker has play version 2 (1 connected: ann)',
  )
  assert.equal(
    server.jobs.whyWaiting(plain),
    '0 of 1 workers that can run it are busy (1 connected: ann)',
  )
  await server.stop()
})
