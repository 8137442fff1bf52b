/** Points of a run's history, as people write them. */
import { InvalidArgumentError } from 'commander'
import { HeddleError } from '@heddle/core'
import type { Journal } from '@heddle/core/lowlevel'
import { parseDuration } from '../run/settings.ts'

/** A row, a time, or a time since the start of the run. */
export type Point =
  | { readonly position: number }
  | { readonly time: number }
  | { readonly since: number }

const expected =
  'Expected the number of a row, a time since the start (+1500, +90s, +5min), or a time (2026-11-15T22:45:01).'

/** `1234`, `+90s`, `2026-11-15T22:45:01`. Times without a zone are local. */
export function parsePoint(text: string): Point {
  if (/^\d+$/.test(text)) return { position: Number(text) }
  if (text === '+0') return { since: 0 }
  if (text.startsWith('+')) return { since: parseDuration(text.slice(1)) }
  // oxlint-disable-next-line no-restricted-globals -- it reads a time, it does not ask for it
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text.replace(' ', 'T')) : NaN
  if (Number.isNaN(time)) throw new InvalidArgumentError(expected)
  return { time }
}

/** A row, and the moment after it that is looked at. */
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
