import { cancelled } from '../errors.ts'
import { type OptionNames } from '../kernel/check.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { basics, syncOptionNames, type SyncOptions } from './sync-options.ts'
import { Permit } from './permit.ts'

export interface LockOptions extends SyncOptions {
  /** Called when the lock is given back and no caller waits for it. It must not throw. */
  readonly onIdle?: (() => void) | undefined
}

export interface MutexStats {
  readonly held: boolean
  readonly waiting: number
}

export const lockOptionNames = { ...syncOptionNames, onIdle: 1 } satisfies OptionNames<LockOptions>

/**
 * One at a time, in order of arrival. It is not re-entrant.
 *
 * Needed only where a step contains an `await`: between two awaits no other code runs.
 *
 *  M1  At most one permit is out.
 *  M2  A caller waits only while it is held: a release hands it to the first waiter in the same
 *      step, so no later caller can slip in between.
 *
 * @example
 * const mutex = new Mutex({ name: 'config' })
 * {
 *   using permit = await mutex.acquire({ signal, deadline: 1000 })
 *   await writeConfig()
 * }
 */
export class Mutex {
  readonly #what: string
  readonly #waiters: WaiterList<Permit>
  readonly #onIdle: (() => void) | undefined
  #held = false

  constructor(options: LockOptions = {}) {
    const { what, kernel, maxWaiters } = basics('Mutex', options, lockOptionNames)
    this.#what = what
    this.#waiters = new WaiterList(kernel.clock, maxWaiters)
    this.#onIdle = options.onIdle
  }

  get isHeld(): boolean {
    return this.#held
  }

  /**
   * Waits until it is free.
   *
   * *Cancellation*: an aborted or late caller loses its place and nothing else; the lock given
   * before the abort is kept and must be released.
   * *Fairness*: first come, first served.
   */
  acquire(options: WaitOptions = {}): Promise<Permit> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(cancelled(this.#what, signal.reason))
    const permit = this.tryAcquire()
    return permit === undefined ? this.#waiters.wait(this.#what, options) : Promise.resolve(permit)
  }

  /** Takes it when it is free; undefined otherwise. */
  tryAcquire(): Permit | undefined {
    if (this.#held) return undefined
    this.#held = true
    return new Permit(this.#giveBack)
  }

  stats(): MutexStats {
    return { held: this.#held, waiting: this.#waiters.size }
  }

  readonly #giveBack = (): void => {
    if (this.#waiters.size > 0 && this.#waiters.wakeFirst(new Permit(this.#giveBack))) return
    this.#held = false
    this.#onIdle?.()
  }
}
