import { cancelled } from '../errors.ts'
import { systemClock } from './clock.ts'
import { LinkedList, type ListItem } from './linked-list.ts'

/** Notified once when the signal it follows aborts. The list fields are owned by the hub. */
export interface AbortFollower extends ListItem<AbortFollower> {
  /**
   * Whether the notice may come in a later turn of the loop when very many follow the signal. Such a
   * follower checks `signal.aborted` itself before it does anything else in between.
   */
  readonly isPatient?: boolean
  onAbort(reason: unknown): void
}

/**
 * Patient followers that are notified in one turn of the loop: 1 to 2 ms with what their callers do
 * next. Up to this many, all are notified before `abort()` returns.
 */
export const mostAtOnce = 2048

/**
 * One native listener per signal, however many followers.
 *
 *  A1  Each follower that has not left is notified exactly once, in the order of following.
 *  A2  A follower that is not patient, and each of the first `mostAtOnce` that are, is notified
 *      before `abort()` returns. The others follow in slices, each in a turn of the loop of its own.
 *
 * `EventTarget.addEventListener` walks all existing listeners to look for a duplicate, so 100,000
 * waits on one signal cost 5 * 10^9 steps. Here following and leaving are O(1), and the native
 * listener is removed with the last follower.
 */
class Hub {
  // Made when the first of a kind follows: most signals have one follower, and a hub of their own.
  #prompt: LinkedList<AbortFollower> | undefined
  #patient: LinkedList<AbortFollower> | undefined
  readonly #signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this, { once: true })
  }

  add(follower: AbortFollower): void {
    if (follower.isPatient === true) (this.#patient ??= new LinkedList()).push(follower)
    else (this.#prompt ??= new LinkedList()).push(follower)
  }

  handleEvent(): void {
    for (let next = this.#prompt?.shift(); next !== undefined; next = this.#prompt?.shift()) {
      next.onAbort(this.#signal.reason)
    }
    this.#notifySlice()
  }

  #notifySlice(): void {
    for (let count = 0; count < mostAtOnce; count++) {
      const next = this.#patient?.shift()
      if (next === undefined) {
        // Not earlier: a follower that is notified may make another one leave.
        hubs.delete(this.#signal)
        return
      }
      next.onAbort(this.#signal.reason)
    }
    systemClock.afterIo(() => this.#notifySlice())
  }

  leave(follower: AbortFollower): void {
    if (this.#prompt?.remove(follower) !== true) this.#patient?.remove(follower)
    if ((this.#prompt?.size ?? 0) > 0 || (this.#patient?.size ?? 0) > 0) return
    this.#signal.removeEventListener('abort', this)
    hubs.delete(this.#signal)
  }
}

const hubs = new WeakMap<AbortSignal, Hub>()

/** The signal must not be aborted yet: callers check that first and fail without waiting. */
export function followAbort(signal: AbortSignal, follower: AbortFollower): void {
  let hub = hubs.get(signal)
  if (hub === undefined) {
    hub = new Hub(signal)
    hubs.set(signal, hub)
  }
  hub.add(follower)
}

/** Harmless when the follower does not follow. */
export function unfollowAbort(signal: AbortSignal, follower: AbortFollower): void {
  if (follower.list !== undefined) hubs.get(signal)?.leave(follower)
}

/** Calls back once when the signal aborts, unless it is disposed before. The signal must not be aborted yet. */
export class AbortCallback implements AbortFollower, Disposable {
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly onAbort: (reason: unknown) => void
  readonly #signal: AbortSignal

  constructor(signal: AbortSignal, onAbort: (reason: unknown) => void) {
    this.#signal = signal
    this.onAbort = onAbort
    followAbort(signal, this)
  }

  [Symbol.dispose](): void {
    unfollowAbort(this.#signal, this)
  }
}

/** For work in slices, between two of them. `what` names the work in the error. @throws `HDL_CANCELLED`. */
export function throwIfAborted(what: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled(what, signal.reason)
}
