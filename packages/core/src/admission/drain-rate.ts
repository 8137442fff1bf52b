import type { Clock } from '../kernel/clock.ts'
import { checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import type { Random } from '../kernel/random.ts'
import { HeddleError } from '../errors.ts'

/** How much of the mean one completion replaces, once there are enough of them. */
const smoothing = 0.1

const optionNames = {
  least: 1,
  most: 1,
  unknown: 1,
  jitter: 1,
} satisfies OptionNames<RetryAfterOptions>

/**
 * Milliseconds from one completion to the next while work runs.
 *
 * Time in which nothing ran says nothing about how fast the queue drains, so it is left out: a
 * service that was idle all night does not tell the first client of a burst to come back tomorrow.
 * A stall counts at once, not only when it ends.
 */
export class DrainRate {
  readonly #clock: Clock
  #running = 0
  /** When the last work completed, or when the running work started if that is later. */
  #since = 0
  /** When the last thing stopped running. */
  #idleSince = 0
  #samples = 0
  #mean = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  started(): void {
    if (this.#running++ === 0) this.#since = this.#clock.now()
  }

  /** To be called when work no longer runs: it has completed, or waits for its next attempt. */
  stopped(): void {
    if (--this.#running === 0) this.#idleSince = this.#clock.now()
  }

  /** To be called after {@link stopped}. */
  completed(): void {
    const now = this.#running > 0 ? this.#clock.now() : this.#idleSince
    this.#samples++
    // The plain mean of the first few, then an exponential one.
    const weight = Math.max(1 / this.#samples, smoothing)
    this.#mean += weight * (Math.max(0, now - this.#since) - this.#mean)
    this.#since = now
  }

  /** Undefined before the first completion. */
  get interval(): number | undefined {
    if (this.#samples === 0) return undefined
    const stalled = this.#running > 0 ? this.#clock.now() - this.#since : 0
    return Math.max(this.#mean, stalled)
  }
}

export interface RetryAfterOptions {
  /** No hint is shorter, in milliseconds. 50 when absent. */
  readonly least?: number | undefined
  /** No hint is longer, before jitter. 60,000 when absent. */
  readonly most?: number | undefined
  /** Used while nothing has been measured. 1,000 when absent. */
  readonly unknown?: number | undefined
  /** Up to this share of the hint is added at random, so that those refused together do not come back together. 0.25 when absent. */
  readonly jitter?: number | undefined
}

/** Converts "this many completions until there is room" into milliseconds. */
export class RetryAfter {
  readonly #least: number
  readonly #most: number
  readonly #unknown: number
  readonly #jitter: number
  readonly #random: Random

  constructor(options: RetryAfterOptions, random: Random) {
    checkOptions(options, optionNames)
    this.#least = checkDuration('retryAfter.least', options.least ?? 50)
    this.#most = checkDuration('retryAfter.most', options.most ?? 60_000)
    this.#unknown = checkDuration('retryAfter.unknown', options.unknown ?? 1_000)
    this.#jitter = options.jitter ?? 0.25
    if (!(this.#jitter >= 0 && this.#jitter <= 1)) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'retryAfter.jitter',
        value: this.#jitter,
        expected: 'a number from 0 to 1',
      })
    }
    this.#random = random
  }

  /** Whole milliseconds, with jitter. It is never earlier than the estimate. */
  after(completions: number, interval: number | undefined): number {
    const estimate = interval === undefined ? this.#unknown : completions * interval
    const bounded = Math.min(Math.max(estimate, this.#least), this.#most)
    return Math.ceil(bounded * (1 + this.#jitter * this.#random.next()))
  }
}
