import { gapRow } from './gap-row.ts'

export const rows = [
  // Callers that wait for one event with one signal, which is aborted.
  gapRow(
    'abort 100k waiters',
    'waiters/s',
    100_000,
    async () => (await import('../../ours/gaps.ts')).abort,
    async () => (await import('./floor.ts')).abort,
  ),
  // Callers that wait for one event, and whose deadlines pass at one moment: as in a service that stalls.
  gapRow(
    'deadlines of 100k waiters',
    'waiters/s',
    100_000,
    async () => (await import('../../ours/gaps.ts')).expire,
  ),
]
