import { HeddleError, isError } from '@heddle/core'
import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'

/**
 * One signal for the caller's signal and deadline, and the error to give when it ended something.
 *
 * @example
 * using limit = new Limit('Packing', { signal: new AbortController().signal })
 * limit.signal.aborted // => false
 */
export class Limit implements Disposable {
  readonly signal: AbortSignal
  readonly #what: string
  readonly #stop: () => void

  /** A deadline needs the clock of a kernel. */
  constructor(what: string, wait: Pick<WaitOptions, 'signal'> & { readonly deadline?: never })
  constructor(what: string, wait: WaitOptions, kernel: Kernel)
  constructor(what: string, { signal, deadline }: WaitOptions, kernel?: Kernel) {
    this.#what = what
    const controller = new AbortController()
    this.signal =
      signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal])
    const timer =
      deadline === undefined || deadline === Infinity || kernel === undefined
        ? undefined
        : kernel.clock.setTimer(deadline, () => {
            controller.abort(new HeddleError('HDL_TIMEOUT', { what, limit: deadline }))
          })
    this.#stop = () => timer?.cancel()
    this.check()
  }

  /** @throws what {@link reason} gives, when the time is over or the caller gave up. */
  check(): void {
    if (this.signal.aborted) throw this.reason()
  }

  reason(): HeddleError {
    const reason: unknown = this.signal.reason
    if (isError(reason, 'HDL_TIMEOUT') || isError(reason, 'HDL_CANCELLED')) return reason
    const text = reason instanceof Error ? reason.message : String(reason)
    return new HeddleError(
      'HDL_CANCELLED',
      { what: this.#what, source: 'user', reason: text },
      { cause: reason },
    )
  }

  /** The error to throw for one that may only be the consequence of the end. */
  error(error: unknown): unknown {
    return this.signal.aborted ? this.reason() : error
  }

  [Symbol.dispose](): void {
    this.#stop()
  }
}
