/**
 * What is likely asked for next: computed at the lowest priority, some seconds after an interactive request.
 *
 *   asked at priority 0 ─▶ waiting ── its time ─▶ started, known already, or refused
 *                             └── drain ─▶ dropped
 *
 * Invariants, quoted by the tests:
 *  P1  A handle is prefetched once at a time: asked for again while it waits, it keeps its time.
 *  P2  Nothing was promised: at overload and in a drain it is dropped, and counted.
 *  P3  At most `most` wait; further ones are dropped, and counted.
 *  P4  What was prefetched is a computation like any other: requests join it, and raise its priority (W9).
 */
import { isError } from '@heddle/core'
import type { Clock, Timer } from '@heddle/core/lowlevel'

export interface PrefetchCounts {
  readonly started: number
  /** It is under way or stored already. */
  readonly known: number
  /** There was no room for it. */
  readonly refused: number
  /** Too many waited, or the server was drained. */
  readonly dropped: number
}

export interface PrefetchOptions {
  readonly clock: Clock
  /** How many may wait. 1,000 when absent. */
  readonly most?: number
}

/** Starts it. @throws `HDL_OVERLOADED`, `HDL_TOO_MANY_REQUESTS`, `HDL_DRAINING`. */
export type StartPrefetch = () => Promise<'started' | 'known'>

export class Prefetches {
  readonly #clock: Clock
  readonly #most: number
  readonly #waiting = new Map<string, Timer>()
  readonly #starting = new Set<Promise<unknown>>()
  readonly #counts = { started: 0, known: 0, refused: 0, dropped: 0 }
  readonly #onProblem: (what: string, error: unknown) => void
  #isClosed = false

  constructor(
    { clock, most = 1_000 }: PrefetchOptions,
    onProblem: (what: string, error: unknown) => void,
  ) {
    this.#clock = clock
    this.#most = most
    this.#onProblem = onProblem
  }

  get waiting(): number {
    return this.#waiting.size
  }

  counts(): PrefetchCounts {
    return { ...this.#counts }
  }

  /** @param after Milliseconds. */
  plan(handle: string, after: number, start: StartPrefetch): void {
    if (this.#waiting.has(handle)) return
    if (this.#isClosed || this.#waiting.size >= this.#most) return void this.#counts.dropped++
    const timer = this.#clock.setTimer(after, () => {
      if (this.#waiting.get(handle) !== timer) return
      this.#waiting.delete(handle)
      const starting: Promise<unknown> = this.#start(handle, start).finally(() =>
        this.#starting.delete(starting),
      )
      this.#starting.add(starting)
    })
    this.#waiting.set(handle, timer)
  }

  /** Nothing starts after it; resolves when starts under way have ended. *Cancellation*: none: starts are short. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#counts.dropped += this.#waiting.size
    for (const timer of this.#waiting.values()) timer.cancel()
    this.#waiting.clear()
    await Promise.all(this.#starting)
  }

  /** Never rejects. */
  async #start(handle: string, start: StartPrefetch): Promise<void> {
    try {
      this.#counts[await start()]++
    } catch (error) {
      // P2
      this.#counts.refused++
      const isExpected = ['HDL_OVERLOADED', 'HDL_TOO_MANY_REQUESTS', 'HDL_DRAINING'] as const
      if (isExpected.some((code) => isError(error, code))) return
      this.#onProblem(`${handle} could not be computed ahead`, error)
    }
  }
}
