import { HeddleError } from '../errors.ts'
import { suggest } from './suggest.ts'

/** Checks of options and arguments: a mistake is an error where it is made, not a wait without an end. */

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

/** A function. */
export function checkFunction<F extends (...args: never[]) => unknown>(
  option: string,
  value: F,
): F {
  if (typeof value !== 'function') refuse(option, value, 'a function')
  return value
}

/** One of these words. */
export function checkWord<W extends string>(option: string, value: W, words: readonly W[]): W {
  if (!words.includes(value)) refuse(option, value, words.map((word) => `'${word}'`).join(' or '))
  return value
}

/** All options of one kind, by name: `{ name: 1, kernel: 1 } satisfies OptionNames<SyncOptions>`. */
export type OptionNames<O> = Readonly<Record<keyof O, 1>>

/**
 * An object with no other keys than these: a misspelt option would silently leave its default in force.
 *
 * Called for each node of a graph: the usual object has up to three keys, and nothing is allocated for it.
 */
export function checkOptions<O extends object>(options: O, known: OptionNames<O>): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    refuse('options', options, 'an object with options, or nothing')
  }
  for (const option in options) {
    if (known[option] !== 1) refuseOption(option, known)
  }
}

function refuseOption(option: string, known: object): never {
  throw new HeddleError('HDL_UNKNOWN_OPTION', {
    option,
    suggestion: suggest(option, Object.keys(known)),
  })
}
