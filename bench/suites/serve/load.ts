/** Clients of a server: so many requests at a time for a while, beside a health check 50 times a second. */
import { Agent, request } from 'node:http'
import { Latency } from '../fleet/latency.ts'

export interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface LoadOptions {
  readonly url: string
  /** At a time. */
  readonly concurrency: number
  /** Milliseconds, or until so many were answered. */
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
}

/** Milliseconds between two health checks. */
const healthPause = 20

export async function load(options: LoadOptions): Promise<LoadReport> {
  const { concurrency, ask, expected } = options
  const { hostname, port } = new URL(options.url)
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const ownAgent = new Agent({ keepAlive: true, maxSockets: 4 })
  const latency = new Latency()
  const health = new Latency()
  const others: Record<string, number> = {}
  const begin = performance.now()
  let next = 0
  let answered = 0
  const isOver = (): boolean =>
    'ms' in options.for ? performance.now() - begin >= options.for.ms : next >= options.for.requests
  const call = ({ method, path, body }: Ask, by: Agent): Promise<number> =>
    new Promise((resolve) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const sent = request({ hostname, port, path, method, headers, agent: by }, (response) => {
        response.resume()
        response.once('end', () => resolve(response.statusCode ?? 0))
        response.once('error', () => resolve(-1))
      })
      sent.once('error', () => resolve(-1))
      sent.end(body)
    })
  const client = async (): Promise<void> => {
    while (!isOver()) {
      const n = next++
      const since = performance.now()
      const status = await call(ask(n), agent)
      latency.add(performance.now() - since)
      if (expected.includes(status)) answered++
      else others[status] = (others[status] ?? 0) + 1
    }
  }
  // From the time at which a check was due: a server that hangs delays none of them.
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
  return { answered, others, ms, latency, health }
}
