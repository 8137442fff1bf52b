import type { Clock } from './clock.ts'

/**
 * Runs an asynchronous action at most once in an interval and never twice at the same time. A call while one is under
 * way, or too early, leads to exactly one more run.
 *
 *     idle ── call ──▶ running ── done ──▶ resting ── interval over ──▶ idle, or running if called meanwhile
 *
 * Invariants, quoted by the tests:
 *  T1  At most one run at a time.
 *  T2  Two starts are at least `interval` apart.
 *  T3  After the last call a run starts, unless stop() was called: no call is forgotten.
 */
export class Throttle {
  readonly #action: () => Promise<void>
  readonly #interval: number
  readonly #clock: Clock
  #isBusy = false
  #isWanted = false
  #isStopped = false
  #cancelTimer: (() => void) | undefined

  constructor(action: () => Promise<void>, interval: number, clock: Clock) {
    this.#action = action
    this.#interval = interval
    this.#clock = clock
  }

  call(): void {
    if (this.#isStopped) return
    this.#isWanted = true
    if (!this.#isBusy) this.#start()
  }

  /** No run starts any more; one that is under way ends by itself. */
  stop(): void {
    this.#isStopped = true
    this.#isWanted = false
    this.#cancelTimer?.()
  }

  #start(): void {
    this.#isBusy = true
    this.#isWanted = false
    const started = this.#clock.wallTime()
    const rest = (): void => {
      const left = Math.max(0, started + this.#interval - this.#clock.wallTime())
      this.#cancelTimer = this.#clock.setTimer(left, () => {
        this.#isBusy = false
        if (this.#isWanted && !this.#isStopped) this.#start()
      })
    }
    this.#action().then(rest, rest)
  }
}
