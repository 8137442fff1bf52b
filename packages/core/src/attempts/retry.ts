import { HeddleError, describe } from '../errors.ts'
import { checkDuration } from '../kernel/check.ts'
import type { Random } from '../kernel/random.ts'

/** No back-off is longer than this, in milliseconds. */
const longestBackoff = 60_000

/**
 * Exponential back-off with full jitter: uniform between 0 and min(base * 2^attempt, 60 s).
 * Drawing from the whole window spreads the retries of jobs that failed together.
 */
export function backoff(attempt: number, base: number, random: Random): number {
  // 2^1024 is Infinity, and 0 * Infinity is not a number.
  return random.next() * Math.min(base * 2 ** Math.min(attempt, 1_000), longestBackoff)
}

// A program may hold several copies of this package, and a job may use another one than the run. A set and not a
// field: an error may be frozen.
const finalKey = Symbol.for('heddle.final')
const globals = globalThis as { [finalKey]?: WeakSet<object> }
const finalErrors = (globals[finalKey] ??= new WeakSet())

/**
 * Marks an error of a job as final: the job is not tried again. A text, or anything else that is not an object,
 * becomes an error with that message.
 *
 * An error with `retryable: false` is final too.
 * @example
 * throw final(new Error('this version exists already'))
 */
export function final<E extends object>(error: E): E
export function final(reason: unknown): Error
export function final(reason: unknown): object {
  const isObject = (typeof reason === 'object' && reason !== null) || typeof reason === 'function'
  const error: object = isObject ? reason : new Error(describe(reason))
  finalErrors.add(error)
  return error
}

/**
 * An error that asks for the next attempt after exactly `milliseconds`, in place of the back-off. `cause` says why:
 * its message is part of the error's. It counts as a failed attempt, so `retries` still bounds how often that happens.
 * @example
 * throw retryAfter(30_000, new Error('rate limited'))
 */
export function retryAfter(milliseconds: number, cause?: unknown): HeddleError<'HDL_RETRY_AFTER'> {
  if (checkDuration('retryAfter', milliseconds) === Infinity) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'retryAfter',
      value: milliseconds,
      expected: 'a finite number of milliseconds',
    })
  }
  const reason = cause === undefined ? undefined : describe(cause)
  return new HeddleError('HDL_RETRY_AFTER', { retryAfter: milliseconds, reason }, { cause })
}

/** Whether {@link final} has marked it. */
export function isFinal(error: unknown): boolean {
  // The set has nothing but objects, and answers false for everything else.
  return finalErrors.has(error as object)
}

/** Whether a job that threw this should be tried again. */
export function isRetryable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return true
  try {
    return !isFinal(error) && (error as { retryable?: unknown }).retryable !== false
  } catch {
    // Reading a thrown value can throw: a getter, a revoked proxy.
    return true
  }
}

/** The delay that one of our errors asks for. Errors of other code may use the field for seconds. */
export function requestedDelay(error: unknown): number | undefined {
  try {
    return error instanceof HeddleError ? error.retryAfter : undefined
  } catch {
    // Like in isRetryable().
    return undefined
  }
}
