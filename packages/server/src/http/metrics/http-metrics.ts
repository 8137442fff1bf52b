/** Figures of the server itself: loop, threads, connections, bodies. */
import type { Clock } from '@heddle/core/lowlevel'
import type { AdminOptions } from '../admin-room.ts'
import { counter, gauge, one, type MetricFamily } from './prometheus.ts'
import { summary } from './duration-summary.ts'

export function httpMetrics(options: Omit<AdminOptions, 'rooms'>): readonly MetricFamily[] {
  const { pool, loop, drain, storeWatch } = options
  const connections = options.connections.stats()
  const arrivals = options.arrivals.stats()
  const threads = pool.stats()
  const gaps = loop.stats()
  const log = options.log?.()
  return [
    ...processMetrics(options.clock),
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
    gauge('heddle_connections', 'Connections, by state.', [
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
    ...(log === undefined
      ? []
      : [
          counter('heddle_log_lines_total', 'Lines of the structured log, by outcome.', [
            { labels: { outcome: 'written' }, value: log.written },
            { labels: { outcome: 'dropped' }, value: log.dropped },
            { labels: { outcome: 'failed' }, value: log.failed },
          ]),
        ]),
    gauge(
      'heddle_draining',
      '1 while the server takes no new work.',
      one(drain.state === 'accepting' ? 0 : 1),
    ),
  ]
}

/** Under the names that exporters of other programs use, so that dashboards for them fit. */
function processMetrics(clock: Clock): readonly MetricFamily[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  const startedAt = clock.wallTime() / 1_000 - process.uptime()
  return [
    counter(
      'process_cpu_seconds_total',
      'CPU time of the process, all threads.',
      one((user + system) / 1_000_000),
    ),
    gauge('process_resident_memory_bytes', 'Memory of the process.', one(rss)),
    gauge('process_start_time_seconds', 'When the process began, since 1970.', one(startedAt)),
    gauge('nodejs_heap_size_used_bytes', 'Used heap of the main thread.', one(heapUsed)),
    gauge('nodejs_heap_size_total_bytes', 'Heap of the main thread.', one(heapTotal)),
    gauge('nodejs_external_memory_bytes', 'Buffers outside the heap.', one(external)),
  ]
}
