import { cancelled, HeddleError, isError } from '../errors.ts'
import { AbortCallback } from './abort.ts'
import type { Clock, Timer } from './clock.ts'
import type { WaitOptions } from './waiters.ts'

/**
 * One signal and one deadline for work that waits several times. The deadline counts from the construction, so
 * each wait gets what the earlier ones have left.
 *
 * @example
 * const patience = new Patience('Reading', systemKernel.clock, { deadline: 1_000 })
 * patience.options.deadline <= 1_000 // => true
 */
export class Patience implements Disposable {
  /** What is waited for, as errors say it. */
  readonly what: string
  readonly signal: AbortSignal | undefined
  readonly #clock: Clock
  readonly #limit: number
  readonly #until: number
  /** The options of a wait without a deadline are always the same. */
  readonly #endless: WaitOptions | undefined
  #bound: AbortController | undefined
  #bounded: AbortSignal | undefined
  #timer: Timer | undefined

  constructor(what: string, clock: Clock, { signal, deadline = Infinity }: WaitOptions = {}) {
    this.what = what
    this.signal = signal
    this.#clock = clock
    this.#limit = deadline
    this.#until = deadline === Infinity ? Infinity : clock.now() + deadline
    this.#endless = deadline === Infinity ? { signal } : undefined
  }

  /** Milliseconds until the deadline. */
  get left(): number {
    return this.#until === Infinity ? Infinity : this.#until - this.#clock.now()
  }

  /** What is left, as the options of the next wait. */
  get options(): WaitOptions {
    return this.#endless ?? { signal: this.signal, deadline: Math.max(0, this.left) }
  }

  /**
   * Aborts with the signal or at the deadline: for work that takes no deadline. Dispose of the patience when that has
   * ended.
   */
  get bounded(): AbortSignal {
    if (this.#bounded !== undefined) return this.#bounded
    const { signal, left } = this
    if (left === Infinity && signal !== undefined) return (this.#bounded = signal)
    this.#bound = new AbortController()
    if (left !== Infinity) {
      const end = (): void => this.#bound?.abort(this.timeout())
      if (left <= 0) end()
      else this.#timer = this.#clock.setTimer(left, end)
    }
    const own = this.#bound.signal
    this.#bounded = signal === undefined ? own : AbortSignal.any([signal, own])
    return this.#bounded
  }

  /** @throws `HDL_CANCELLED` when the signal has aborted; `HDL_TIMEOUT` when the time is over. */
  check(): void {
    if (this.signal?.aborted === true) throw cancelled(this.what, this.signal.reason)
    if (this.left <= 0) throw this.timeout()
  }

  timeout(): HeddleError<'HDL_TIMEOUT'> {
    return new HeddleError('HDL_TIMEOUT', { what: this.what, limit: this.#limit })
  }

  /** What to throw for an error that may only be the consequence of the end. */
  errorOf(error: unknown): unknown {
    const { signal } = this
    if (signal?.aborted === true) {
      const reason: unknown = signal.reason
      return isError(reason, 'HDL_TIMEOUT') ? reason : cancelled(this.what, reason)
    }
    // A timer may fire a fraction of a millisecond early.
    const isOver = this.left <= 0 || this.#bound?.signal.aborted === true
    return isOver ? this.timeout() : error
  }

  /**
   * Waits for a time. When the deadline falls into it, it fails at once: waking up later would not help the caller.
   *
   * *Cancellation*: ends the wait at once and leaves no timer behind.
   */
  async pause(milliseconds: number): Promise<void> {
    this.check()
    if (milliseconds <= 0) return
    if (milliseconds >= this.left) throw this.timeout()
    const { signal } = this
    await new Promise<void>((resolve, reject) => {
      let leave: AbortCallback | undefined
      const timer = this.#clock.setTimer(milliseconds, () => {
        leave?.[Symbol.dispose]()
        resolve()
      })
      if (signal === undefined) return
      leave = new AbortCallback(signal, (reason) => {
        timer.cancel()
        reject(cancelled(this.what, reason))
      })
    })
  }

  /** Ends `bounded` without aborting it. */
  [Symbol.dispose](): void {
    this.#timer?.cancel()
  }
}
