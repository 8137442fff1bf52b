import type { Random } from '@heddle/core/lowlevel'

/** Delays before another try, in milliseconds. */
export interface Backoff {
  /** Upper bound of the first delay; it doubles with each try. */
  readonly base: number
  /** No delay is longer. */
  readonly cap: number
}

export const defaultBackoff: Backoff = { base: 500, cap: 60_000 }

/**
 * How often a request is refused for its rate before that is an error. It is more than other tries:
 * the pace of all has to be found, and each refusal makes it slower.
 */
export const mostRefusals = 12

/**
 * The longest pause that is waited for, in milliseconds. A registry may ask for hours: asking it earlier would be refused
 * again, and a release that sleeps through the night helps no user.
 */
export const longestRetryAfter = 300_000

/**
 * Anything between nothing and the bound ("full jitter"): clients that failed together do not come
 * back together. `attempt` counts from 0.
 */
export function jitter(attempt: number, random: Random, { base, cap }: Backoff): number {
  return random.next() * Math.min(base * 2 ** attempt, cap)
}

/** More than any registry means. */
const longestNamed = 30 * 86_400_000

/**
 * Milliseconds that `Retry-After` asks for: seconds, or a date on the wall clock. Undefined when there is none that
 * can be read.
 */
export function retryAfterOf(header: string | undefined, wallTime: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const asked = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - wallTime
  return Number.isNaN(asked) ? undefined : Math.min(Math.max(0, asked), longestNamed)
}
