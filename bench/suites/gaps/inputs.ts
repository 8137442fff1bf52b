import { gapRow } from './gap-row.ts'

/** Bytes that the caller keeps, on their way into a thread. The size is in megabytes. */
export const rows = [30, 200].map((megabytes) =>
  gapRow(
    `thread input ${megabytes} MB`,
    'MB/s',
    megabytes,
    async () => (await import('../../ours/gaps.ts')).input,
    async () => (await import('./floor.ts')).input,
  ),
)
