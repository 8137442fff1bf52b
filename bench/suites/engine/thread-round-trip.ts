import type { Row } from '../../harness/row.ts'
import { threadEntrants } from './thread-row.ts'

export const row: Row = {
  name: 'thread round trip',
  measure: 'latency',
  unit: 'µs',
  size: 2000,
  quickSize: 200,
  warmUps: 2,
  warmUpSize: 2000,
  rounds: 5,
  children: 3,
  entrants: threadEntrants('tiny', 1),
}
