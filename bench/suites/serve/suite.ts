/**
 * The service beside common hand-written servers. Rates are by CPU second of the server, all threads: the generator and
 * other programs on the machine take time from all, not CPU.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender, Entrant, ExtraFigure, Figures, Row, Suite } from '../../harness/row.ts'
import { fastApiNeed } from '../../servers/fastapi.ts'
import { workFolder } from '../../servers/work-folder.ts'
import type { MeasuredServer } from './measured-server.ts'
import type { Ask, LoadOptions, Sample } from './load.ts'
import { large, work } from './work.ts'

type Start = () => Promise<MeasuredServer>

async function script(name: string, ...args: readonly string[]): Promise<MeasuredServer> {
  const { startServerProcess } = await import('./measured-server.ts')
  return startServerProcess(name, ...args)
}

/** The default of `heddle serve`: a file. */
const onSqlite: Start = async () =>
  script('heddle.ts', `sqlite:${join(await workFolder(), 'serve.db')}`)
const inMemory: Start = () => script('heddle.ts', 'memory')
const piscina: Start = () => script('fastify-piscina.ts')
const onLoop: Start = () => script('fastify-loop.ts')
const fastApi: Start = async () => (await import('./python-server.ts')).startFastApi()

/** Starts a server, plays a load and gives the figures. */
type Play = (server: MeasuredServer, size: number) => Promise<Figures>

function entrant(role: Entrant['role'], start: Start, play: Play, needs?: string): Entrant {
  return {
    role,
    ...(needs !== undefined && { needs: [needs] }),
    load: (): Promise<Contender> =>
      Promise.resolve({
        prepare: async (size) => {
          const server = await start()
          return async () => {
            const figures = await play(server, size)
            await server[Symbol.asyncDispose]()
            return () => figures
          }
        },
      }),
  }
}

const outside = { warmUps: 0, warmUpSize: 1, rounds: 1, children: 3, isOutside: true } as const
const round1 = (n: number): number => Math.round(n * 10) / 10

/** Requests before each load, to warm up. */
const warmUp = { ms: 1_000 } as const
/** Where the inputs of the warm-up begin: no load gets so far, so that none is computed before. */
const warmUpInputs = 100_000_000

interface Loaded {
  readonly figures: Figures
  readonly cpuSeconds: number
}

/** The expected answer to a request. */
type ResultOf = (n: number) => unknown

interface MeasuredLoad extends Omit<LoadOptions, 'url' | 'concurrency'> {
  readonly resultOf: ResultOf
  /** Work that was acknowledged and not answered: the CPU of it counts too. Gives the results of the sampled answers. */
  readonly settle?: (samples: readonly Sample[]) => Promise<readonly Sample[]>
}

/** The common figures of a load. @throws when an answer was not as it should be. */
async function measured(
  server: MeasuredServer,
  { resultOf, settle, ...options }: MeasuredLoad,
): Promise<Loaded> {
  const { load } = await import('./load.ts')
  // The default preset refuses above that.
  const all = { url: server.url, concurrency: 24, ...options }
  // Every entrant compiles its code and starts its threads before it is measured.
  await load({ ...all, for: warmUp, ask: (n) => options.ask(n + warmUpInputs) })
  const before = await server.usage()
  const report = await load(all)
  const samples = (await settle?.(report.samples)) ?? report.samples
  const after = await server.usage()
  if (Object.keys(report.others).length > 0)
    throw new Error(`answers that were not expected: ${JSON.stringify(report.others)}`)
  checkResults(samples, resultOf)
  const cpuSeconds = (after.cpuUs - before.cpuUs) / 1e6
  const { p50, p99, max, errors } = report.health.figures()
  const own = report.latency.figures()
  return {
    cpuSeconds,
    figures: {
      value: report.answered / cpuSeconds,
      also: {
        'health p99': p99,
        'by the clock': report.answered / (report.ms / 1_000),
        memory: after.rss / 2 ** 20,
      },
      observed: {
        answers: report.answered,
        'latency of answers': `p50 ${own.p50} ms, p99 ${own.p99} ms, max ${own.max} ms`,
        health: `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms, ${errors} errors`,
        'CPU of the server': `${round1(cpuSeconds)} s in ${round1(report.ms / 1_000)} s`,
      },
    },
  }
}

