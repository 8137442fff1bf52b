import type { Row } from '../../harness/row.ts'
import { inFlight } from './conditions.ts'
import { threadEntrants } from './thread-row.ts'

export const row: Row = {
  name: 'thread tiny calls, 64 in flight',
  measure: 'rate',
  unit: 'calls/s',
  size: 20_000,
  quickSize: 1000,
  warmUps: 2,
  warmUpSize: 10_000,
  rounds: 3,
  children: 3,
  entrants: threadEntrants('tiny', inFlight),
}
