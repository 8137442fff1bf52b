import { cancelled } from '../errors.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { basics, syncOptionNames, type SyncOptions } from './sync-options.ts'

export interface EventStats {
  readonly set: boolean
  readonly waiting: number
}

/**
 * Something that happens once. It cannot be taken back: for that there is `Gate`.
 *
 * @example
 * const ready = new Event()
 * ready.set()
 * await ready.wait() // at once
 */
export class Event {
  readonly #what: string
  readonly #waiters: WaiterList<void>
  #set = false

  constructor(options: SyncOptions = {}) {
    const { what, kernel, maxWaiters } = basics('Event', options, syncOptionNames)
    this.#what = what
    this.#waiters = new WaiterList(kernel.clock, maxWaiters)
  }

  get isSet(): boolean {
    return this.#set
  }

  /** Wakes every caller that waits. False when it had happened already. */
  set(): boolean {
    if (this.#set) return false
    this.#set = true
    this.#waiters.wakeAll()
    return true
  }

  /**
   * Waits until the event has happened.
   *
   * *Cancellation*: leaves nothing behind. A signal that has aborted is refused even when the event
   * has happened.
   * *Fairness*: every caller is woken, in order of arrival.
   */
  wait(options: WaitOptions = {}): Promise<void> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(cancelled(this.#what, signal.reason))
    return this.#set ? Promise.resolve() : this.#waiters.wait(this.#what, options)
  }

  stats(): EventStats {
    return { set: this.#set, waiting: this.#waiters.size }
  }
}
