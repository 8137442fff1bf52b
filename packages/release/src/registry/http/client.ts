/**
 * Requests over few connections, each with an end.
 *
 * ```
 *   send() ─▶ waits for a connection ─▶ waits for its turn ─▶ exchange ─▶ answer
 *                    │                        │                  │
 *                    └── signal, deadline ────┴──────────────────┴─▶ HDL_CANCELLED, HDL_TIMEOUT
 *                                                 no progress, cut ─▶ HDL_REGISTRY_UNAVAILABLE
 * ```
 *
 *  HC1  Never more than `connections` sockets to an origin, however many ask.
 *  HC2  A request waits for its turn *with* its connection: a request let through before a refusal that
 *       still waited for a connection would start in the pause otherwise.
 *  HC3  An answer larger than `maxBytes` is not read to its end.
 *  HC4  One call is one request. `requestWithRetry` sends more.
 *
 * Known limits: sockets to a proxy are counted by the requests that have one. HTTP/1.1 only: registries limit requests
 * and not connections, and one stalled HTTP/2 connection would stall all polls.
 */
import { HeddleError, isError } from '@heddle/core'
import {
  cancelled,
  describe,
  type Kernel,
  Patience,
  Semaphore,
  systemKernel,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import { Pool } from 'undici'
import { retryAfterOf } from './backoff.ts'
import { Exchange } from './exchange.ts'
import { AdaptiveLimiter, type LimiterStats } from './limiter.ts'
import { actionOf, isRead, type HttpAnswer, type HttpRequest } from './request.ts'
import { openConnections, type Connections, type Transport } from './transport.ts'

export interface HttpClientOptions {
  /** Sockets to one origin, at most. Default 10. */
  readonly connections?: number
  /** Requests that wait for one of them, at most. Default 10,000. */
  readonly maxWaiting?: number
  /** How an origin is reached. Directly, with the public authorities, when absent. */
  readonly transportFor?: (origin: string) => Transport
  readonly kernel?: Kernel
}

export interface OriginStats {
  /** Open sockets. */
  readonly sockets: number
  /** Requests that have a connection. */
  readonly inFlight: number
  /** Requests that wait for one. */
  readonly waiting: number
  readonly pace: LimiterStats
}

interface OriginConnections {
  readonly pool: Connections
  readonly permits: Semaphore
  readonly limiter: AdaptiveLimiter
}

/** However slowly it moves, an exchange ends. */
const longestExchange = 600_000
const mostRedirects = 5
const writePriority = 2
const pollPriority = 5

/**
 * One pool of connections for each origin, shared by all requests of a release.
 *
 * @example
 * await using http = new HttpClient({ connections: 4 })
 * const answer = await http.send({ method: 'GET', url: 'http://127.0.0.1:4873/left-pad' })
 */
export class HttpClient {
  readonly kernel: Kernel
  readonly #connections: number
  readonly #maxWaiting: number
  readonly #transportFor: (origin: string) => Transport
  readonly #origins = new Map<string, OriginConnections>()
  #isClosed = false

  constructor(options: HttpClientOptions = {}) {
    this.kernel = options.kernel ?? systemKernel
    this.#connections = options.connections ?? 10
    this.#maxWaiting = options.maxWaiting ?? 10_000
    this.#transportFor = options.transportFor ?? (() => ({}))
  }

  /**
   * Sends one request and reads its answer, whatever its status. Redirects of reads are followed,
   * without credentials when they lead to another origin.
   *
   * *Cancellation*: ends the exchange; the registry may have carried out the request.
   * *Fairness*: connections are given to writes before reads, with aging, else in order of arrival.
   * @throws `HDL_REGISTRY_UNAVAILABLE` for all that can happen to a connection; `HDL_CLOSED` after close().
   */
  async send(request: HttpRequest, wait: WaitOptions = {}): Promise<HttpAnswer> {
    const patience = new Patience(actionOf(request), this.kernel.clock, wait)
    let next = request
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#exchange(next, patience)
      const location = answer.headers['location']
      const isRedirect = answer.status >= 301 && answer.status <= 308 && location !== undefined
      if (!isRedirect || !isRead(request) || redirects === mostRedirects) return answer
      next = redirected(next, location, patience.what)
    }
  }

  /** Keyed by origin. */
  stats(): ReadonlyMap<string, OriginStats> {
    return new Map(
      Array.from(this.#origins, ([origin, { pool, permits, limiter }]) => {
        const { available, waiting } = permits.stats()
        const inFlight = this.#connections - available
        return [
          origin,
          {
            sockets: pool instanceof Pool ? pool.stats.connected : inFlight,
            inFlight,
            waiting,
            pace: limiter.stats(),
          },
        ]
      }),
    )
  }

  /**
   * Ends all connections; requests under way fail.
   *
   * *Cancellation*: none; it takes no longer than the sockets need to close.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    const origins = [...this.#origins.values()]
    this.#origins.clear()
    await Promise.all(origins.map(({ pool }) => pool.destroy()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #exchange(request: HttpRequest, patience: Patience): Promise<HttpAnswer> {
    const { origin } = new URL(request.url)
    const { pool, permits, limiter } = this.#origin(origin)
    // Writes go first: 500 polls may wait, and none of them is in a hurry.
    const priority = isRead(request) ? pollPriority : writePriority
    using _connection = await permits.acquire({ ...patience.options, priority })
    const turn = await limiter.pass(patience.what, patience.options)
    const limit = Math.min(patience.left, longestExchange)
    using exchange = new Exchange(this.kernel.clock, {
      signal: patience.signal,
      limit,
      stall: request.timeout ?? 30_000,
    })
    let answer: HttpAnswer
    try {
      answer = await exchange.run(pool, request)
    } catch (error) {
      throw this.#explain(error, exchange, request, patience)
    }
    if (answer.status === 429) {
      const { clock } = this.kernel
      limiter.refused(turn, retryAfterOf(answer.headers['retry-after'], clock.wallTime()))
    } else if (answer.status < 500) limiter.succeeded()
    return answer
  }

  #explain(
    error: unknown,
    exchange: Exchange,
    request: HttpRequest,
    patience: Patience,
  ): HeddleError {
    const { signal } = patience
    if (signal?.aborted) return cancelled(patience.what, signal.reason)
    if (patience.left <= 0) return patience.timeout()
    // Thrown by the body of the request: the file differs from the packed one.
    if (error instanceof HeddleError && !isError(error, 'HDL_TIMEOUT')) return error
    return new HeddleError(
      'HDL_REGISTRY_UNAVAILABLE',
      {
        registry: new URL(request.url).origin,
        action: patience.what,
        problem: exchange.problem ?? problemOf(error),
        outcome: isRead(request) || neverConnected.has(codeOf(error)) ? 'not-done' : 'unknown',
        tries: 1,
      },
      { cause: error },
    )
  }

  #origin(origin: string): OriginConnections {
    if (this.#isClosed) throw new HeddleError('HDL_CLOSED', { what: `The client of ${origin}` })
    let found = this.#origins.get(origin)
    if (found === undefined) {
      const { kernel } = this
      found = {
        pool: openConnections(origin, this.#connections, this.#transportFor(origin)),
        permits: new Semaphore({
          permits: this.#connections,
          maxWaiters: this.#maxWaiting,
          name: `connections to ${origin}`,
          kernel,
        }),
        limiter: new AdaptiveLimiter({ kernel, registry: origin }),
      }
      this.#origins.set(origin, found)
    }
    return found
  }
}

function redirected(request: HttpRequest, location: string, action: string): HttpRequest {
  const from = new URL(request.url)
  const to = URL.parse(location, from.href)
  if (to === null || !/^https?:$/.test(to.protocol)) {
    const problem = `it redirects to ${location.slice(0, 200)}, which is not an address of HTTP`
    const details = { registry: from.origin, action, problem, outcome: 'not-done' as const }
    throw new HeddleError('HDL_REGISTRY_UNAVAILABLE', { ...details, tries: 1 })
  }
  const { authorization, ...others } = request.headers ?? {}
  const keep = to.origin === from.origin && authorization !== undefined
  return { ...request, url: to.href, headers: keep ? { ...others, authorization } : others }
}

/** Errors that say that the request has not left this machine. */
const neverConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code
  if (typeof code === 'string') return code
  // Several addresses were tried: it never connected only if none of them did.
  if (error instanceof AggregateError && error.errors.length > 0) {
    const codes = new Set(error.errors.map(codeOf))
    if (codes.size === 1) return [...codes][0]!
    if ([...codes].every((each) => neverConnected.has(each))) return 'ECONNREFUSED'
  }
  return ''
}

function problemOf(error: unknown): string {
  const code = codeOf(error)
  const text = describe(error)
  return code === '' || text.includes(code) ? text : `${text} (${code})`
}
