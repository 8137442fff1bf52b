/** Whether the server is alive, whether it should be given work, and what it has done. */
import type { FastifyInstance } from 'fastify'
import type { DispatcherStats } from '@heddle/core/lowlevel'
import type { ServiceStats } from '../service/service.ts'
import type { ApiContext } from './context.ts'
import { prometheusText } from '../metrics/prometheus.ts'
import { serverMetrics } from '../metrics/server-metrics.ts'

/** Milliseconds for which a gap of the loop makes the server not ready. */
const gapMemory = 10_000

export function healthRoutes(app: FastifyInstance, context: ApiContext): void {
  const { service, drain, loop, pool, connections, arrivals } = context

  app.get('/healthz', () => {
    const { load, prepare, items, outcomes, works, requests, cache, unstored } = service.stats()
    const threads = pool.stats()
    const causes = [...notReady(context), ...stillRunning(context)]
    return {
      status: causes.length === 0 ? 'ok' : 'degraded',
      causes,
      state: drain.state,
      draining: drain.state !== 'accepting',
      load: { level: load.level, label: load.label, utilisation: load.utilisation },
      works,
      requests,
      queues: { prepare: prepare.queue, items: items.queue },
      outcomes,
      stopping: { prepare: prepare.stopping, items: items.stopping },
      unresponsive: { prepare: prepare.unresponsive, items: items.unresponsive },
      threads: {
        busy: threads.threads.filter(({ busy }) => busy).length,
        queued: threads.queued,
        crashed: threads.crashed,
      },
      connections: connections.stats(),
      bodies: arrivals.stats(),
      loop: { longest_gap_ms: loop.stats().longest, gaps: loop.stats().gaps },
      cache: { entries: cache.entries, bytes: cache.bytes, hits: cache.hits, misses: cache.misses },
      unstored,
    }
  })

  app.get('/readyz', (_, reply) => {
    const causes = [...notReady(context)]
    const draining = drain.state !== 'accepting'
    return reply
      .code(causes.length === 0 ? 200 : 503)
      .send({ ready: causes.length === 0, draining, causes })
  })

  app.get('/metrics', (_, reply) =>
    reply
      .type('text/plain; version=0.0.4; charset=utf-8')
      .send(prometheusText(serverMetrics(context))),
  )
}

/** Work whose callers were told holds its slot until it stops or its grace is over. */
function* stillRunning({ service }: ApiContext): Generator<string> {
  for (const [stage, { stopping }] of stagesOf(service.stats())) {
    if (stopping > 0) yield `told to stop and still running in ${stage}: ${stopping}`
  }
}

function stagesOf({ prepare, items }: ServiceStats): [string, DispatcherStats][] {
  return [
    ['the first stage', prepare],
    ['the second stage', items],
  ]
}

function* notReady({
  service,
  capacity,
  drain,
  loop,
  clock,
  storeWatch,
}: ApiContext): Generator<string> {
  const stats = service.stats()
  const { load } = stats
  // A closed door refuses everybody, however empty the queues are.
  if (drain.state !== 'accepting') yield 'draining'
  else if (load.refusing) yield `the queues are ${load.level}`
  const stopping = stats.prepare.stopping + stats.items.stopping
  for (const place of ['thread', 'loop'] as const) {
    const permits = capacity.stats()[place]
    if (permits === undefined || permits.used < permits.permits) continue
    if (stopping >= permits.permits)
      yield `jobs that were stopped still hold all permits of ${place}`
  }
  if (storeWatch.look()) yield 'the store cannot be written'
  const gap = loop.stats().recent.at(-1)
  if (gap === undefined) return
  // The machine may have made it longer than the code did.
  const endedAt = gap.startedAt + gap.ms + (gap.starved ?? 0)
  if (clock.wallTime() - endedAt < gapMemory) {
    yield `the event loop was blocked for ${Math.round(gap.ms)} ms by ${gap.label ?? 'unknown code'}`
  }
}
