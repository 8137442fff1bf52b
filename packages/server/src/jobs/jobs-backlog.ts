/**
 * Jobs that were acknowledged before the last stop and have not started yet: there may be more of it than
 * seats. A caller that asks for one of these results has a right to it, so it is known from the first request on.
 *
 *   listed ── it has a seat, or cannot be continued ─▶ gone from here        listed ── drain ─▶ closed
 */
import { isError } from '@heddle/core'
import { Event, type Kernel, type WaitOptions } from '@heddle/core/lowlevel'

export interface Listed {
  readonly total: number
  readonly tenant: string
  readonly taken: Event
}

export class Backlog {
  readonly #listed = new Map<string, Listed>()
  readonly #kernel: Kernel
  #isClosed = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** It is left for the next start. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  get isEmpty(): boolean {
    return this.#listed.size === 0
  }

  list(handle: string, total: number, tenant: string): void {
    if (this.#listed.has(handle)) return
    this.#listed.set(handle, { total, tenant, taken: new Event({ kernel: this.#kernel }) })
  }

  /** Undefined when it is not here. */
  find(handle: string): Listed | undefined {
    return this.#listed.get(handle)
  }

  handles(): IterableIterator<[string, Listed]> {
    return this.#listed.entries()
  }

  /** It is worked on from now on, or never will be. */
  take(handle: string): void {
    const listed = this.#listed.get(handle)
    this.#listed.delete(handle)
    listed?.taken.set()
  }

  /** Nothing more is taken. */
  close(): void {
    this.#isClosed = true
    for (const { taken } of this.#listed.values()) taken.set()
  }

  /**
   * Waits until a handle is not listed any more. False when the deadline came first.
   *
   * *Cancellation*: ends the wait.
   * *Fairness*: every waiter is woken.
   */
  async waitTaken(handle: string, options: WaitOptions): Promise<boolean> {
    try {
      await this.#listed.get(handle)?.taken.wait(options)
      return true
    } catch (error) {
      if (isError(error, 'HDL_TIMEOUT')) return false
      throw error
    }
  }
}
