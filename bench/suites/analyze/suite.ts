import type { Suite } from '../../harness/row.ts'
import { onePackageRow, typedRow, untypedRow } from './lint-row.ts'
import { watchRow } from './watch-row.ts'

export const suite: Suite = {
  name: 'analyze',
  summary: 'races found in real packages, against linters',
  rows: [typedRow, untypedRow, onePackageRow, watchRow],
  // Loaded by the bench alone: the children, which load this file too, fetch nothing.
  surround: async (needs, options) => (await import('./surround.ts')).surround(needs, options),
}
