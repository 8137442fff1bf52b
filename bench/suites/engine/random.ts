import type { Row } from '../../harness/row.ts'
import { asyncAutoAt10k, graphEntrants } from './graph-row.ts'
import { random } from './shapes.ts'

export const row: Row = {
  name: 'random 100k',
  measure: 'rate',
  unit: 'tasks/s',
  size: 100_000,
  quickSize: 2000,
  warmUps: 3,
  warmUpSize: 30_000,
  rounds: 4,
  children: 3,
  entrants: graphEntrants(random, { asyncAuto: asyncAutoAt10k, pGraph: { rounds: 2 } }),
}
