/** Requests by route and status, their time in fixed buckets, and answers whose client left before their end. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '@heddle/core/lowlevel'
import { Buckets } from './buckets.ts'
import { counter, type MetricFamily } from './prometheus.ts'

/** Called when a client has left before the end of its answer, `ms` after its request began. */
type OnBroken = (request: FastifyRequest, reply: FastifyReply, ms: number) => void

/** Labels are routes of the table and statuses: their number does not grow with what clients send. */
export class RouteMetrics {
  readonly #requests = new Map<string, Map<number, number>>()
  readonly #seconds = new Map<string, Buckets>()
  readonly #broken = new Map<string, number>()

  /** Counts every answer of an application. */
  follow(app: FastifyInstance, clock: Clock, onBroken?: OnBroken): void {
    app.addHook('onRequest', (request, reply, done) => {
      const since = clock.now()
      const { config } = request.routeOptions
      const route =
        config.contract === undefined ? 'none' : `${config.contract.method} ${config.contract.path}`
      reply.raw.once('close', () => {
        const ms = clock.now() - since
        if (!reply.raw.writableFinished) {
          add(this.#broken, route)
          onBroken?.(request, reply, ms)
        }
        const byStatus = this.#requests.get(route) ?? new Map<number, number>()
        this.#requests.set(route, byStatus)
        // A client that left before its answer has none.
        add(byStatus, reply.raw.headersSent ? reply.statusCode : 499)
        const buckets = this.#seconds.get(route) ?? new Buckets()
        this.#seconds.set(route, buckets)
        buckets.add(ms / 1_000)
      })
      done()
    })
  }

  metrics(): readonly MetricFamily[] {
    return [
      counter(
        'heddle_http_requests_total',
        'Requests by route and status; 499 for clients that left before their answer.',
        Array.from(this.#requests, ([route, byStatus]) =>
          Array.from(byStatus, ([status, value]) => ({
            labels: { route, status: String(status) },
            value,
          })),
        ).flat(),
      ),
      {
        name: 'heddle_http_request_seconds',
        help: 'From the head of a request to the end of its answer.',
        type: 'histogram',
        samples: Array.from(this.#seconds, ([route, buckets]) => buckets.samples({ route })).flat(),
      },
      counter(
        'heddle_http_broken_pipes_total',
        'Responses whose client disconnected before their end, by route.',
        Array.from(this.#broken, ([route, value]) => ({ labels: { route }, value })),
      ),
    ]
  }
}

function add<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
