import { gapRow } from './gap-row.ts'

/** Nodes with one dependency each, added in slices of 4 ms: what one add() holds up is the gap. */
export const rows = [
  gapRow(
    'describe a graph of 1M nodes',
    'nodes/s',
    1_000_000,
    async () => (await import('../../ours/gaps.ts')).describeGraph,
    async () => (await import('./floor.ts')).describe,
  ),
  gapRow(
    'describe a scheduler of 1M nodes',
    'nodes/s',
    1_000_000,
    async () => (await import('../../ours/gaps.ts')).describeScheduler,
    async () => (await import('./floor.ts')).describe,
  ),
]
