import { HeddleError, cancelled } from '../errors.ts'
import { followAbort, unfollowAbort, type AbortFollower } from './abort.ts'
import { checkDuration, checkOptions, checkSignal, type OptionNames } from './check.ts'
import type { Clock } from './clock.ts'
import { Deadlines, type Due } from './deadlines.ts'
import { LinkedList, type ListItem } from './linked-list.ts'

/** Accepted by everything that may wait. */
export interface WaitOptions {
  /** Ends the wait with `HDL_CANCELLED`. */
  readonly signal?: AbortSignal | undefined
  /**
   * Milliseconds from the call after which the wait ends with `HDL_TIMEOUT`. 0 has passed already: only a call that
   * need not wait succeeds. No limit when absent.
   */
  readonly deadline?: number | undefined
}

const waitOptionNames = { signal: 1, deadline: 1 } satisfies OptionNames<WaitOptions>

/** For calls that are made once for each run: the primitives of `sync/` are called too often for it. */
export function checkWait(options: WaitOptions): void {
  checkOptions(options, waitOptionNames)
  if (options.signal !== undefined) checkSignal('signal', options.signal)
  if (options.deadline !== undefined) checkDuration('deadline', options.deadline)
}

/** A bound for callers that set none: a quarter of a gigabyte of callers that are never woken (law 4). */
export const mostWaiters = 1_000_000

/** The last error made for a reason. */
const told = new WeakMap<object, HeddleError<'HDL_CANCELLED'>>()

/**
 * One error for all callers that wait for the same thing with the same signal: making one costs 2 µs, five
 * times as much as the rest.
 */
function cancellation(what: string, reason: unknown): HeddleError<'HDL_CANCELLED'> {
  if (typeof reason !== 'object' || reason === null) return cancelled(what, reason)
  let error = told.get(reason)
  if (error?.details.what !== what) told.set(reason, (error = cancelled(what, reason)))
  return error
}

/**
 * The deadlines of all waiters on one clock. A service that stalls lets all its callers run out of time together:
 * with a timer for each of 100,000 the loop stood still for 300 ms.
 */
const deadlines = new WeakMap<Clock, Deadlines<Waiter<unknown>>>()

/** How many deadlines were started. */
let armed = 0

function deadlinesOf(clock: Clock): Deadlines<Waiter<unknown>> {
  let found = deadlines.get(clock)
  if (found === undefined) {
    found = new Deadlines(
      clock,
      (waiter) => {
        waiter.expire()
        found?.releaseTimer()
      },
      (a, b) => a.armed < b.armed,
    )
    deadlines.set(clock, found)
  }
  return found
}

class Follower implements AbortFollower {
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly isPatient = true
  readonly #waiter: Waiter<unknown>

  constructor(waiter: Waiter<unknown>) {
    this.#waiter = waiter
  }

  onAbort(reason: unknown): void {
    this.#waiter.fail(cancellation(this.#waiter.what, reason))
  }
}

/** One parked caller. `weight` and `tag` are for the primitive that parks it. */
export class Waiter<T> implements ListItem<Waiter<T>>, Due {
  list: object | undefined
  previous: Waiter<T> | undefined
  next: Waiter<T> | undefined
  /** Owned by the deadlines of its clock. */
  heapIndex = -1
  dueAt: number | undefined
  /**
   * If two waiters expire at the same moment, the earlier one goes first: it may let the other one
   * in.
   */
  armed = 0
  readonly what: string
  readonly weight: number
  readonly tag: unknown
  readonly #owner: WaiterList<T>
  readonly #resolve: (value: T) => void
  readonly #reject: (error: unknown) => void
  #deadlines: Deadlines<Waiter<unknown>> | undefined
  #limit = Infinity
  #signal: AbortSignal | undefined
  #follower: Follower | undefined

  constructor(
    owner: WaiterList<T>,
    what: string,
    weight: number,
    tag: unknown,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.#owner = owner
    this.what = what
    this.weight = weight
    this.tag = tag
    this.#resolve = resolve
    this.#reject = reject
  }

