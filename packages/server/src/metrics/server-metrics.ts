/** What the server tells a scraper. Labels are stages and outcomes: their number does not grow. */
import type { DispatcherStats, HistogramSnapshot } from '@heddle/core/lowlevel'
import type { ApiContext } from '../api/context.ts'
import type { Metric, Sample } from './prometheus.ts'

export function serverMetrics(context: ApiContext): readonly Metric[] {
  const { service, pool, loop, drain, storeWatch } = context
  const connections = context.connections.stats()
  const arrivals = context.arrivals.stats()
  const { registry, outcomes, prepare, items, cache, works, unstored, load } = service.stats()
  const stages = { prepare, item: items }
  const threads = pool.stats()
  const gaps = loop.stats()
  const perStage = (of: (stats: DispatcherStats) => number): Sample[] =>
    Object.entries(stages).map(([stage, stats]) => ({ labels: { stage }, value: of(stats) }))
  const perOutcome = (counts: Readonly<Record<string, number>>, labels = {}): Sample[] =>
    Object.entries(counts).map(([outcome, value]) => ({ labels: { ...labels, outcome }, value }))
  const timings = (of: (stats: DispatcherStats) => HistogramSnapshot): Sample[] =>
    Object.entries(stages).flatMap(([stage, stats]) => summary(of(stats), { stage }))
  return [
    counter(
      'heddle_requests_total',
      'Requests that waited for a result, by outcome.',
      perOutcome(outcomes),
    ),
    gauge('heddle_requests_waiting', 'Requests that wait for a result now.', one(registry.active)),
    counter(
      'heddle_tasks_total',
      'Tasks of each stage, by outcome; refusals are the outcome "rejected".',
      Object.entries(stages).flatMap(([stage, stats]) => perOutcome(stats.outcomes, { stage })),
    ),
    gauge(
      'heddle_queue_depth',
      'Tasks that wait for a slot.',
      perStage(({ queue }) => queue.queued),
    ),
    gauge(
      'heddle_queue_capacity',
      'Seats of each stage.',
      perStage(({ queue }) => queue.capacity),
    ),
    gauge(
      'heddle_running',
      'Tasks that run.',
      perStage(({ queue }) => queue.running),
    ),
    gauge(
      'heddle_stopping',
      'Tasks that were told to stop and still have their slot.',
      perStage(({ stopping }) => stopping),
    ),
    counter(
      'heddle_unresponsive_total',
      'Tasks that did not stop in time: their slot was given away while they went on.',
      perStage(({ unresponsive }) => unresponsive),
    ),
    {
      name: 'heddle_queue_wait_seconds',
      help: 'From admission to start.',
      type: 'summary',
      samples: timings(({ queue }) => queue.wait),
    },
    {
      name: 'heddle_run_seconds',
      help: 'From start to end.',
      type: 'summary',
      samples: timings(({ queue }) => queue.run),
    },
    gauge(
      'heddle_load_ratio',
      'The fullest queue: seats in use by capacity.',
      one(load.utilisation),
    ),
    gauge('heddle_works', 'Handles that are worked on.', one(works)),
    counter('heddle_unstored_total', 'Results that could not be stored.', one(unstored)),
    gauge(
      'heddle_store_failed',
      '1 when acknowledged work cannot be written down any more.',
      one(storeWatch.look() ? 1 : 0),
    ),
    gauge(
      'heddle_threads_busy',
      'Threads with a job.',
      one(threads.threads.filter(({ busy }) => busy).length),
    ),
    counter(
      'heddle_threads_crashed_total',
      'Threads that ended by themselves.',
      one(threads.crashed),
    ),
    counter(
      'heddle_loop_gaps_total',
      'Times the event loop was blocked for longer than allowed.',
      one(gaps.gaps),
    ),
    gauge(
      'heddle_loop_longest_gap_seconds',
      'The longest gap of the event loop so far.',
      one(gaps.longest / 1_000),
    ),
    {
      name: 'heddle_loop_delay_seconds',
      help: 'How late the event loop was.',
      type: 'summary',
      samples: summary(gaps.delays, {}),
    },
    counter('heddle_cache_hits_total', 'Results found in the cache.', [
      { labels: { tier: 'memory' }, value: cache.hits.memory },
      { labels: { tier: 'disk' }, value: cache.hits.tier },
    ]),
    counter('heddle_cache_misses_total', 'Results not found in the cache.', one(cache.misses)),
    gauge('heddle_cache_bytes', 'Bytes of results in memory.', one(cache.bytes)),
    gauge('heddle_connections', 'Connections, by what they do.', [
      { labels: { state: 'idle' }, value: connections.idle },
      { labels: { state: 'busy' }, value: connections.open - connections.idle },
    ]),
    counter(
      'heddle_connections_ended_total',
      'Connections that found no room or made room, by cause.',
      [
        { labels: { cause: 'displaced' }, value: connections.displaced },
        { labels: { cause: 'refused' }, value: connections.refused.total },
        { labels: { cause: 'refused_address' }, value: connections.refused.address },
      ],
    ),
    gauge(
      'heddle_bodies_arriving',
      'Bodies of requests that are on their way.',
      one(arrivals.arriving),
    ),
    counter('heddle_bodies_ended_total', 'Bodies that did not arrive, by cause.', [
      { labels: { cause: 'late' }, value: arrivals.late },
      { labels: { cause: 'displaced' }, value: arrivals.displaced },
      { labels: { cause: 'refused' }, value: arrivals.refused },
    ]),
    gauge(
      'heddle_draining',
      '1 while the server takes no new work.',
      one(drain.state === 'accepting' ? 0 : 1),
    ),
  ]
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, help, type: 'counter', samples }
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, help, type: 'gauge', samples }
}

function one(value: number): readonly Sample[] {
  return [{ value }]
}

/** Durations are measured in milliseconds and told in seconds. */
function summary(
  { count, sum, p50, p90, p99, p999 }: HistogramSnapshot,
  labels: Readonly<Record<string, string>>,
): Sample[] {
  const quantiles = Object.entries({ '0.5': p50, '0.9': p90, '0.99': p99, '0.999': p999 })
  return [
    ...quantiles.map(([quantile, value]) => ({
      labels: { ...labels, quantile },
      value: value / 1_000,
    })),
    { suffix: '_sum', labels, value: sum / 1_000 },
    { suffix: '_count', labels, value: count },
  ]
}
