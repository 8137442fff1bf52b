import { HeddleError } from '@heddle/core'
import { cancelled, type Kernel, type WaitOptions } from '@heddle/core/lowlevel'

/**
 * One signal and one deadline for a call that waits several times.
 *
 * `deadline` counts from the construction, so each inner wait gets the rest of it.
 */
export class Patience {
  readonly what: string
  readonly signal: AbortSignal | undefined
  readonly #kernel: Kernel
  readonly #limit: number
  readonly #until: number

  constructor(what: string, kernel: Kernel, wait: WaitOptions = {}) {
    this.what = what
    this.signal = wait.signal
    this.#kernel = kernel
    this.#limit = wait.deadline ?? Infinity
    this.#until = kernel.clock.now() + this.#limit
  }

  /** Milliseconds until the deadline. */
  get left(): number {
    return this.#until - this.#kernel.clock.now()
  }

  /** What is left, as the options of the next wait. */
  get options(): WaitOptions {
    const { left, signal } = this
    return { signal, ...(left === Infinity ? {} : { deadline: Math.max(0, left) }) }
  }

  /** Throws when the caller has given up or the time is over. */
  check(): void {
    if (this.signal?.aborted) throw cancelled(this.what, this.signal.reason)
    if (this.left <= 0) throw this.timeout()
  }

  timeout(): HeddleError<'HDL_TIMEOUT'> {
    return new HeddleError('HDL_TIMEOUT', { what: this.what, limit: this.#limit })
  }

  /**
   * Waits for a time. When the deadline falls into it, it fails at once: waking up later would not
   * help the caller.
   *
   * *Cancellation*: ends the wait at once and leaves no timer behind.
   */
  async sleep(milliseconds: number): Promise<void> {
    this.check()
    if (milliseconds <= 0) return
    if (milliseconds >= this.left) throw this.timeout()
    const { signal } = this
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        timer.cancel()
        reject(cancelled(this.what, signal?.reason))
      }
      const timer = this.#kernel.clock.setTimer(milliseconds, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }
}
