import { cancelled } from '../errors.ts'
import { type OptionNames } from '../kernel/check.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { basics, syncOptionNames, type SyncOptions } from './sync-options.ts'

export interface GateOptions extends SyncOptions {
  /** Whether it starts open. True when absent. */
  readonly open?: boolean | undefined
}

export interface GateStats {
  readonly open: boolean
  readonly waiting: number
}

const optionNames = {
  ...syncOptionNames,
  open: 1,
} satisfies OptionNames<GateOptions>

/**
 * Opens and closes as often as wanted: pause and resume.
 *
 * Check it *after* taking work from a queue and before *each* attempt: a worker that was waiting for
 * work when the gate closed would otherwise start it in the pause (P1, P2).
 *
 * @example
 * const gate = new Gate()
 * const work = await queue.take()
 * while (!gate.isOpen) await gate.wait({ signal })
 * await start(work)
 */
export class Gate {
  readonly #what: string
  readonly #waiters: WaiterList<void>
  #open: boolean

  constructor(options: GateOptions = {}) {
    const { what, kernel, maxWaiters } = basics('Gate', options, optionNames)
    this.#what = what
    this.#waiters = new WaiterList(kernel.clock, maxWaiters)
    this.#open = options.open ?? true
  }

  get isOpen(): boolean {
    return this.#open
  }

  /** Lets every waiting caller through. False when it was open. */
  open(): boolean {
    if (this.#open) return false
    this.#open = true
    this.#waiters.wakeAll()
    return true
  }

  /** Holds back callers that come from now on. False when it was closed. */
  close(): boolean {
    const wasOpen = this.#open
    this.#open = false
    return wasOpen
  }

  /**
   * Waits until the gate is open.
   *
   * Callers that waited when it opened go through, even when it is closed again before their code
   * continues. Where that matters, wait in a loop as in the example of the class.
   *
   * *Cancellation*: leaves nothing behind. A signal that has aborted is refused even when it is open.
   * *Fairness*: every caller is woken, in order of arrival.
   */
  wait(options: WaitOptions = {}): Promise<void> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(cancelled(this.#what, signal.reason))
    return this.#open ? Promise.resolve() : this.#waiters.wait(this.#what, options)
  }

  stats(): GateStats {
    return { open: this.#open, waiting: this.#waiters.size }
  }
}
