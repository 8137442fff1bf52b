/** Heddle in the rows about permits: keys, a pipeline, a server. */
import { Graph, Scheduler, job, run } from '@heddle/core'
import { startServer } from '@heddle/server'
import { parse, spin } from './capacity-jobs.ts'

/**
 * Describes `nodes` empty nodes with this many keys, one at a time for each, 64 at once. The function that it
 * returns runs them and answers with the milliseconds that took.
 */
export function describeKeys(nodes: number, keys: number): () => Promise<number> {
  const scheduler = new Scheduler({ concurrency: 64, resources: { tenant: { each: 1 } } })
  for (let i = 0; i < nodes; i++) scheduler.add(`n${i}`, { needs: { tenant: `t${i % keys}` } })
  return () => time(scheduler)
}

/**
 * Like the one above, with two scarce resources: a third of the nodes needs `db`, a third `api`, a
 * third both.
 */
export function describeContended(nodes: number): () => Promise<number> {
  const resources = { db: 2, api: 2, tenant: { each: 1 } }
  const scheduler = new Scheduler({ concurrency: 64, resources })
  const kinds = [{ db: 1 }, { api: 1 }, { db: 1, api: 1 }]
  for (let i = 0; i < nodes; i++) {
    scheduler.add(`n${i}`, { needs: { ...kinds[i % 3], tenant: `t${i}` } })
  }
  // The jobs have unequal lengths, so that `db` and `api` are not released together.
  return () =>
    time(scheduler, async (index) => {
      for (let turns = index % 5; turns >= 0; turns--) await new Promise(setImmediate)
    })
}

async function time(
  scheduler: Scheduler,
  work?: (index: number) => Promise<void>,
): Promise<number> {
  let ran = 0
  const started = performance.now()
  const result = await scheduler.run(async () => work?.(ran++))
  if (!result.ok) throw new Error('nodes failed')
  return performance.now() - started
}

export interface Drained {
  readonly firstStoreMs: number
  readonly totalMs: number
}

const fetchMs = 20
const storeMs = 2

/** `rows` × (fetch on the loop → parse in a thread → store on the loop). */
export async function runPipeline(rows: number): Promise<Drained> {
  const load = job({ name: 'fetch' }, (row: number) => later(fetchMs, row))
  let firstStoreMs: number | undefined
  let started = 0
  const store = job({ name: 'store' }, async (row: number) => {
    await later(storeMs, row)
    firstStoreMs ??= performance.now() - started
  })
  const graph = new Graph()
  for (let row = 0; row < rows; row++) {
    const fetched = graph.add(`fetch ${row}`, load, { input: row })
    const parsed = graph.add(`parse ${row}`, parse, {
      after: [fetched],
      input: (of) => of(fetched),
    })
    graph.add(`store ${row}`, store, { after: [parsed], input: (of) => of(parsed) })
  }
  started = performance.now()
  const result = await run(graph, { concurrency: { loop: 16, thread: 2 } })
  if (!result.ok) throw new Error('rows failed')
  return { firstStoreMs: firstStoreMs!, totalMs: performance.now() - started }
}

export interface Served {
  /** Eight waits of 500 ms on the loop. */
  readonly waitsMs: number
  /** Two processor-bound jobs in threads, together. */
  readonly pairMs: number
  /** Milliseconds of one call of priority 0 while three ordinary ones spin. */
  readonly urgentMs: number
}

/**
 * Starts a real server over HTTP with its own limits and two threads. The function that it returns measures
 * and stops it.
 */
export async function serve(): Promise<() => Promise<Served>> {
  const wait = job({ name: 'wait' }, (n: number) => later(500, n))
  const server = await startServer({ jobs: [wait, spin], port: 0, threads: 2 })
  const post = async (path: string, input: unknown): Promise<void> => {
    const answer = await fetch(`${server.url}/jobs/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  // Starts all three threads and opens connections: an idle thread would be used before another is started.
  const warming = [1, 2].map((n) => post('spin?wait=60000', { ms: 1_000, n }))
  await later(100, undefined)
  await post('spin?wait=60000&priority=0', { ms: 20, n: 0 })
  await Promise.all(warming)
  return async () => {
    await using _stopped = server
    const waitsMs = await timed(() =>
      Promise.all(Array.from({ length: 8 }, (_, n) => post('wait?wait=60000', n))),
    )
    const pairMs = await timed(() =>
      Promise.all([3, 4].map((n) => post('spin?wait=60000', { ms: 300, n }))),
    )
    const ordinary = [5, 6, 7].map((n) => post('spin?wait=60000', { ms: 500, n }))
    await later(50, undefined)
    const urgentMs = await timed(() => post('spin?wait=60000&priority=0', { ms: 1, n: 8 }))
    await Promise.all(ordinary)
    return { waitsMs, pairMs, urgentMs }
  }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await act()
  return performance.now() - started
}

function later<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value))
}
