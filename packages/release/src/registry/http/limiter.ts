/**
 * One pace for all requests to a registry: a request that is asked to slow down slows all of them down.
 *
 * ```
 *   free ──429──▶ held until Retry-After is over ──▶ paced: one start per gap ──▶ free
 *                  ▲                                   │  each success: a bit faster
 *                  └───────────────429─────────────────┘  each 429: slower by a third
 * ```
 *
 * Rate limits count requests per time, so the pace is a gap between starts and not a number of
 * connections. It follows the rule of TCP: a large step down at a refusal, small ones up after
 * successes. How large and how small was found by simulation (docs/decisions/0222).
 *
 * Invariants, quoted by the tests:
 *  RL1  Nothing starts before the time until which the registry, as known then, wants to be left alone.
 *  RL2  While it is paced, two starts are at least one gap apart.
 *  RL3  Refusals of requests that started before the last cut do not cut again: a burst of ten is one sign and not
 *       ten.
 *  RL4  After enough successes the pace is lifted.
 *  RL5  A caller that gives up leaves nothing behind but its unused turn.
 *  RL6  While the registry wants to be left alone for longer than a release waits, each caller is refused at once.
 *
 * Turns are promised by arithmetic and not by a queue: each caller takes the next free time and sleeps
 * until then. A refusal makes all promises void; the sleepers wake up, see that and take a new one.
 *
 * Known limits: the number of waiters is bounded by the connections of the client, which takes one first.
 */
import { HeddleError } from '@heddle/core'
import { type Kernel, Patience, type WaitOptions } from '@heddle/core/lowlevel'
import { longestRetryAfter } from './backoff.ts'

export interface LimiterOptions {
  readonly kernel: Kernel
  /** The address of the registry, for errors. */
  readonly registry: string
  /** Milliseconds between two starts after the first refusal, at least. Default 100. */
  readonly firstGap?: number
  /** The slowest pace. Default 10 s. */
  readonly longestGap?: number
  /** Starts per second by which the pace grows in a second of successes. Default 0.1. */
  readonly step?: number
  /** Starts per second at which the pace is lifted. Default 20. */
  readonly freeAt?: number
}

export interface LimiterStats {
  readonly state: 'free' | 'held' | 'paced'
  /** Milliseconds between two starts; 0 when there is no pace. */
  readonly gap: number
  readonly refusals: number
  /** How often the pace was cut. */
  readonly cuts: number
}

/** The right to start one request, given back by telling how it went. */
export interface Turn {
  readonly startedAt: number
}

/** The factor by which the gap grows at a refusal. */
const slower = 1.5

/** The longest pause after a refusal that names none. */
const longestHold = 60_000

export class AdaptiveLimiter {
  readonly #kernel: Kernel
  readonly #registry: string
  readonly #firstGap: number
  readonly #longestGap: number
  readonly #step: number
  readonly #freeAt: number
  #gap = 0
  #next = -Infinity
  #heldUntil = -Infinity
  #cutAt = -Infinity
  /** Counts the cuts: promises of an earlier one are void. */
  #cuts = 0
  #refusals = 0
  #refusedInARow = 0
  #lastStart = -Infinity
  /** Moving mean of the time between two starts: what "slower" refers to at first. */
  #usualGap = 0

  constructor(options: LimiterOptions) {
    this.#kernel = options.kernel
    this.#registry = options.registry
    this.#firstGap = options.firstGap ?? 100
    this.#longestGap = options.longestGap ?? 10_000
    this.#step = options.step ?? 0.1
    this.#freeAt = options.freeAt ?? 20
  }

  /**
   * Waits for the right to start a request.
   *
   * *Cancellation*: leaves an unused turn behind, nothing else.
   * *Fairness*: in order of arrival, except that a refusal assigns the turns again.
   * @throws `HDL_REGISTRY_RATE` (RL6).
   */
  async pass(what: string, wait: WaitOptions = {}): Promise<Turn> {
    const patience = new Patience(what, this.#kernel.clock, wait)
    patience.check()
    for (;;) {
      const now = this.#kernel.clock.now()
      this.#refuseLongHold(what, this.#heldUntil - now)
      const at = Math.max(now, this.#heldUntil, this.#next)
      this.#next = at + this.#gap
      if (at <= now) return this.#start(now)
      const promisedAt = this.#cuts
      await patience.pause(at - now)
      const woken = this.#kernel.clock.now()
      if (promisedAt === this.#cuts && woken >= this.#heldUntil) return this.#start(woken)
    }
  }

  succeeded(): void {
    this.#refusedInARow = 0
    if (this.#gap === 0) return
    const before = 1000 / this.#gap
    // A slow pace grows by a tenth: one success in ten seconds says little.
    const perSecond = before + Math.min((this.#step * this.#gap) / 1000, before / 10)
    this.#gap = perSecond >= this.#freeAt ? 0 : 1000 / perSecond
  }

  /** The registry refused this turn's request. `retryAfter` in milliseconds, where it named a time. */
  refused(turn: Turn, retryAfter: number | undefined): void {
    const now = this.#kernel.clock.now()
    this.#refusals++
    const isNews = turn.startedAt >= this.#cutAt
    if (isNews) this.#refusedInARow++
    const hold = retryAfter ?? Math.min(1000 * 2 ** (this.#refusedInARow - 1), longestHold)
    this.#heldUntil = Math.max(this.#heldUntil, now + hold)
    if (!isNews) return
    this.#gap = Math.min(
      Math.max((this.#gap === 0 ? this.#usualGap : this.#gap) * slower, this.#firstGap),
      this.#longestGap,
    )
    this.#cutAt = now
    this.#cuts++
    this.#next = Math.max(this.#heldUntil, this.#lastStart + this.#gap)
  }

  stats(): LimiterStats {
    const held = this.#heldUntil > this.#kernel.clock.now()
    return {
      state: held ? 'held' : this.#gap > 0 ? 'paced' : 'free',
      gap: this.#gap,
      refusals: this.#refusals,
      cuts: this.#cuts,
    }
  }

  /** RL6 */
  #refuseLongHold(action: string, hold: number): void {
    if (hold <= longestRetryAfter) return
    const details = { registry: this.#registry, action, tries: 1, retryAfter: hold }
    throw new HeddleError('HDL_REGISTRY_RATE', details)
  }

  #start(now: number): Turn {
    if (this.#lastStart !== -Infinity) {
      this.#usualGap += (now - this.#lastStart - this.#usualGap) / 8
    }
    this.#lastStart = now
    return { startedAt: now }
  }
}
