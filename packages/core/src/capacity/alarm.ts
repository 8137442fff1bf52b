import type { Clock, Timer } from '../kernel/clock.ts'

/** One timer at most, for the next moment at which waiting for a rate may be over. */
export class Alarm {
  readonly #clock: Clock
  readonly #onDue: () => void
  #timer: Timer | undefined
  #dueAt = Infinity

  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  set(delay: number): void {
    const dueAt = this.#clock.now() + delay
    if (this.#timer !== undefined && this.#dueAt === dueAt) return
    this.#timer?.cancel()
    this.#dueAt = dueAt
    this.#timer = this.#clock.setTimer(delay, () => {
      this.#timer = undefined
      this.#onDue()
    })
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
