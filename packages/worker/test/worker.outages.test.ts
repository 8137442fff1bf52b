/** K1: whatever is between a worker and its server, and however long that lasts, it costs no worker and no result. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { systemKernel, type Kernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startServer, type Server } from '@heddle/server'
import { reach } from '../../core/test/kernel/until.ts'
import { Worker, type CampaignUnits, type WorkerEvent } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'
import { BadProxy, type Trouble } from './support/bad-proxy.ts'

/** It comes back at once: no pause is drawn. */
const eager: Kernel = { ...systemKernel, random: { next: () => 0 } }

const limits = { loopGap: Infinity }

interface Shown {
  readonly done: number
  readonly open: number
  readonly total: unknown
  readonly ended?: { readonly why: string }
}

async function create({ url }: Server, body: object): Promise<() => Promise<Shown>> {
  const response = await fetch(`${url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'match', job: 'step', units: 1, outcomes: ['done'], ...body }),
  })
  const { id } = (await response.json()) as { id: string }
  return async () => (await (await fetch(`${url}/campaigns/${id}`)).json()) as Shown
}

async function closedOf({ url }: Server): Promise<Readonly<Record<string, number>>> {
  const response = await fetch(`${url}/fleet/summary`)
  return ((await response.json()) as { closed: Record<string, number> }).closed
}

const step = job({ name: 'step' }, ({ count }: CampaignUnits) => [count])

/** What a proxy, a page for maintenance, a login or another program says, and a defect of the server. */
const strange: readonly Trouble[] = [
  { page: 200 },
  'object',
  { page: 302 },
  { page: 401 },
  { page: 403 },
  { page: 404 },
  { page: 405 },
  { page: 410 },
  'defect',
]

test('K1: an answer that is not one of the protocol passes, whatever its status is, and so does a defect of the server', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const shown = await create(server, {})
  const paths = ['register', 'claim', 'accept', 'update'].map((name) => `/fleet/${name}`)
  for (const path of paths) proxy.trouble(path, ...strange)
  proxy.trouble('/fleet/claim', ...strange, { offer: {} }, { offer: null, empty: null })
  const worker = new Worker({
    server: proxy.url,
    jobs: [step],
    concurrency: 1,
    exitWhenIdle: true,
    kernel: eager,
  })
  const { why, message } = await worker.run()
  assert.deepEqual([why, (await shown()).done], ['idle', 1], message)
  assert.deepEqual(await closedOf(server), { finished: 1 })
  for (const path of paths) assert.ok(proxy.count(path) > strange.length, path)
})

test('S141 K1: a server that is away for longer than the stale period costs no worker, no lease and no result', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  // What takes longer than 101 ms is an outage here.
  const shown = await create(server, { beat_ms: 100, stale_ms: 101 })
  const away: Trouble[] = Array.from({ length: 4 }, () => 503)
  proxy.trouble('/fleet/accept', ...away)
  proxy.trouble('/fleet/update', ...away)
  const slow: Kernel = { ...systemKernel, random: { next: () => 0.9 } }
  const worker = new Worker({
    server: proxy.url,
    jobs: [step],
    concurrency: 1,
    exitWhenIdle: true,
    kernel: slow,
  })
  const { why, message } = await worker.run()
  assert.deepEqual([why, (await shown()).done], ['idle', 1], message)
  // Computed once: the lease that the worker had was not given up.
  assert.deepEqual(await closedOf(server), { finished: 1 })
})

test('K5: stop() does not wait for an accept that a server does not answer', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const shown = await create(server, { units: 3 })
  proxy.trouble('/fleet/accept', 'silence')
  const worker = new Worker({ server: proxy.url, jobs: [step], concurrency: 1 })
  const ended = worker.run()
  while (proxy.count('/fleet/accept') === 0) await once(proxy, 'seen')
  await worker.stop()
  assert.equal((await ended).why, 'stopped')
  // It has left, and its offer with it.
  assert.equal((await shown()).open, 3)
})

test('K5: stop() ends five seconds after its deadline when the server answers nothing any more', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  await create(server, { job: 'talk' })
  const deaf: Trouble[] = Array.from({ length: 100 }, () => 'silence')
  for (const name of ['log', 'beat', 'update', 'fail', 'leave']) {
    proxy.trouble(`/fleet/${name}`, ...deaf)
  }
  const clock = new VirtualClock()
  const talk = job({ name: 'talk' }, async (_: CampaignUnits, { log, signal }) => {
    log('a line that never arrives')
    await once(signal, 'abort')
    throw signal.reason
  })
  const worker = new Worker({
    server: proxy.url,
    jobs: [talk],
    concurrency: 1,
    kernel: { ...systemKernel, clock },
  })
  const ended = worker.run()
  while (proxy.count('/fleet/log') === 0) await once(proxy, 'seen')
  const stopped = worker.stop({ deadline: 1_000 })
  await clock.advance(1_000)
  await clock.advance(5_000)
  // Without its end the line would be waited for, and then the worker would say that it leaves.
  const left = async (): Promise<unknown> => {
    while (proxy.count('/fleet/leave') === 0) await once(proxy, 'seen')
    return 'still talks'
  }
  assert.notEqual(await Promise.race([stopped, left()]), 'still talks')
  assert.equal((await ended).why, 'stopped')
})

test('K5: stop() does not wait for as long as a server says that it should be asked again later', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const busy: Trouble[] = Array.from({ length: 100 }, () => 'later')
  proxy.trouble('/fleet/leave', ...busy)
  const clock = new VirtualClock()
  const worker = new Worker({
    server: proxy.url,
    jobs: [step],
    concurrency: 1,
    kernel: { ...systemKernel, clock },
  })
  const ended = worker.run()
  await reach(
    async () => (await (await fetch(`${server.url}/fleet/summary`)).json()) as { waiting: number },
    ({ waiting }) => waiting === 1,
  )
  const stopped = worker.stop()
  while (proxy.count('/fleet/leave') === 0) await once(proxy, 'seen')
  await clock.settle()
  await clock.advance(3_000)
  await stopped
  assert.equal((await ended).why, 'stopped')
})

test('K8: units go on while a report waits for its answer, and the next report has all of them', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const shown = await create(server, { units: 11 })
  const allRun = Promise.withResolvers<void>()
  // The first lease has one unit, because the speed is not known. The first report of the second lease waits.
  proxy.trouble('/fleet/update', Promise.resolve(), allRun.promise)
  const units: number[] = []
  const counting = job({ name: 'step' }, ({ start, count }: CampaignUnits) => {
    if (units.push(start) === 11) allRun.resolve()
    return [count]
  })
  const reported: number[] = []
  const worker = new Worker({
    server: proxy.url,
    jobs: [counting],
    concurrency: 1,
    exitWhenIdle: true,
    onEvent: (event) => event.kind === 'reported' && reported.push(event.done),
  })
  assert.equal((await worker.run()).why, 'idle')
  const { done, total } = await shown()
  assert.deepEqual([done, total, units.length], [11, [11], 11])
  assert.deepEqual(reported, [1, 1, 10])
})

test('K8: a campaign that ends while a unit runs ends the unit', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const shown = await create(server, { units: 100 })
  const stopped = Promise.withResolvers<void>()
  proxy.trouble('/fleet/update', Promise.resolve(), stopped.promise)
  let aborted = 0
  const long = job({ name: 'step' }, async ({ start, count }: CampaignUnits, { signal }) => {
    if (start < 2) return [count]
    // The report of the unit before arrives after the end of the campaign.
    const { url } = server
    const { campaigns } = (await (await fetch(`${url}/campaigns`)).json()) as {
      campaigns: { id: string }[]
    }
    await fetch(`${url}/campaigns/${campaigns[0]!.id}/stop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    stopped.resolve()
    await once(signal, 'abort')
    aborted++
    throw signal.reason
  })
  const worker = new Worker({
    server: proxy.url,
    jobs: [long],
    concurrency: 1,
    exitWhenIdle: true,
  })
  assert.equal((await worker.run()).why, 'idle')
  assert.deepEqual([(await shown()).ended?.why, aborted], ['stopped', 1])
})

