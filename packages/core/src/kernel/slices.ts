import type { Clock } from './clock.ts'

/** Milliseconds of uninterrupted work after which timers and sockets get their turn. */
export const sliceBudget = 4

/**
 * Cuts long synchronous work into slices: `if (slices.due) await slices.next()`.
 *
 * Reading the clock costs about 30 ns, so `due` looks only at every 64th call.
 */
export class Slices {
  readonly #clock: Clock
  #started: number
  #calls = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#started = clock.now()
  }

  /** Whether this slice has used up its time. */
  get due(): boolean {
    return (++this.#calls & 63) === 0 && this.#clock.now() - this.#started >= sliceBudget
  }

  /** Lets everybody else run, then starts the next slice. */
  async next(): Promise<void> {
    await new Promise<void>((done) => this.#clock.afterIo(done))
    this.#started = this.#clock.now()
  }
}
