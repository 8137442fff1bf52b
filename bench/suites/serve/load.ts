/** Clients of a server: this many requests at a time for a while, beside a health check 50 times a second. */
import { Agent, request } from 'node:http'
import { Latency } from '../fleet/latency.ts'

export interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface LoadOptions {
  readonly url: string
  /** How many run at a time. */
  readonly concurrency: number
  /** Milliseconds, or until this many were answered. */
  readonly for: { readonly ms: number } | { readonly requests: number }
  readonly ask: (n: number) => Ask
  /** Statuses that are as they should be. */
  readonly expected: readonly number[]
}

export interface LoadReport {
  readonly answered: number
  /** Answers that were not as they should be, by status. */
  readonly others: Readonly<Record<string, number>>
  readonly ms: number
  readonly latency: Latency
  /** Milliseconds of the health checks. */
  readonly health: Latency
  /** One answer in a hundred with its text: whether the work was done is checked after the load, which it must not slow down. */
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly n: number
  readonly text: string
}

/** Milliseconds between two health checks. */
const healthPause = 20
const sampleEvery = 100
const mostSamples = 50

export async function load(options: LoadOptions): Promise<LoadReport> {
  const { concurrency, ask, expected } = options
  const { hostname, port } = new URL(options.url)
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const ownAgent = new Agent({ keepAlive: true, maxSockets: 4 })
  const latency = new Latency()
  const health = new Latency()
  const others: Record<string, number> = {}
  const samples: Sample[] = []
  const begin = performance.now()
  let next = 0
  let answered = 0
  const isOver = (): boolean =>
    'ms' in options.for ? performance.now() - begin >= options.for.ms : next >= options.for.requests
  const call = (
    { method, path, body }: Ask,
    by: Agent,
    onText?: (text: string) => void,
  ): Promise<number> =>
    new Promise((resolve) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const sent = request({ hostname, port, path, method, headers, agent: by }, (response) => {
        let text = ''
        if (onText === undefined) response.resume()
        else response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.once('end', () => {
          onText?.(text)
          resolve(response.statusCode ?? 0)
        })
        response.once('error', () => resolve(-1))
      })
      sent.once('error', () => resolve(-1))
      sent.end(body)
    })
  const client = async (): Promise<void> => {
    while (!isOver()) {
      const n = next++
      const since = performance.now()
      const isSample = n % sampleEvery === 0 && samples.length < mostSamples
      const status = await call(
        ask(n),
        agent,
        isSample ? (text) => samples.push({ n, text }) : undefined,
      )
      latency.add(performance.now() - since)
      if (expected.includes(status)) answered++
      else others[status] = (others[status] ?? 0) + 1
    }
  }
  // A server that hangs delays no check: each is sent by the timer.
  const checks = new Set<Promise<void>>()
  const timer = setInterval(() => {
    const since = performance.now()
    const check = call({ method: 'GET', path: '/healthz' }, ownAgent).then((status) => {
      checks.delete(check)
      if (status === 200) health.add(performance.now() - since)
      else health.errors++
    })
    checks.add(check)
  }, healthPause)
  await Promise.all(Array.from({ length: concurrency }, client))
  const ms = performance.now() - begin
  clearInterval(timer)
  await Promise.all(checks)
  agent.destroy()
  ownAgent.destroy()
  return { answered, others, ms, latency, health, samples }
}
