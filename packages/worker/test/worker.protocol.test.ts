/** Section 7 of the specification of the fleet: the faults by which other fleets have lost work, with real worker processes and real sockets. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { job } from '@heddle/core'
import { startServer, type Server } from '@heddle/server'
import { reach } from '../../core/test/kernel/until.ts'
import { Worker } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'
import { BadProxy } from './support/bad-proxy.ts'

const script = fileURLToPath(new URL('./fixtures/work.ts', import.meta.url))

/** `fixtures/work.ts` in a process of its own; killed at the end of the scope if it still runs. */
function startWork(url: string): ChildProcess & Disposable {
  const args = ['--conditions=heddle-source', '--disable-warning=ExperimentalWarning', script, url]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  return Object.assign(child, {
    [Symbol.dispose]: () => {
      child.kill('SIGKILL')
    },
  })
}

interface Summary {
  readonly workers: number
  readonly offered: number
  readonly held: number
  readonly granted: number
  readonly waiting: number
  readonly closed: Readonly<Record<string, number>>
}

interface Campaign {
  readonly id: string
  readonly phase: string
  readonly done: number
  readonly open: number
  readonly leases: number
  readonly workers: number
}

async function get<T>({ url }: Server, route: string): Promise<T> {
  return (await (await fetch(url + route)).json()) as T
}

/** Asks until it is so. */
async function until<T>(server: Server, route: string, isSo: (body: T) => boolean): Promise<T> {
  return reach(() => get<T>(server, route), isSo)
}

