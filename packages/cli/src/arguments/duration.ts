/** Durations, as they are typed on the command line. */
import { InvalidArgumentError } from 'commander'

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

const typed = /^(\d+(?:\.\d+)?)(ms|s|min|h|d|w)?$/

/** Milliseconds: `1500`, `90s`, `5min`, `2d`, `Infinity`. */
export function parseDuration(text: string): number {
  if (text === 'Infinity') return Infinity
  const [, number, unit = 'ms'] = typed.exec(text) ?? []
  const ms = Number(number) * units[unit]!
  if (ms > 0) return ms
  throw new InvalidArgumentError(
    'Expected milliseconds above 0, or a number with ms, s, min, h, d or w (90s, 5min), or Infinity.',
  )
}

/** Like {@link parseDuration}, or `0`. */
export function parsePatience(text: string): number {
  return text === '0' ? 0 : parseDuration(text)
}

/**
 * Like {@link parseDuration}, but the unit is required: `--older-than 30` must not mean 30
 * milliseconds.
 */
export function parseAge(text: string): number {
  const [, number, unit] = typed.exec(text) ?? []
  const ms = unit === undefined ? NaN : Number(number) * units[unit]!
  if (ms > 0) return ms
  throw new InvalidArgumentError('Expected a number above 0 with ms, s, min, h, d or w: 12h, 30d.')
}
