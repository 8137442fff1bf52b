import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { campaign as ownCampaign, startServer, type Server } from '@heddle/server'
import { Worker, type CampaignUnits, type WorkerEvent, type WorkerOptions } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'

/** The fields that the cases below read. */
interface Reply {
  readonly id: string
  readonly handle: string
  readonly result: unknown
  readonly error: { readonly code: string; readonly message: string }
  readonly protocol: number
  readonly lost: unknown
  readonly logged: number
  readonly campaign: Reply
  readonly phase: string
  readonly done: number
  readonly open: number
  readonly workers: number
  readonly total: unknown
  readonly held: number
  readonly offered: number
  readonly closed: unknown
}

async function post(
  server: Server,
  path: string,
  body: unknown,
): Promise<{ status: number; body: Reply }> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Reply }
}

async function get(server: Server, path: string): Promise<Reply> {
  return (await fetch(server.url + path)).json() as Promise<Reply>
}

function makeWorker(server: Server, options: Partial<WorkerOptions> = {}): Worker {
  return new Worker({ server: server.url, jobs, concurrency: 1, ...options })
}

/** Resolves when a worker says so. */
function event(kind: WorkerEvent['kind']): {
  seen: Promise<WorkerEvent>
  onEvent: (event: WorkerEvent) => void
} {
  const { promise, resolve } = Promise.withResolvers<WorkerEvent>()
  return { seen: promise, onEvent: (each) => each.kind === kind && resolve(each) }
}

test('stop() before run() ends the thread of the network, and run() ends at once', async () => {
  const worker = new Worker({ server: 'http://127.0.0.1:9', jobs })
  await assert.rejects(worker.stop({ deadline: -1 }), { code: 'HDL_BAD_OPTION' })
  await worker.stop()
  await worker.stop({ deadline: 0 })
  assert.equal((await worker.run()).why, 'stopped')
  // A thread that is left would keep the process of this file from ending.
})

test('a campaign: three workers play all units, each is counted once', async () => {
  await using server = await startServer({ jobs, port: 0 })
  const created = await post(server, '/campaigns', {
    name: 'match',
    job: 'play',
    units: 300,
    batch: 10,
    outcomes: ['L', 'D', 'W'],
  })
  assert.equal(created.status, 201)
  const workers = ['a', 'b', 'c'].map((name) => makeWorker(server, { name, exitWhenIdle: true }))
  const ends = await Promise.all(workers.map((worker) => worker.run()))
  assert.deepEqual(
    ends.map(({ why, exitCode }) => [why, exitCode]),
    ends.map(() => ['idle', 0]),
  )
  const { campaign } = await get(server, `/campaigns/${created.body.id}/stats`)
  assert.deepEqual([campaign.phase, campaign.done, campaign.total], ['ended', 300, [100, 100, 100]])
  const summary = await get(server, '/fleet/summary?workers=10')
  assert.deepEqual([summary.held, summary.offered, summary.workers], [0, 0, 0])
})

interface Sample {
  readonly n: number
  readonly sum: number
}

/** Adds up numbers of units. */
const sums = ownCampaign('sums', {
  reduce: {
    initial: { n: 0, sum: 0 },
    add: (total, result: Sample) => ({ n: total.n + result.n, sum: total.sum + result.sum }),
  },
})

test('P9: results of a campaign with code of the module are added up on the server, whole ranges at a time', async () => {
  await using server = await startServer({ jobs: { ...jobs, sums }, port: 0 })
  const calls: number[] = []
  const sample = job({ name: 'sample' }, ({ start, count }: CampaignUnits) => {
    calls.push(count)
    const units = Array.from({ length: count }, (_, index) => start + index)
    return { n: count, sum: units.reduce((sum, unit) => sum + unit, 0) }
  })
  const body = { name: 'sums', job: 'sample', units: 50 }
  const unknown = await post(server, '/campaigns', { ...body, definition: 'means' })
  assert.equal(unknown.status, 400)
  assert.match(unknown.body.error.message, /has no campaign means; it has: sums/)
  const both = await post(server, '/campaigns', { ...body, definition: 'sums', outcomes: ['a'] })
  assert.equal(both.status, 400)
  const created = await post(server, '/campaigns', { ...body, definition: 'sums' })
  assert.equal(created.status, 201)
  const worker = makeWorker(server, { jobs: [sample], exitWhenIdle: true })
  assert.equal((await worker.run()).why, 'idle')
  const { phase, done, total } = await get(server, `/campaigns/${created.body.id}`)
  assert.deepEqual([phase, done, total], ['ended', 50, { n: 50, sum: 1_225 }])
  // A lease is one call.
  const { closed } = await get(server, '/fleet/summary')
  assert.deepEqual(closed, { finished: calls.length })
})

