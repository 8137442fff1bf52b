import type { Clock } from '../kernel/clock.ts'

/**
 * Looks out for the next message before the thread goes to sleep.
 *
 *   brisk ──nothing came while it looked──▶ slow ──a message came soon after the last──▶ brisk
 *
 * To be woken takes 0.03 to 0.15 ms, as much as a small commit without fsync; a message that is looked
 * for is found in 0.01 ms. Looking costs a core meanwhile, so it is done only while messages come faster
 * than `longestLook`, and no longer than that: a program that commits now and then pays nothing
 * (docs/decisions/0065).
 */
const longestLook = 0.2

export class Lookout<T> {
  readonly #clock: Clock
  readonly #poll: () => T | undefined
  readonly #mayLook: boolean
  #isBrisk = false
  /** When there was nothing left to do. */
  #since = -Infinity

  /** `cores`: with a single one, looking would keep the sender from sending. */
  constructor(clock: Clock, cores: number, poll: () => T | undefined) {
    this.#clock = clock
    this.#poll = poll
    this.#mayLook = cores > 1
  }

  /** The next message, if it comes in a moment. */
  next(): T | undefined {
    const at = (this.#since = this.#clock.now())
    let found = this.#poll()
    if (!this.#isBrisk) return found
    while (found === undefined && this.#clock.now() - at < longestLook) found = this.#poll()
    this.#isBrisk = found !== undefined
    return found
  }

  /** A message has woken the thread. */
  onWoken(): void {
    this.#isBrisk = this.#mayLook && this.#clock.now() - this.#since < longestLook
  }
}
