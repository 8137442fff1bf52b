import type { Row } from '../../harness/row.ts'
import { graphEntrants } from './graph-row.ts'
import { random } from './shapes.ts'

/**
 * The question of this row is whether ours stays linear: compare its rate with `random 100k`.
 * p-graph and async.auto are left out, p-graph needs over 5 GB and async.auto about two days.
 */
export const row: Row = {
  name: 'random 1M',
  measure: 'rate',
  unit: 'tasks/s',
  size: 1_000_000,
  quickSize: 5000,
  warmUps: 2,
  warmUpSize: 30_000,
  rounds: 1,
  children: 2,
  entrants: graphEntrants(random, { asyncAuto: false, pGraph: false }),
}
