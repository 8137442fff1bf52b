import { gapRow } from './gap-row.ts'

/** Callers that wait for one event with one signal, which is aborted. */
export const row = gapRow(
  'abort 100k waiters',
  'waiters/s',
  100_000,
  async () => (await import('../../ours/gaps.ts')).abort,
  async () => (await import('./floor.ts')).abort,
)