test('exitWhenIdle: a worker with a place free asks for more work from time to time, not all the time', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  await create(server, { beat_ms: 100, stale_ms: 60_000, idle_beats: 0 })
  const beaten = Promise.withResolvers<void>()
  const waiting = job({ name: 'step' }, async ({ count }: CampaignUnits) => {
    await beaten.promise
    return [count]
  })
  const worker = new Worker({
    server: proxy.url,
    jobs: [waiting],
    concurrency: 2,
    exitWhenIdle: true,
  })
  const ended = worker.run()
  while (proxy.count('/fleet/beat') < 20) await once(proxy, 'seen')
  // About two seconds: at most a claim for each, beside the first ones.
  const claims = proxy.count('/fleet/claim')
  beaten.resolve()
  assert.equal((await ended).why, 'idle')
  assert.ok(claims < 20, `${claims} claims`)
})

test('exitWhenIdle: a server that is busy is asked again, because there may be work', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const shown = await create(server, {})
  proxy.trouble('/fleet/claim', {
    empty: { reason: 'busy', message: 'the server is not sure of its shards', retry_after_ms: 1 },
  })
  const events: WorkerEvent[] = []
  const worker = new Worker({
    server: proxy.url,
    jobs: [step],
    concurrency: 1,
    exitWhenIdle: true,
    onEvent: (event) => events.push(event),
  })
  assert.equal((await worker.run()).why, 'idle')
  assert.equal((await shown()).done, 1)
  assert.ok(events.some((event) => event.kind === 'idle' && event.reason === 'busy'))
})

test('K2: a worker without a free place has a deadline for its wait', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await create(server, {})
  const { clock } = systemKernel
  const started = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const waiting = job({ name: 'step' }, async ({ count }: CampaignUnits) => {
    started.resolve()
    await release.promise
    return [count]
  })
  const looked = Promise.withResolvers<void>()
  const worker = new Worker({
    server: server.url,
    jobs: [waiting],
    concurrency: 1,
    exitWhenIdle: true,
    kernel: {
      ...systemKernel,
      clock: {
        now: () => clock.now(),
        wallTime: () => clock.wallTime(),
        afterIo: (callback) => clock.afterIo(callback),
        setTimer: (delay, callback) => {
          if (delay === 30_000) looked.resolve()
          return clock.setTimer(delay, callback)
        },
      },
    },
  })
  const ended = worker.run()
  await started.promise
  await looked.promise
  release.resolve()
  assert.equal((await ended).why, 'idle')
})
