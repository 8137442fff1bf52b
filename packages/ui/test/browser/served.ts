/** A real server with its dashboard, whose jobs end when the test says so. */
import { bytes, Graph, job, type Job } from '@heddle/core'
import { startServer, type Server, type ServerLimits } from '@heddle/server'
import { buildUi } from '../../build/build.ts'
import { demoGraphs, forecast, report } from './demo.ts'

/** Opens once; jobs of a graph wait at it by name. */
export class Gates {
  readonly #open = new Set<string>()
  readonly #waiting = new Map<string, (() => void)[]>()
  #isOver = false

  /** Whatever is waited for, now and later. */
  openAll(): void {
    this.#isOver = true
    for (const name of this.#waiting.keys()) this.open(name)
  }

  isOpen(name: string): boolean {
    return this.#isOver || this.#open.has(name)
  }

  open(name: string): void {
    this.#open.add(name)
    for (const go of this.#waiting.get(name) ?? []) go()
    this.#waiting.delete(name)
  }

  /** Resolves when the gate is open; rejects when the attempt is cancelled. */
  async pass(name: string, signal: AbortSignal): Promise<void> {
    if (this.isOpen(name)) return
    await new Promise<void>((resolve, reject) => {
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve])
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }
}

export interface Served {
  readonly server: Server
  readonly gates: Gates
  readonly url: string
  start(graph: string, more?: object): Promise<string>
}

/** A name without a place to break it. */
export const longName = `<b>${'unbroken-'.repeat(26)}</b>`

/**
 * `diamond`: fetch → left, right → join. `shaky`: a node that fails twice. `wide`: 30 items in two steps. `asking`: waits
 * for the signal `approval`. `leaving`: leaves two files. `mended`: fails until its gate is open. `strange`: nothing of it fits
 * anywhere.
 */
function makeGraphs(gates: Gates): Record<string, (args: unknown) => Graph> {
  const step = job({ name: 'step' }, async (name: string, { signal, log }) => {
    log(`${name} <script>alert(1)</script> waits for its gate`)
    await gates.pass(name, signal)
    log(`${name} is through`)
    return { done: name }
  })
  const shaky = job({ name: 'shaky', retries: 1 }, async (_: string, { attempt }) => {
    throw new Error(`no luck in attempt ${attempt + 1}`)
  })
  const mended = job({ name: 'mended' }, async () => {
    if (!gates.isOpen('mended')) throw new Error('not yet mended')
    return 'mended'
  })
  const asks = job({ name: 'asks' }, async (_: string, ctx) => {
    const answer = await ctx.waitFor('approval')
    return { answer }
  })
  const leaves = job({ name: 'leaves' }, async (_: string, { artifact }) => {
    await artifact('report.csv', ['station,mean\n', 'Riga,7.1\n'])
    await artifact('plots/<b>one</b>.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>')
    return 2
  })
  const strange = job({ name: 'strange' }, async (_: string, { log }) => {
    log(`\u001B[31mred\u001B[0m, ${'long '.repeat(3_000)}, see https://example.org/x.`)
    throw new Error(`${longName} ${'does not fit. '.repeat(60)}`)
  })
  const quick = job({ name: 'quick' }, async (item: number) => item * 2)
  return {
    diamond: () => {
      const graph = new Graph()
      const fetch = graph.add('fetch', step, { input: 'fetch' })
      const left = graph.add('left', step, { after: [fetch], input: 'left' })
      const right = graph.add('right', step, { after: [fetch], input: 'right' })
      graph.add('join', step, { after: [left, right], input: 'join' })
      return graph
    },
    shaky: () => {
      const graph = new Graph()
      const first = graph.add('first', quick, { input: 1 })
      const broken = graph.add('broken', shaky, { after: [first], input: '' })
      graph.add('last', quick, { after: [broken], input: 2 })
      return graph
    },
    mended: () => {
      const graph = new Graph()
      graph.add('mend', mended, {})
      return graph
    },
    asking: () => {
      const graph = new Graph()
      const ask = graph.add('ask', asks, { input: '' })
      graph.add('ship', quick, { after: [ask], input: 4 })
      return graph
    },
    strange: () => {
      const graph = new Graph()
      const broken = graph.add(longName, strange, { input: '' })
      for (let i = 0; i < 40; i++)
        graph.add(`${longName} ${i}`, quick, { after: [broken], input: i })
      return graph
    },
    leaving: () => {
      const graph = new Graph()
      const made = graph.add('make', leaves, { input: '' })
      graph.add('read', quick, { after: [made], input: 1 })
      return graph
    },
    wide: () => {
      const graph = new Graph()
      const all = Array.from({ length: 30 }, (_, i) => {
        const one = graph.add(`load ${i}`, quick, { input: i })
        return graph.add(`turn ${i}`, quick, { after: [one], input: i })
      })
      graph.add('sum', quick, { after: all, input: 0 })
      return graph
    },
  }
}

const square = job({ name: 'square' }, (value: number) => value * value)

/** A line that rises and falls. */
const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 60"><path d="M6 48 30 30 54 36 78 12 114 24" fill="none" stroke="#3b5bdb" stroke-width="3"/></svg>'

/** A job without an input, which returns a picture. */
const draw = job({ name: 'draw' }, () => bytes(new TextEncoder().encode(svg), 'image/svg+xml'))

/** Fails, also when it is tried again. */
const overflow = job(
  { name: 'overflow', retries: 1, retryBaseDelay: 10 },
  (value: number, { log }) => {
    log(`tries to fit ${value}`)
    throw new RangeError(`${value} does not fit <b>here</b>`, { cause: new Error('of its size') })
  },
)

/** Ends when the gate is open that its input names. */
function holdAt(gates: Gates): Job<string, string> {
  return job({ name: 'hold' }, async (gate: string, { signal }) => {
    await gates.pass(gate, signal)
    return gate
  })
}

export interface ServedOptions {
  readonly store?: string
  readonly port?: number
  readonly gates?: Gates
  readonly inventory?: string
  readonly limits?: ServerLimits
}

export async function openServed({
  store = 'memory',
  port = 0,
  gates = new Gates(),
  inventory,
  limits = {},
}: ServedOptions = {}): Promise<Served & AsyncDisposable> {
  const graphs = { ...makeGraphs(gates), ...demoGraphs(gates) }
  const server = await startServer({
    jobs: { square, draw, overflow, hold: holdAt(gates), forecast, report, graphs },
    store,
    port,
    limits,
    ui: await buildUi(),
    ...(inventory !== undefined && { inventory }),
  })
  return {
    server,
    gates,
    url: server.url,
    async start(graph, more = {}) {
      const response = await fetch(`${server.url}/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ graph, title: `${graph}.ts`, ...more }),
      })
      const body = (await response.json()) as { run?: string }
      if (body.run === undefined) throw new Error(JSON.stringify(body))
      return body.run
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A campaign with a sequential test, for the job `match`. Returns its id. */
export async function startCampaign(url: string, more: object = {}): Promise<string> {
  const response = await fetch(`${url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'patch',
      job: 'match',
      version: '1',
      units: 40_000,
      batch: 10,
      rule: { kind: 'sprt', elo0: 0, elo1: 10 },
      outcomes: ['L', 'D', 'W'],
      ...more,
    }),
  })
  const body = (await response.json()) as { id?: string }
  if (body.id === undefined) throw new Error(JSON.stringify(body))
  return body.id
}
