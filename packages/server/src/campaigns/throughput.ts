/** Units per second over about a minute, right from the first report on. */
import type { Clock } from '@heddle/core/lowlevel'

/** Milliseconds over which it is averaged. */
const window = 60_000

export class Throughput {
  readonly #clock: Clock
  /** Units in the window, each weighted by its age. */
  #units = 0
  #at: number
  #since: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#at = clock.now()
  }

  add(units: number, passed: number): void {
    const now = this.#clock.now()
    this.#units = this.#units * Math.exp(-(now - this.#at) / window) + units
    this.#at = now
    // The first report covers this much work time.
    this.#since ??= now - Math.min(passed, window)
  }

  get perSecond(): number {
    if (this.#since === undefined) return 0
    const now = this.#clock.now()
    const units = this.#units * Math.exp(-(now - this.#at) / window)
    // The weight of the time that there was: a young campaign has not filled the window.
    const seen = window * (1 - Math.exp(-Math.max(1, now - this.#since) / window))
    return (units / seen) * 1_000
  }
}
