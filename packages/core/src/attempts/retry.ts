import { HeddleError } from '../errors.ts'
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

const finalErrors = new WeakSet<object>()

/**
 * Marks an error as final: the job is not tried again.
 *
 * An error with `retryable: false` is final too.
 * @example
 * throw final(new Error('this version exists already'))
 */
export function final<E extends Error>(error: E): E {
  finalErrors.add(error)
  return error
}

/**
 * An error that asks for the next attempt after exactly `milliseconds`, in place of the back-off.
 * It counts as a failed attempt, so `retries` still bounds how often that happens.
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
  return new HeddleError('HDL_RETRY_AFTER', { retryAfter: milliseconds }, { cause })
}

/** Whether a job that threw this should be tried again. */
export function isRetryable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return true
  try {
    return !finalErrors.has(error) && (error as { retryable?: unknown }).retryable !== false
  } catch {
    // Reading a thrown value can throw: a getter, a revoked proxy.
    return true
  }
}

/** The delay that one of our errors asks for. Others may well mean seconds by a field of that name. */
export function requestedDelay(error: unknown): number | undefined {
  try {
    return error instanceof HeddleError ? error.retryAfter : undefined
  } catch {
    // As in isRetryable().
    return undefined
  }
}
