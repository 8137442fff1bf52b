import type { Row } from '../../harness/row.ts'
import { threadEntrants } from './thread-row.ts'

export const row: Row = {
  name: 'thread round trip',
  measure: 'latency',
  unit: 'µs',
  size: 4000,
  quickSize: 200,
  warmUps: 3,
  warmUpSize: 4000,
  rounds: 5,
  children: 3,
  entrants: threadEntrants('tiny', 1),
}
