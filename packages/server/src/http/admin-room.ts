/** The room of the server itself: whether it is alive, whether it should be given work, figures, drain, OpenAPI. */
import type { Clock, LoopWatch, ThreadPool } from '@heddle/core/lowlevel'
import { drainServer, health, metrics, openApiDocument, ready } from '../client/contract/admin.ts'
import type { ResponseBodyOf } from '../client/contract/contract.ts'
import { showFailure } from '../client/contract/failures.ts'
import type { LogStats } from '../log/structured-log.ts'
import { describeGap } from './describe-gap.ts'
import type { Failures } from './failures.ts'
import type { Arrivals } from './lifecycle/arrivals.ts'
import type { Connections } from './lifecycle/connections.ts'
import type { Drain } from './lifecycle/drain.ts'
import type { StoreWatch } from './lifecycle/store-watch.ts'
import { prometheusText } from './metrics/prometheus.ts'
import { httpMetrics } from './metrics/http-metrics.ts'
import type { RouteMetrics } from './metrics/route-metrics.ts'
import { openApiOf } from './openapi.ts'
import type { Room } from './room.ts'
import { route } from './route.ts'
import { checkTotals } from './tenancy.ts'

export interface AdminOptions {
  /** The other rooms. */
  readonly rooms: readonly Room[]
  readonly drain: Drain
  readonly loop: LoopWatch
  readonly pool: ThreadPool
  readonly storeWatch: StoreWatch
  readonly connections: Connections
  readonly arrivals: Arrivals
  readonly routeMetrics: RouteMetrics
  readonly failures: Failures
  /** Counts of the structured log; undefined when there is none. */
  readonly log?: () => LogStats | undefined
  readonly clock: Clock
  /** A gap of the loop of this many milliseconds makes the server not ready. */
  readonly readyGap: number
}

/** Milliseconds for which a gap of the loop makes the server not ready. */
const gapMemory = 10_000

export function adminRoom(options: AdminOptions): Room {
  const { rooms, drain, loop, pool, connections, arrivals } = options
  const isDraining = (): boolean => drain.state !== 'accepting'
  const notReady = (): string[] => [...notReadyBecause(options)]
  const room: Room = {
    name: 'admin',
    routes: [
      route(drainServer, ({ body: { deadline_ms: deadline } }) => {
        drain.begin({ deadline })
        return { state: drain.state }
      }),
      route(health, () => {
        const causes = [...notReady(), ...rooms.flatMap((one) => [...(one.degraded?.() ?? [])])]
        const threads = pool.stats()
        return {
          status: causes.length === 0 ? ('ok' as const) : ('degraded' as const),
          causes,
          state: drain.state,
          draining: isDraining(),
          ...Object.assign({}, ...rooms.map((one) => one.health?.() ?? {})),
          threads: {
            busy: threads.threads.filter(({ busy }) => busy).length,
            queued: threads.queued,
            crashed: threads.crashed,
          },
          connections: connections.stats(),
          bodies: arrivals.stats(),
          loop: { longest_gap_ms: loop.stats().longest, gaps: loop.stats().gaps },
        }
      }),
      route(ready, ({ reply }) => {
        const causes = notReady()
        if (causes.length > 0) void reply.code(503)
        return { ready: causes.length === 0, draining: isDraining(), causes }
      }),
      route(metrics, ({ reply, caller }) => {
        checkTotals(caller, 'GET /metrics')
        return reply
          .type('text/plain; version=0.0.4; charset=utf-8')
          .send(
            prometheusText([
              ...rooms.flatMap((one) => one.metrics()),
              ...httpMetrics(options),
              ...options.routeMetrics.metrics(),
            ]),
          )
      }),
      route(
        showFailure,
        ({ params, caller }) =>
          options.failures.find(params.reference, caller) as ResponseBodyOf<typeof showFailure>,
        {
          tenancy: 'handler',
        },
      ),
      route(openApiDocument, () => document),
    ],
    start: () => Promise.resolve(),
    drain: () => Promise.resolve({ isClean: true }),
    stop: () => Promise.resolve(),
    stats: () => ({}),
    metrics: () => [],
  }
  const document = openApiOf(
    [...rooms, room].flatMap(({ routes }) => routes.map(({ contract }) => contract)),
    version,
  )
  return room
}

/** Version of this package; a test compares it with package.json. */
export const version = '0.1.0'

function* notReadyBecause(options: AdminOptions): Generator<string> {
  const { rooms, drain, loop, clock, storeWatch, readyGap } = options
  // A closed door refuses every request, however empty the queues are.
  if (drain.state !== 'accepting') yield 'draining'
  else for (const room of rooms) yield* room.notReady?.() ?? []
  if (storeWatch.look()) yield 'the store cannot be written'
  const gap = loop.stats().recent.findLast(({ ms }) => ms >= readyGap)
  if (gap === undefined) return
  // The machine may have made it longer than the code did.
  const endedAt = gap.startedAt + gap.ms + (gap.starved ?? 0)
  // Without the stack: anonymous callers may ask.
  if (clock.wallTime() - endedAt < gapMemory) yield describeGap({ ...gap, stack: [] })
}
