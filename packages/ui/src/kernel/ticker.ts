/**
 * Time that moves on while it is shown: one timer for all places that show it.
 *
 * Invariants, quoted by the tests:
 *  C1  However many watch, at most one timer is set; without watchers there is none.
 *  C2  The time is that of the last tick, and of the moment at which the first watcher came.
 */
import { signal, type ReadonlySignal } from '@preact/signals'
import type { Clock } from './clock.ts'

export class Ticker {
  readonly #clock: Clock
  readonly #interval: number
  readonly #now = signal(0)
  #watchers = 0
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, interval: number) {
    this.#clock = clock
    this.#interval = interval
    this.#now.value = clock.wallTime()
  }

  /** Milliseconds since 1970. */
  get now(): ReadonlySignal<number> {
    return this.#now
  }

  /** Ticks until the returned function is called. */
  watch(): () => void {
    if (this.#watchers++ === 0) this.#tick()
    let isWatching = true
    return () => {
      if (!isWatching) return
      isWatching = false
      if (--this.#watchers === 0) this.#cancelTimer?.()
    }
  }

  #tick(): void {
    this.#now.value = this.#clock.wallTime()
    this.#cancelTimer = this.#clock.setTimer(this.#interval, () => this.#tick())
  }
}
