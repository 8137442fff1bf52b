import type { Clock } from '../kernel/clock.ts'
import type { WaitOptions } from '../kernel/waiters.ts'

/** One deadline over several waits: each of them gets the time that the earlier ones have left. */
export class Patience {
  readonly #clock: Clock
  readonly #options: WaitOptions
  readonly #until: number

  constructor(clock: Clock, options: WaitOptions) {
    this.#clock = clock
    this.#options = options
    this.#until =
      options.deadline === undefined || options.deadline === Infinity
        ? Infinity
        : clock.now() + options.deadline
  }

  left(): WaitOptions {
    if (this.#until === Infinity) return this.#options
    return { ...this.#options, deadline: this.#until - this.#clock.now() }
  }
}
