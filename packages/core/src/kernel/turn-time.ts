import type { Clock } from './clock.ts'

/**
 * The time, read once in a turn of the loop: reading the clock costs three times as much as a hit.
 */
export class TurnTime {
  readonly #clock: Clock
  #now = 0
  #isFresh = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    if (!this.#isFresh) {
      this.#isFresh = true
      this.#now = this.#clock.now()
      this.#clock.afterIo(this.#age)
    }
    return this.#now
  }

  readonly #age = (): void => {
    this.#isFresh = false
  }
}
