/** Figures of served jobs. Labels are stages and outcomes: their number does not grow. */
import type { DispatcherStats, HistogramSnapshot } from '@heddle/core/lowlevel'
import { counter, gauge, one, type MetricFamily, type Sample } from '../http/metrics/prometheus.ts'
import { summary } from '../http/metrics/summary.ts'
import type { ServiceStats } from './service.ts'

export function jobMetrics(service: ServiceStats): readonly MetricFamily[] {
  const { registry, outcomes, prepare, items, cache, works, unstored, load } = service
  const stages = { prepare, item: items }
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
    counter('heddle_cache_hits_total', 'Results found in the cache.', [
      { labels: { tier: 'memory' }, value: cache.hits.memory },
      { labels: { tier: 'disk' }, value: cache.hits.tier },
    ]),
    counter('heddle_cache_misses_total', 'Results not found in the cache.', one(cache.misses)),
    gauge('heddle_cache_bytes', 'Bytes of results in memory.', one(cache.bytes)),
  ]
}
