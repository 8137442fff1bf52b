import { gapRow } from './gap-row.ts'

/** A thread job writes lines as fast as it can, and an observer of the run reads each of them. */
export const row = gapRow(
  'thread logs 200k lines',
  'lines/s',
  200_000,
  async () => (await import('../../ours/gaps.ts')).logs,
)