async function create(server: Server, body: object): Promise<string> {
  const response = await fetch(`${server.url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return ((await response.json()) as Campaign).id
}

const limits = { loopGap: Infinity }
const match = { name: 'match', job: 'play', units: 3, outcomes: ['L', 'D', 'W'] }

test('delivery is not acquisition: jobs that a process was offered and did not accept go back at no cost, and are offered again', async () => {
  await using server = await startServer({ jobs, port: 0, limits, fleet: { offer: 500 } })
  await using proxy = await new BadProxy(server.url).start()
  proxy.trouble('/fleet/accept', 'silence')
  const id = await create(server, match)
  {
    using dying = startWork(proxy.url)
    // It has its offer, and dies before its accept arrives.
    while (!proxy.seen.includes('/fleet/accept silence')) await once(proxy, 'seen')
    assert.equal((await get<Summary>(server, '/fleet/summary')).offered, 1)
    const ended = once(dying, 'exit')
    dying.kill('SIGKILL')
    await ended
  }
  const back = await until<Summary>(server, '/fleet/summary', ({ offered }) => offered === 0)
  assert.deepEqual([back.granted, back.held, back.closed], [0, 0, { not_accepted: 1 }])
  const campaign = await get<Campaign>(server, `/campaigns/${id}`)
  assert.deepEqual([campaign.open, campaign.done, campaign.workers], [3, 0, 0])
  using _next = startWork(server.url)
  const done = await until<Campaign>(server, `/campaigns/${id}`, ({ phase }) => phase === 'ended')
  assert.equal(done.done, 3)
})

test('leaving is a message: a process that is stopped while its claim waits is gone at once, and its leases with it', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  using idle = startWork(server.url)
  await until<Summary>(server, '/fleet/summary', ({ waiting }) => waiting === 1)
  const ended = once(idle, 'exit')
  idle.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  // Before its claim would have ended: work that comes now is not offered to it.
  const { workers, waiting } = await get<Summary>(server, '/fleet/summary')
  assert.deepEqual([workers, waiting], [0, 0])
  const id = await create(server, match)
  const { open, leases } = await get<Campaign>(server, `/campaigns/${id}`)
  assert.deepEqual([open, leases], [3, 0])
})

/** Runs a unit until it is aborted. */
const stuck = job({ name: 'stuck' }, (_: unknown, { signal }) => {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
})

test('beats write no rows', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  await create(server, {
    ...match,
    job: 'stuck',
    units: 1,
    beat_ms: 100,
    stale_ms: 60_000,
    idle_beats: 0,
  })
  const started = Promise.withResolvers<void>()
  const worker = new Worker({
    server: proxy.url,
    jobs: [stuck],
    concurrency: 1,
    onEvent: ({ kind }) => kind === 'started' && started.resolve(),
  })
  const end = worker.run()
  await started.promise
  const before = await rowsOf(server)
  const beats = (): number => proxy.seen.filter((each) => each === '/fleet/beat passed on').length
  const enough = beats() + 20
  while (beats() < enough) await once(proxy, 'seen')
  assert.equal(await rowsOf(server), before)
  await worker.stop({ deadline: 0 })
  await end
})

async function rowsOf({ url }: Server): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^heddle_fleet_rows_total (\d+)$/m.exec(text)![1])
}

test('a campaign may have its own times: the server dictates the next beat, and the worker follows', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  await create(server, { ...match, job: 'stuck', units: 1, beat_ms: 500, stale_ms: 60_000 })
  const worker = new Worker({ server: proxy.url, jobs: [stuck], concurrency: 1 })
  const end = worker.run()
  while (!proxy.seen.includes('/fleet/beat passed on')) await once(proxy, 'seen')
  const beat = proxy.answers.get('/fleet/beat')!
  const { next_beat_ms: next } = JSON.parse(beat) as { next_beat_ms: number }
  assert.ok(next >= 450 && next <= 500, beat)
  await worker.stop({ deadline: 0 })
  await end
})

interface OfferedUnits {
  readonly campaign: string
  readonly start: number
  readonly size: number
}

/** What was offered through the proxy so far, and from now on. */
function offersOf(proxy: BadProxy): OfferedUnits[] {
  const offers: OfferedUnits[] = []
  let last: string | undefined
  proxy.on('seen', () => {
    const answer = proxy.answers.get('/fleet/claim')
    if (answer === undefined || answer === last) return
    last = answer
    const { offer } = JSON.parse(answer) as { offer?: { work: OfferedUnits } }
    if (offer !== undefined) offers.push(offer.work)
  })
  return offers
}

test('near the end a process gets a share of the remaining units, not all, while another one works', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const offers = offersOf(proxy)
  using _one = startWork(proxy.url)
  using _two = startWork(proxy.url)
  await until<Summary>(server, '/fleet/summary', ({ waiting }) => waiting === 2)
  // Both have a unit, and the report of one of them is on its way until the other one has its next lease.
  const next = Promise.withResolvers<void>()
  proxy.trouble('/fleet/update', next.promise)
  const id = await create(server, { ...match, units: 1_000 })
  while (offers.length < 3) await once(proxy, 'seen')
  const [first, second, third] = offers
  assert.deepEqual([first!.size, second!.size], [1, 1])
  assert.ok(third!.size > 1 && third!.size <= 499, `${third!.size} of 998 units`)
  next.resolve()
  const ended = await until<Campaign>(server, `/campaigns/${id}`, ({ phase }) => phase === 'ended')
  assert.equal(ended.done, 1_000)
})

test('a process goes to the campaign without a worker, and stays there while the shares are fair', async () => {
  await using server = await startServer({ jobs, port: 0, limits })
  await using proxy = await new BadProxy(server.url).start()
  const offers = offersOf(proxy)
  const slow = { job: 'slow', outcomes: ['done'], units: 12, lease_ms: 100 }
  const ids = [
    await create(server, { ...slow, name: 'one' }),
    await create(server, { ...slow, name: 'two' }),
  ]
  // The first one stays at work in its campaign: its report is on its way. So the second one goes to the other campaign.
  const done = Promise.withResolvers<void>()
  proxy.trouble('/fleet/update', done.promise)
  using _one = startWork(proxy.url)
  using _two = startWork(proxy.url)
  while (offers.length < 6) await once(proxy, 'seen')
  done.resolve()
  // A lease has one or two units.
  const [first, ...others] = offers.slice(0, 6).map(({ campaign }) => campaign)
  assert.deepEqual(
    [...new Set(others)],
    ids.filter((id) => id !== first),
    JSON.stringify(offers),
  )
  for (const id of ids) {
    await until<Campaign>(server, `/campaigns/${id}`, ({ phase }) => phase === 'ended')
  }
})

test('L4 L7: a process that stands still for longer than the stale period has lost its lease: its late report counts nothing, and it works on', async () => {
  await using server = await startServer({ jobs, port: 0, limits, fleet: { sweep: 200 } })
  await using proxy = await new BadProxy(server.url).start()
  using late = startWork(proxy.url)
  const sent = Promise.withResolvers<void>()
  proxy.trouble('/fleet/update', sent.promise)
  const kept = once(proxy, 'kept')
  const id = await create(server, { ...match, beat_ms: 200, stale_ms: 1_000, idle_beats: 0 })
  await kept
  // Simulates a machine that is suspended while its report is on its way.
  late.kill('SIGSTOP')
  await until<Summary>(server, '/fleet/summary', ({ closed }) => closed['stale'] === 1)
  sent.resolve()
  while (proxy.count('/fleet/update') === 0) await once(proxy, 'seen')
  assert.match(proxy.answers.get('/fleet/update')!, /lease_lost/)
  const lost = await get<Campaign>(server, `/campaigns/${id}`)
  assert.deepEqual([lost.done, lost.open], [0, 3])
  late.kill('SIGCONT')
  const ended = await until<Campaign>(server, `/campaigns/${id}`, ({ phase }) => phase === 'ended')
  assert.equal(ended.done, 3)
})
