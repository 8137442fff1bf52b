import type { Row } from '../../harness/row.ts'
import { graphEntrants } from './graph-row.ts'
import { random } from './shapes.ts'

/** The question of this row is whether ours stays linear: compare its rate with `random 100k`. */
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
  note: 'p-graph (about 4 GB) and async.auto (days) cannot be played at this size',
  entrants: graphEntrants(random, {
    'heddle plain': 'absent',
    'p-graph': 'absent',
    effect: { children: 1 },
    'effect runFork': 'absent',
    async: 'absent',
    floor: { children: 1 },
  }),
}
