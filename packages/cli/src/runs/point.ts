/** Points of a run's history, as people write them. The engine is not loaded for it. */
import { InvalidArgumentError } from 'commander'
import type { Point } from '@heddle/core/lowlevel'
import { parseDuration } from '../arguments/duration.ts'

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
