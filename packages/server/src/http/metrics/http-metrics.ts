/** Figures of the server itself: loop, threads, connections, bodies. */
import type { AdminOptions } from '../admin-room.ts'
import { counter, gauge, one, type MetricFamily } from './prometheus.ts'
import { summary } from './summary.ts'

export function httpMetrics(options: Omit<AdminOptions, 'rooms'>): readonly MetricFamily[] {
  const { pool, loop, drain, storeWatch } = options
  const connections = options.connections.stats()
  const arrivals = options.arrivals.stats()
  const threads = pool.stats()
  const gaps = loop.stats()
  return [
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
