/** Section 7: beats come from a thread of their own, and say whether the work moves on. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import { Worker, type CampaignUnits, type WorkerEvent } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'

/** Ten minutes of a lease with its usual times, 1 : 50. */
const scaled = { beat_ms: 2_400, stale_ms: 7_200, work: 12_000 }

async function create(url: string, body: object): Promise<string> {
  const response = await fetch(`${url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return ((await response.json()) as { id: string }).id
}

async function read<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T
}

/** In a process of its own: the loop of the test must not be the loop that is blocked. */
function startBlocking(url: string, ms: number, watchdog = ''): ReturnType<typeof spawn> {
  const script = fileURLToPath(new URL('./fixtures/blocking-worker.ts', import.meta.url))
  const args = ['--conditions=heddle-source', '--disable-warning=ExperimentalWarning', script]
  return spawn(process.execPath, [...args, url, String(ms), watchdog], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

test('K2: a job that keeps the loop busy for longer than the stale period keeps its lease', async () => {
  const { beat_ms, stale_ms, work } = scaled
  await using server = await startServer({ jobs, port: 0, fleet: { sweep: 500 } })
  const id = await create(server.url, {
    name: 'busy',
    job: 'block',
    units: 1,
    outcomes: ['done'],
    beat_ms,
    stale_ms,
  })
  const worker = startBlocking(server.url, work)
  const [code] = (await once(worker, 'exit')) as [number]
  assert.equal(code, 0)
  const campaign = await read<{ done: number; leases: number }>(`${server.url}/campaigns/${id}`)
  assert.deepEqual([campaign.done, campaign.leases], [1, 1])
  const { closed } = await read<{ closed: object }>(`${server.url}/fleet/summary`)
  assert.deepEqual(closed, { finished: 1 })
})

test('L8: a job that hangs loses its lease although its worker beats, and is stopped', async () => {
  await using server = await startServer({ jobs, port: 0, fleet: { sweep: 500 } })
  const id = await create(server.url, {
    name: 'hung',
    job: 'hang',
    units: 1,
    outcomes: ['done'],
    beat_ms: 200,
    stale_ms: 60_000,
    idle_beats: 3,
  })
  const ended = Promise.withResolvers<WorkerEvent>()
  const hang = job({ name: 'hang' }, (_: CampaignUnits, { signal }) => {
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    return promise
  })
  const worker = new Worker({
    server: server.url,
    jobs: [hang],
    concurrency: 1,
    onEvent: (event) => event.kind === 'ended' && ended.resolve(event),
  })
  const end = worker.run()
  assert.equal(((await ended.promise) as { outcome: string }).outcome, 'lost')
  const { closed } = await read<{ closed: Record<string, number> }>(`${server.url}/fleet/summary`)
  assert.ok((closed['no_progress'] ?? 0) >= 1)
  await worker.stop({ deadline: 0 })
  await end
  const campaign = await read<{ done: number; open: number }>(`${server.url}/campaigns/${id}`)
  assert.deepEqual([campaign.done, campaign.open], [0, 1])
})

test('K6 N4: a job that blocks the loop after its lease was lost is ended with its process', async () => {
  await using server = await startServer({ jobs, port: 0, fleet: { sweep: 500 } })
  await create(server.url, {
    name: 'stuck',
    job: 'block',
    units: 1,
    outcomes: ['done'],
    beat_ms: 200,
    stale_ms: 60_000,
    idle_beats: 3,
  })
  const worker = startBlocking(server.url, 3_600_000, '500')
  const [code, signal] = (await once(worker, 'exit')) as [number | null, string | null]
  assert.deepEqual([code, signal], [null, 'SIGKILL'])
})

test('K6 K7 N7: a job that blocks the loop after it was given up is ended with its process, although no lease is held', async () => {
  await using server = await startServer({ jobs, port: 0, fleet: { sweep: 500 } })
  await create(server.url, {
    name: 'late',
    job: 'block-late',
    units: 1,
    outcomes: ['done'],
    beat_ms: 200,
    stale_ms: 60_000,
    idle_beats: 3,
  })
  // The time of the watchdog is longer than the grace of a job whose lease was lost.
  const worker = startBlocking(server.url, 0, '4000')
  const [code, signal] = (await once(worker, 'exit')) as [number | null, string | null]
  assert.deepEqual([code, signal], [null, 'SIGKILL'])
})
