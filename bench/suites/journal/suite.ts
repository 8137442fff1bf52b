import type { Suite } from '../../harness/row.ts'
import { inFlight } from './conditions.ts'
import type { Durability } from './contract.ts'
import { flowRow } from './flow-row.ts'
import { rateRow } from './rate-row.ts'

const rowsOf = (durability: Durability) => [
  ...inFlight.map((count) => rateRow(durability, count)),
  flowRow(durability),
]

export const suite: Suite = {
  name: 'journal',
  summary: 'durable transitions against job queues on Redis, PostgreSQL and SQLite',
  rows: [...rowsOf('fsync'), ...rowsOf('process')],
  // Loaded by the bench alone: the children, which load this file too, start nothing.
  surround: async (needs, options) => (await import('./surround.ts')).surround(needs, options),
}
