/**
 * How often something may be done, by key: a bucket that is refilled steadily.
 *
 *  R1  No key does more than `burst` at once, and more than `perSecond` on average.
 *  R2  Memory is bounded: of the keys beyond `most` the one that was used least recently is forgotten.
 */
import { HeddleError } from '@heddle/core'
import type { Clock } from '@heddle/core/lowlevel'

export interface RateLimit {
  readonly perSecond: number
  readonly burst: number
  /** Keys that are tracked. Default 20,000. */
  readonly most?: number
}

interface Bucket {
  left: number
  at: number
}

export interface Budget {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until there is one more. */
  readonly resetMs: number
}

export class RateLimits {
  readonly #limit: Required<RateLimit>
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket>()

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = { most: 20_000, ...limit }
    this.#clock = clock
  }

  get size(): number {
    return this.#buckets.size
  }

  /** @throws `HDL_TOO_MANY_REQUESTS` with the time until there is one more. */
  take(key: string, what: string): void {
    const bucket = this.#refilled(key)
    if (bucket.left < 1) {
      const retryAfter = Math.ceil(((1 - bucket.left) / this.#limit.perSecond) * 1_000)
      throw new HeddleError('HDL_TOO_MANY_REQUESTS', { what, retryAfter })
    }
    bucket.left--
  }

  budget(key: string): Budget {
    const { left } = this.#refilled(key)
    const { burst, perSecond } = this.#limit
    const missing = left >= burst ? 0 : 1 - (left % 1)
    return {
      limit: burst,
      remaining: Math.floor(left),
      resetMs: Math.ceil((missing / perSecond) * 1_000),
    }
  }

  #refilled(key: string): Bucket {
    const { perSecond, burst, most } = this.#limit
    const now = this.#clock.now()
    const known = this.#buckets.get(key)
    const left = known === undefined ? burst : known.left + ((now - known.at) / 1_000) * perSecond
    const bucket = { left: Math.min(burst, left), at: now }
    // Used last: it goes to the end.
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > most) this.#buckets.delete(this.#buckets.keys().next().value!)
    return bucket
  }
}
