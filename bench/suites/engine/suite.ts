import type { Suite } from '../../harness/row.ts'
import { row as bounded } from './bounded.ts'
import { row as cacheHit } from './cache-hit.ts'
import { row as cacheLarge } from './cache-large.ts'
import { row as chain } from './chain.ts'
import { row as fan } from './fan.ts'
import { row as random1m } from './random-1m.ts'
import { row as random } from './random.ts'
import { row as singleFlight } from './single-flight.ts'
import { row as threadCpu } from './thread-cpu.ts'
import { row as threadRoundTrip } from './thread-round-trip.ts'
import { row as threadTiny } from './thread-tiny.ts'

export const suite: Suite = {
  name: 'engine',
  summary: 'graphs, bounded concurrency, threads and the cache against their peers',
  rows: [
    chain,
    fan,
    random,
    random1m,
    bounded,
    threadRoundTrip,
    threadTiny,
    threadCpu,
    cacheHit,
    singleFlight,
    cacheLarge,
  ],
}
