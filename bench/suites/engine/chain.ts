import type { Row } from '../../harness/row.ts'
import { graphEntrants } from './graph-row.ts'
import { chain } from './shapes.ts'

export const row: Row = {
  name: 'chain 10k',
  measure: 'rate',
  unit: 'tasks/s',
  size: 10_000,
  quickSize: 1000,
  warmUps: 3,
  warmUpSize: 10_000,
  rounds: 7,
  children: 4,
  entrants: graphEntrants(chain, {
    async: { children: 1, rounds: 1, warmUpSize: 500, note: 'one round, it is quadratic' },
  }),
}
