/** Requests by route and status, their time in fixed buckets, and answers whose client left before their end. */
import type { FastifyInstance } from 'fastify'
import type { Clock } from '@heddle/core/lowlevel'
import { counter, type MetricFamily, type Sample } from './prometheus.ts'

/** Upper ends in seconds; fixed, so that figures of several servers can be added up. */
const bucketEnds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

class Buckets {
  readonly #counts = bucketEnds.map(() => 0)
  #count = 0
  #sum = 0

  add(seconds: number): void {
    this.#count++
    this.#sum += seconds
    const at = bucketEnds.findIndex((end) => seconds <= end)
    if (at >= 0) this.#counts[at]!++
  }

  samples(labels: Readonly<Record<string, string>>): Sample[] {
    let below = 0
    return [
      ...bucketEnds.map((end, at) => ({
        suffix: '_bucket',
        labels: { ...labels, le: String(end) },
        value: (below += this.#counts[at]!),
      })),
      { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: this.#count },
      { suffix: '_sum', labels, value: this.#sum },
      { suffix: '_count', labels, value: this.#count },
    ]
  }
}

/** Labels are routes of the table and statuses: their number does not grow with what clients send. */
export class RouteMetrics {
  readonly #requests = new Map<string, Map<number, number>>()
  readonly #seconds = new Map<string, Buckets>()
  readonly #broken = new Map<string, number>()

  /** Counts every answer of an application. */
  follow(app: FastifyInstance, clock: Clock): void {
    app.addHook('onRequest', (request, reply, done) => {
      const since = clock.now()
      const { config } = request.routeOptions
      const route =
        config.contract === undefined ? 'none' : `${config.contract.method} ${config.contract.path}`
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) add(this.#broken, route)
        const byStatus = this.#requests.get(route) ?? new Map<number, number>()
        this.#requests.set(route, byStatus)
        // A client that left before its answer has none.
        add(byStatus, reply.raw.headersSent ? reply.statusCode : 499)
        const buckets = this.#seconds.get(route) ?? new Buckets()
        this.#seconds.set(route, buckets)
        buckets.add((clock.now() - since) / 1_000)
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
        'Answers whose client left before their end, by route.',
        Array.from(this.#broken, ([route, value]) => ({ labels: { route }, value })),
      ),
    ]
  }
}

function add<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