/** @throws when the work of a sampled request was not done. */
function checkResults(samples: readonly Sample[], resultOf: ResultOf): void {
  if (samples.length === 0) throw new Error('no answer was sampled')
  for (const { n, text } of samples) {
    const { result } = JSON.parse(text) as { result?: unknown }
    if (result !== resultOf(n))
      throw new Error(`request ${n} has a wrong result: ${text.slice(0, 200)}`)
  }
}

const loadFigures: readonly ExtraFigure[] = [
  { name: 'health p99', measure: 'latency', unit: 'ms' },
  { name: 'by the clock', measure: 'rate', unit: '/s' },
  { name: 'memory', measure: 'latency', unit: 'MB' },
]

// ---- 5 ms jobs

const computeFor: Play = async (server, ms) => {
  const path = '/jobs/compute?wait=60000'
  const ask = (n: number): Ask => ({ method: 'POST', path, body: String(n) })
  return (await measured(server, { for: { ms }, ask, expected: [200], resultOf: work })).figures
}

const jobs: Row = {
  name: '5 ms jobs',
  measure: 'rate',
  unit: 'jobs/CPU s',
  size: 10_000,
  quickSize: 500,
  ...outside,
  also: loadFigures,
  note: '24 at a time, each with an input of its own, for 10 s; default options; health at 50 Hz',
  entrants: {
    heddle: entrant('ours', onSqlite, computeFor),
    'heddle in memory': entrant('variant', inMemory, computeFor),
    'fastify + piscina': entrant('peer', piscina, computeFor),
    'fastify on the loop': entrant('peer', onLoop, computeFor),
    fastapi: entrant('peer', fastApi, computeFor, fastApiNeed),
  },
}

// ---- a cached result

const cachedOf =
  (find: (server: MeasuredServer) => Promise<string>): Play =>
  async (server, ms) => {
    const path = await find(server)
    const ask = (): Ask => ({ method: 'GET', path })
    const resultOf = (): number => 1
    return (await measured(server, { for: { ms }, ask, expected: [200], resultOf })).figures
  }

/** Computes a result and gives its address. */
async function addressOfResult({ url }: MeasuredServer, job: string): Promise<string> {
  const response = await fetch(`${url}/jobs/${job}?wait=60000`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '1',
  })
  const { handle } = (await response.json()) as { handle: string }
  return `/results/${handle}/0`
}

const echoed = cachedOf((server) => addressOfResult(server, 'echo'))
const plain = cachedOf(() => Promise.resolve('/cached'))

const cached: Row = {
  name: 'cached result',
  measure: 'rate',
  unit: 'requests/CPU s',
  size: 10_000,
  quickSize: 500,
  ...outside,
  also: loadFigures,
  note: 'GET of a small result that is there, 24 at a time for 10 s',
  entrants: {
    heddle: entrant('ours', onSqlite, echoed),
    'heddle in memory': entrant('variant', inMemory, echoed),
    fastify: entrant('peer', onLoop, plain),
  },
}

// ---- one large result to many readers

const readersOf =
  (find: (server: MeasuredServer) => Promise<string>): Play =>
  async (server, readers) => {
    const { load } = await import('./load.ts')
    const path = await find(server)
    const before = await server.usage()
    const ask = (): Ask => ({ method: 'GET', path })
    const concurrency = readers
    const options = { for: { requests: readers }, ask, expected: [200] }
    const report = await load({ url: server.url, concurrency, ...options })
    const after = await server.usage()
    if (report.answered !== readers) throw new Error(JSON.stringify(report.others))
    checkResults(report.samples, large)
    const { p99, max } = report.health.figures()
    return {
      value: report.ms,
      also: { CPU: (after.cpuUs - before.cpuUs) / 1_000, 'longest health check': max },
      observed: { health: `p99 ${p99} ms, max ${max} ms` },
    }
  }

const readers: Row = {
  name: '1 MB to 100 readers',
  measure: 'latency',
  unit: 'ms',
  size: 100,
  quickSize: 10,
  ...outside,
  also: [
    { name: 'CPU', measure: 'latency', unit: 'ms' },
    { name: 'longest health check', measure: 'latency', unit: 'ms' },
  ],
  note: 'all at once, until the last one has everything',
  entrants: {
    heddle: entrant(
      'ours',
      onSqlite,
      readersOf((server) => addressOfResult(server, 'page')),
    ),
    fastify: entrant(
      'peer',
      onLoop,
      readersOf(() => Promise.resolve('/page')),
    ),
  },
}

