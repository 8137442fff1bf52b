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

/**
 * Milliseconds that one attempt may take; Infinity means no limit. 0 is refused: it would leave no time at all, and
 * other libraries mean "no limit" by it.
 */
export function checkTimeout(option: string, value: number): number {
  if (typeof value !== 'number' || !(value > 0)) {
    refuse(option, value, 'a number of milliseconds above 0, or Infinity for no limit')
  }
  return value
}

/** A name people can read in logs. */
export function checkName(option: string, value: string): string {
  if (typeof value !== 'string' || value === '') refuse(option, value, 'a non-empty string')
  return value
}

/** Text, which may be empty. */
export function checkText(option: string, value: string): string {
  if (typeof value !== 'string') refuse(option, value, 'a string')
  return value
}

/** A moment: milliseconds since 1970. */
export function checkMoment(option: string, value: number): number {
  if (!Number.isFinite(value)) refuse(option, value, 'milliseconds since 1970')
  return value
}

/** True or false. */
export function checkFlag(option: string, value: boolean): boolean {
  if (typeof value !== 'boolean') refuse(option, value, 'true or false')
  return value
}

/** An object whose keys are names that the caller chose. */
export function checkRecord<R extends object>(option: string, value: R, expected: string): R {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuse(option, value, expected)
  }
  return value
}

/**
 * An object with these methods. Its class does not matter: a program may hold two copies of the package, and
 * some of these interfaces are implemented by users.
 */
export function checkMethods<T extends object>(
  option: string,
  value: T,
  methods: readonly (keyof T)[],
  expected: string,
): T {
  checkRecord(option, value, expected)
  for (const method of methods) {
    if (typeof value[method] !== 'function') refuse(option, value, expected)
  }
  return value
}

export function checkSignal(option: string, signal: AbortSignal): AbortSignal {
  return checkMethods(option, signal, ['addEventListener'], 'an AbortSignal')
}

/** A function. */
export function checkFunction<F extends (...args: never[]) => unknown>(
  option: string,
  value: F,
): F {
  if (typeof value !== 'function') refuse(option, value, 'a function')
  return value
}

/** Checks that a word is one of these. */
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
 * `path` is where the object is in other options: `resources.db`.
 */
export function checkOptions<O extends object>(
  options: O,
  known: OptionNames<O>,
  path?: string,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    refuse(path ?? 'options', options, 'an object with options, or nothing')
  }
  for (const option in options) {
    if (known[option] !== 1) refuseOption(option, known, path)
  }
}

/** What other libraries call our options. */
const otherWords: ReadonlyMap<string, string> = new Map([
  ['retry', 'retries'],
  ['attempts', 'retries'],
  ['maxRetries', 'retries'],
  ['maxAttempts', 'retries'],
  ['dependsOn', 'after'],
  ['dependencies', 'after'],
  ['deps', 'after'],
  ['timeoutMs', 'timeout'],
  ['maxConcurrency', 'concurrency'],
  ['parallelism', 'concurrency'],
  ['parallel', 'concurrency'],
])

function refuseOption(option: string, known: object, path: string | undefined): never {
  const prefix = path === undefined ? '' : `${path}.`
  const other = otherWords.get(option)
  const suggestion =
    other !== undefined && Object.hasOwn(known, other) ? other : suggest(option, Object.keys(known))
  throw new HeddleError('HDL_UNKNOWN_OPTION', {
    option: prefix + option,
    suggestion: suggestion && prefix + suggestion,
  })
}
