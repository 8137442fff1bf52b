import { HeddleError } from '../errors.ts'
import { suggest } from './suggest.ts'

/** Checks of options, so that a mistake is told where it is made and not after an hour of waiting. */

function refuse(option: string, value: unknown, expected: string): never {
  throw new HeddleError('HDL_BAD_OPTION', { option, value, expected })
}

/** A whole number of at least `least`; Infinity is allowed where `orInfinity` is set. */
export function checkCount(option: string, value: number, least = 1, orInfinity = false): number {
  if (orInfinity && value === Infinity) return value
  if (!Number.isInteger(value) || value < least) {
    refuse(option, value, `a whole number of at least ${least}${orInfinity ? ' or Infinity' : ''}`)
  }
  return value
}

/** A duration in milliseconds; Infinity means no limit. */
export function checkDuration(option: string, value: number): number {
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) {
    refuse(option, value, 'a number of milliseconds of at least 0')
  }
  return value
}

/** A name people can read in logs. */
export function checkName(option: string, value: string): string {
  if (typeof value !== 'string' || value === '') refuse(option, value, 'a non-empty string')
  return value
}

/** An object with no other keys than these: a misspelt option would be a default without a word. */
export function checkOptions(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    refuse('options', options, 'an object with options, or nothing')
  }
  for (const option of Object.keys(options)) {
    if (known.includes(option)) continue
    throw new HeddleError('HDL_UNKNOWN_OPTION', { option, suggestion: suggest(option, known) })
  }
}
