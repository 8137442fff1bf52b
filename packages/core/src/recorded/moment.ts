import { HeddleError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'

/** A row, a time, or a time since the start of the run. */
export type Point =
  | { readonly position: number }
  | { readonly time: number }
  | { readonly since: number }

/** A row, and the requested moment after it. */
export interface Moment {
  readonly position: number
  readonly at: number
}

/**
 * What a point means: the last row at or before it.
 *
 * *Cancellation*: none; it reads rows up to that point.
 * @throws `HDL_BAD_OPTION` when the run had not begun.
 */
export async function momentOf(
  journal: Pick<Journal, 'history'>,
  run: { readonly id: string; readonly startedAt: number },
  point: Point,
): Promise<Moment> {
  const time = 'time' in point ? point.time : 'since' in point ? run.startedAt + point.since : 0
  let found: Moment | undefined
  let first: number | undefined
  for await (const { position, at } of journal.history(run.id)) {
    first ??= position
    if ('position' in point ? position > point.position : at > time) break
    found = { position, at: Math.max(at, time) }
  }
  if (found !== undefined) return found
  const value = 'position' in point ? point.position : time
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'at',
    value,
    expected:
      'position' in point
        ? `a row of run ${run.id}, which begins with row ${first ?? 0}`
        : `a time after ${run.startedAt}, when run ${run.id} began`,
  })
}
