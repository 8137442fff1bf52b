import { gapRow } from './gap-row.ts'

/** Lists of small objects that a thread job returns. */
export const rows = [200_000, 1_000_000].map((entries) =>
  gapRow(
    `thread result ${entries / 1000}k entries`,
    'entries/s',
    entries,
    async () => (await import('../../ours/gaps.ts')).result,
    async () => (await import('./floor.ts')).result,
  ),
)