// ---- acknowledged jobs

const acknowledgeFor: Play = async (server, ms) => {
  const ask = (n: number): Ask => ({ method: 'POST', path: '/jobs/echo', body: String(n) })
  const settle = async (samples: readonly Sample[]): Promise<Sample[]> => {
    await untilNothingIsOpen(server)
    return Promise.all(
      samples.map(async ({ n, text }) => {
        const { handle } = JSON.parse(text) as { handle: string }
        const response = await fetch(`${server.url}/results/${handle}/0`)
        return { n, text: await response.text() }
      }),
    )
  }
  const resultOf = (n: number): number => n
  return (await measured(server, { for: { ms }, ask, expected: [202], resultOf, settle })).figures
}

async function untilNothingIsOpen({ url }: MeasuredServer): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/computations?limit=1`)
    const { total } = (await response.json()) as { total: number }
    if (total === 0) return
    await sleep(20)
  }
}

const acknowledged: Row = {
  name: 'acknowledged jobs',
  measure: 'rate',
  unit: 'jobs/CPU s',
  size: 10_000,
  quickSize: 500,
  ...outside,
  also: loadFigures,
  note: 'POST without wait, 24 at a time for 10 s: each is in the store before its 202; until all have ended',
  entrants: {
    heddle: entrant('ours', onSqlite, acknowledgeFor),
    'heddle in memory': entrant('variant', inMemory, acknowledgeFor),
  },
}

// ---- memory over a million requests

/** Results, submits that wait and acknowledgements in turns. The figure is how much memory grew after a tenth of them. */
const manyRequests: Play = async (server, requests) => {
  const { load } = await import('./load.ts')
  const cachedPath = await addressOfResult(server, 'echo')
  const asks: readonly ((n: number) => Ask)[] = [
    () => ({ method: 'GET', path: cachedPath }),
    (n) => ({ method: 'POST', path: '/jobs/echo?wait=60000', body: String(n) }),
    (n) => ({ method: 'POST', path: '/jobs/echo', body: String(n) }),
  ]
  const ask = (n: number): Ask => asks[n % asks.length]!(n)
  const part = { url: server.url, concurrency: 24, ask, expected: [200, 202] }
  const tenth = Math.ceil(requests / 10)
  await load({ ...part, for: { requests: tenth } })
  const warm = await server.usage()
  const rest = requests - tenth
  const report = await load({ ...part, ask: (n) => ask(n + tenth), for: { requests: rest } })
  const { rss } = await server.usage()
  if (report.answered !== rest) throw new Error(JSON.stringify(report.others))
  const mb = (bytes: number): number => Math.round(bytes / 2 ** 20)
  const { p50, p99, max } = report.health.figures()
  return {
    value: (rss - warm.rss) / 2 ** 20,
    also: { 'memory at the end': rss / 2 ** 20, 'health p50': p50 },
    observed: {
      memory: `${mb(warm.rss)} MB after ${tenth} requests, ${mb(rss)} MB at the end`,
      health: `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`,
    },
  }
}

const million: Row = {
  name: 'a million requests',
  measure: 'latency',
  unit: 'MB grown',
  size: 1_000_000,
  quickSize: 1_000,
  ...outside,
  children: 1,
  limitMs: 3_000_000,
  also: [
    { name: 'memory at the end', measure: 'latency', unit: 'MB' },
    { name: 'health p50', measure: 'latency', unit: 'ms' },
  ],
  note: 'a third each: cached results, submits that wait, acknowledgements; growth from a tenth of them to the end',
  entrants: { heddle: entrant('ours', onSqlite, manyRequests) },
}

export const suite: Suite = {
  name: 'serve',
  summary: 'the service beside Fastify with piscina, Fastify alone and FastAPI',
  rows: [jobs, cached, readers, acknowledged, million],
  // Loaded by the bench alone.
  surround: async (wanted, options) => {
    const { surround } = await import('./python-server.ts')
    return surround(wanted, options)
  },
}
