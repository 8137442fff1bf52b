import type { Row } from '../../harness/row.ts'
import { inFlight } from './conditions.ts'
import { threadEntrants } from './thread-row.ts'

/** Two threads that do nothing else can answer 2,000 such calls per second. */
export const row: Row = {
  name: 'thread 1 ms CPU jobs',
  measure: 'rate',
  unit: 'jobs/s',
  size: 1000,
  quickSize: 100,
  warmUps: 1,
  warmUpSize: 200,
  rounds: 2,
  children: 3,
  entrants: threadEntrants('spin', inFlight),
}
