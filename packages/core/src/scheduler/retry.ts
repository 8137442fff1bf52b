import { HeddleError } from '../errors.ts'
import type { Random } from '../kernel/random.ts'

/** No back-off is longer than this, in milliseconds. */
const longestBackoff = 60_000

/**
 * Exponential back-off with full jitter: uniform between 0 and min(base * 2^attempt, 60 s).
 * Drawing from the whole window spreads the retries of jobs that failed together.
 */
export function backoff(attempt: number, base: number, random: Random): number {
  return random.next() * Math.min(base * 2 ** attempt, longestBackoff)
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
  return new HeddleError('HDL_RETRY_AFTER', { retryAfter: milliseconds }, { cause })
}

/** Whether a job that threw this should be tried again. */
export function isRetryable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return true
  return !finalErrors.has(error) && (error as { retryable?: unknown }).retryable !== false
}

/** The delay that an error itself asks for. */
export function requestedDelay(error: unknown): number | undefined {
  const asked = (error as { retryAfter?: unknown } | null | undefined)?.retryAfter
  return typeof asked === 'number' && asked >= 0 ? asked : undefined
}
