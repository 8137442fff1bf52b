import type { Clock } from '@heddle/core/lowlevel'

/** Milliseconds of work after which timers and sockets get their turn. */
const turnMs = 10

/** Long work in small pieces: the loop gets its turn between them. */
export class Turns {
  readonly #clock: Clock
  #began: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#began = clock.now()
  }

  /** Lets others run when this turn was long enough. *Cancellation*: none; it is short. */
  async next(): Promise<void> {
    if (this.#clock.now() - this.#began <= turnMs) return
    await new Promise<void>((resolve) => this.#clock.afterIo(resolve))
    this.#began = this.#clock.now()
  }
}