  /** Starts the deadline and follows the signal. */
  arm(clock: Clock, options: WaitOptions): void {
    const { signal, deadline } = options
    if (signal !== undefined) {
      this.#signal = signal
      this.#follower = new Follower(this as Waiter<unknown>)
      followAbort(signal, this.#follower)
    }
    if (deadline !== undefined && deadline !== Infinity) {
      this.#limit = deadline
      this.armed = ++armed
      this.#deadlines = deadlinesOf(clock)
      this.#deadlines.set(this as Waiter<unknown>, clock.now() + deadline)
    }
  }

  /** Called when its deadline has passed. */
  expire(): void {
    this.fail(new HeddleError('HDL_TIMEOUT', { what: this.what, limit: this.#limit }))
  }

  /**
   * Ends the wait with a value. False when it had ended already, or when it ends here because its
   * signal has aborted (W4): the value was not handed out, and the caller offers it to the next.
   */
  wake(value: T): boolean {
    if (!this.#leave()) return false
    if (this.#signal?.aborted) {
      this.#reject(cancellation(this.what, this.#signal.reason))
      return false
    }
    this.#resolve(value)
    return true
  }

  /**
   * Ends the wait with an error. False when it had ended already. A signal that has aborted came
   * first (W3), also when the notice of it is still on its way.
   */
  fail(error: unknown): boolean {
    if (!this.#leave()) return false
    const isAborted = this.#signal?.aborted === true
    this.#reject(isAborted ? cancellation(this.what, this.#signal!.reason) : error)
    this.#owner.onLeave?.()
    return true
  }

  #leave(): boolean {
    if (!this.#owner.remove(this)) return false
    if (this.#deadlines?.delete(this as Waiter<unknown>)) this.#deadlines.releaseTimer()
    if (this.#signal !== undefined) unfollowAbort(this.#signal, this.#follower!)
    return true
  }
}

/**
 * Parked callers in order of arrival: what every primitive in `sync/` waits on.
 *
 * Invariants, quoted by the tests:
 *  W1  A caller is in the list exactly while its promise is pending.
 *  W2  When it leaves, for whatever cause, its deadline and its abort listener leave with it; with the last deadline of a
 *      clock its timer.
 *  W3  Of wake, abort and deadline the first wins; the others find it gone. When very many wait with
 *      one signal, its abort ends their waits over several turns of the loop (abort.ts): it has come
 *      first all the same.
 *  W4  A caller whose signal has aborted is never woken with a value, not even by something that
 *      runs between the abort and the notice of it (an abort listener that releases a lock).
 *  W5  No more callers than `limit` wait at a time.
 */
export class WaiterList<T> extends LinkedList<Waiter<T>> {
  readonly #clock: Clock
  readonly #limit: number
  /**
   * Called after a waiter left by abort or deadline. A primitive whose front waiter holds back
   * others (a writer, a heavy request) looks here whether the next one can go.
   */
  onLeave: (() => void) | undefined

  constructor(clock: Clock, limit = mostWaiters) {
    super()
    this.#clock = clock
    this.#limit = limit
  }

  /**
   * Parks the caller until it is woken.
   * `what` names the wait in errors: `Mutex "db"`.
   */
  wait(what: string, options: WaitOptions = {}, weight = 1, tag?: unknown): Promise<T> {
    const { signal, deadline } = options
    if (signal?.aborted) return Promise.reject(cancelled(what, signal.reason))
    if (deadline !== undefined && !(deadline > 0)) {
      return Promise.reject(new HeddleError('HDL_TIMEOUT', { what, limit: deadline }))
    }
    if (this.size >= this.#limit) {
      return Promise.reject(new HeddleError('HDL_TOO_MANY_WAITERS', { what, limit: this.#limit }))
    }
    return new Promise<T>((resolve, reject) => {
      const waiter = new Waiter(this, what, weight, tag, resolve, reject)
      this.push(waiter)
      if (signal !== undefined || deadline !== undefined) waiter.arm(this.#clock, options)
    })
  }

  /**
   * Like wait(), for a state that may have been reached already. A caller whose signal has aborted
   * gets the error even then: it no longer needs the value.
   */
  waitUnless(reached: boolean, value: T, what: string, options: WaitOptions = {}): Promise<T> {
    const { signal } = options
    if (!reached) return this.wait(what, options)
    return signal?.aborted ? Promise.reject(cancelled(what, signal.reason)) : Promise.resolve(value)
  }

  /** Wakes the caller that has waited longest. False when no caller is left to wake. */
  wakeFirst(value: T): boolean {
    while (this.first !== undefined) if (this.first.wake(value)) return true
    return false
  }

  /** Wakes every caller that waits now, in order. Returns how many. */
  wakeAll(value: T): number {
    let count = 0
    for (let remaining = this.size; remaining > 0; remaining--) {
      if (this.first?.wake(value)) count++
    }
    return count
  }

  /** Fails every caller that waits now, in order. */
  failAll(error: unknown): void {
    for (let remaining = this.size; remaining > 0; remaining--) this.first?.fail(error)
  }
}