test('W3: a job with place fleet wakes a waiting worker; its value, log and failure come back', async () => {
  await using server = await startServer({ jobs, port: 0 })
  const idle = event('connected')
  const worker = makeWorker(server, { onEvent: idle.onEvent })
  const end = worker.run()
  await idle.seen
  const done = await post(server, '/jobs/square?wait=30000', 12)
  assert.deepEqual([done.status, done.body.result], [200, 144])
  const failed = await post(server, '/jobs/broken?wait=30000', null)
  assert.deepEqual([failed.status, failed.body.error.code], [500, 'job_failed'])
  await worker.stop()
  assert.equal((await end).why, 'stopped')
})

test('W2: a worker without the capability gets nothing and learns which one is missing', async () => {
  await using server = await startServer({ jobs, port: 0 })
  const submitted = await post(server, '/jobs/gpu-only', null)
  assert.equal(submitted.status, 202)
  const idle = event('idle')
  const plain = makeWorker(server, { exitWhenIdle: true, onEvent: idle.onEvent })
  await plain.run()
  const seen = await idle.seen
  assert.match((seen as { message: string }).message, /needs capability gpu/)
  const able = makeWorker(server, { capabilities: ['gpu'], exitWhenIdle: true })
  await able.run()
  const result = await get(server, `/results/${submitted.body.handle}/0?wait=10000`)
  assert.ok(JSON.stringify(result).includes('done'))
})

test('S145: the highest version that both sides speak, or 426; unknown fields are ignored', async () => {
  await using server = await startServer({ jobs, port: 0 })
  const refused = await post(server, '/fleet/version', { protocol: [7] })
  assert.deepEqual([refused.status, refused.body.error.code], [426, 'version'])
  const agreed = await post(server, '/fleet/version', { protocol: [1, 9], from_the_future: true })
  assert.equal(agreed.body.protocol, 1)
})

test('S144 S120: lost leases are 410, a log is cut, a line for a campaign names its lease', async () => {
  await using server = await startServer({ jobs, port: 0 })
  const call = { lease: 'c-none.1', epoch: 1, worker: 'w' }
  const beat = await post(server, '/fleet/beat', {
    worker: 'w',
    leases: [{ lease: 'c-none.1', epoch: 1 }],
  })
  assert.deepEqual(beat.body.lost, [{ lease: 'c-none.1', reason: 'not_held' }])
  await post(server, '/fleet/register', { protocol: [1], worker: description })
  const update = await post(server, '/fleet/update', {
    ...call,
    sequence: 1,
    done: 1,
    result: null,
  })
  assert.deepEqual([update.status, update.body.error.code], [410, 'lease_lost'])
  const log = await post(server, '/fleet/log', { worker: 'w', text: 'x'.repeat(10_000) })
  assert.equal(log.body.logged, 5_120)
  const bad = await post(server, '/fleet/log', { worker: 'w', campaign: 'c', text: 'x' })
  assert.equal(bad.status, 400)
})

const description = {
  id: 'worker-1',
  name: 'w',
  threads: 1,
  memory: 1,
  capabilities: [],
  tags: [],
  system: 'linux-x64',
  jobs: [],
}

test('K5: stop() hands back jobs that do not end in time', async () => {
  await using server = await startServer({ jobs, port: 0 })
  const created = await post(server, '/campaigns', { name: 'long', job: 'stuck', units: 5 })
  const stuck = job({ name: 'stuck' }, (_: unknown, { signal }) => {
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    return promise
  })
  const started = event('started')
  const worker = makeWorker(server, { jobs: [stuck], onEvent: started.onEvent })
  const end = worker.run()
  await started.seen
  await worker.stop({ deadline: 0 })
  assert.equal((await end).exitCode, 0)
  const campaign = await get(server, `/campaigns/${created.body.id}`)
  assert.deepEqual([campaign.open, campaign.workers, campaign.done], [5, 0, 0])
})

test('K5: stop() does not wait for a claim that waits for work', async () => {
  await using server = await startServer({ jobs, port: 0 })
  const seen: string[] = []
  const idle = event('connected')
  const onEvent = (each: WorkerEvent): void => {
    seen.push(each.kind)
    idle.onEvent(each)
  }
  const worker = makeWorker(server, { wait: 60_000, onEvent })
  const ended = worker.run()
  await idle.seen
  await worker.stop()
  assert.deepEqual(await ended, { why: 'stopped', message: 'it was stopped', exitCode: 0 })
  // An answer to the claim would have been reported as idle.
  assert.deepEqual(seen, ['connected'])
})
