/** Figures of served jobs. Labels are stages and outcomes: their number does not grow. */
import type { DispatcherStats, Histogram } from '@heddle/core/lowlevel'
import { histogramSamples } from '../http/metrics/buckets.ts'
import { counter, gauge, one, type MetricFamily, type Sample } from '../http/metrics/prometheus.ts'
import type { ServiceStats } from './service.ts'

/** How long work took, by stage. */
export interface JobTimings {
  readonly prepare: { readonly wait: Histogram; readonly run: Histogram }
  readonly item: { readonly wait: Histogram; readonly run: Histogram }
  /** From the seat of a submit to its place in the queue. */
  readonly enqueue: Histogram
}

export function jobMetrics(service: ServiceStats, timings: JobTimings): readonly MetricFamily[] {
  const { registry, outcomes, prepare, items, cache, works, unstored, load } = service
  const stages = { prepare, item: items }
  const perStage = (of: (stats: DispatcherStats) => number): Sample[] =>
    Object.entries(stages).map(([stage, stats]) => ({ labels: { stage }, value: of(stats) }))
  const perOutcome = (counts: Readonly<Record<string, number>>, labels = {}): Sample[] =>
    Object.entries(counts).map(([outcome, value]) => ({ labels: { ...labels, outcome }, value }))
  const perTiming = (which: 'wait' | 'run'): Sample[] =>
    (['prepare', 'item'] as const).flatMap((stage) =>
      histogramSamples(timings[stage][which], { stage }),
    )
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
      'Tasks that were asked to stop and still have their permit.',
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
      type: 'histogram',
      samples: perTiming('wait'),
    },
    {
      name: 'heddle_enqueue_seconds',
      help: 'From the seat of a submit, over reading its input, to its place in the queue.',
      type: 'histogram',
      samples: histogramSamples(timings.enqueue, { stage: 'prepare' }),
    },
    {
      name: 'heddle_run_seconds',
      help: 'From start to end.',
      type: 'histogram',
      samples: perTiming('run'),
    },
    gauge(
      'heddle_load_ratio',
      'The fullest queue: seats in use by capacity.',
      one(load.utilisation),
    ),
    counter(
      'heddle_superset_reused_total',
      'Requests that a larger computation has answered.',
      one(service.reused),
    ),
    counter(
      'heddle_prefetch_total',
      'Computations that were planned ahead, by outcome.',
      perOutcome({ ...service.prefetch }),
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
