import { gapRow } from './gap-row.ts'

/** Each ends in reactions of promises: without a budget of their own they are one turn of the loop. */
export const row = gapRow(
  '20k short runs one after the other',
  'runs/s',
  20_000,
  async () => (await import('../../ours/gaps.ts')).shortRuns,
)
