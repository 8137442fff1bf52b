import type { Row } from '../../harness/row.ts'
import { inFlight } from './conditions.ts'
import { threadEntrants, threadNodes } from './thread-row.ts'

export const row: Row = {
  name: 'thread tiny calls, 64 in flight',
  measure: 'rate',
  unit: 'calls/s',
  size: 100_000,
  quickSize: 1000,
  // A pool is warm after about 60,000 calls; before that the rounds of one process rise from 263,000 to 598,000.
  warmUps: 2,
  warmUpSize: 50_000,
  rounds: 3,
  children: 3,
  entrants: {
    ...threadEntrants('tiny', inFlight),
    'heddle run()': threadNodes('tiny'),
  },
}
