/**
 * Many callers, one computation.
 *
 *   join(new key) ─▶ flying ──────────────── settles ─▶ landed: every caller still attached is notified
 *                      │  ╲
 *                      │   detach(key) ─▶ the same, but the key is free for a new flight
 *                      │
 *                      └ last caller left, policy `cancel`, or cancel(key)
 *                           ─▶ abandoned: signal aborted, key free ─ settles ─▶ landed, value dropped
 *
 * Invariants, quoted by the tests:
 *  I1  A key has at most one current flight, however many callers join it.
 *  I2  Every caller is notified exactly once: value, error, its own abort, or its own deadline.
 *  I3  A caller's abort or deadline touches that caller only, also when it was the first.
 *  I4  The computation's signal aborts exactly when the last caller has left before it settled and
 *      no caller asked to keep it, or when it is cancelled by name.
 *  I5  A flight takes only itself out of the table: one that lands late never removes a newer one.
 *  I6  After the last landing nothing is left: no entry, no timer, no listener.
 *
 * Prior art: Go's `singleflight` (no cancellation per caller), `lru-cache` `fetch()` (the first
 * caller's abort rejects every caller, later callers' aborts are ignored). Both let one caller decide
 * for the others; here the computation belongs to all of them.
 *
 * Known limits: `start` runs in the async context of the caller that came first. A computation that
 * joins its own key waits for itself; give such calls a deadline. A computation that ignores its
 * signal continues after it was abandoned, beside a newer flight of the same key: `stats().abandoned`
 * counts those, and work with side effects checks its signal before it writes.
 */

import { HeddleError, cancelled } from '../errors.ts'
import { callAsync } from '../kernel/call.ts'
import { checkCount, checkName, checkOptions, type OptionNames } from '../kernel/check.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'

/** What happens to a computation when its last caller has left: stop it, or let it finish. */
export type AbandonPolicy = 'cancel' | 'keep'

export interface FlightsOptions {
  /** Names the waits in errors. `Flight` when absent. */
  readonly name?: string | undefined
  readonly kernel?: Kernel | undefined
  /** `cancel` when absent. */
  readonly whenAbandoned?: AbandonPolicy | undefined
  /** Callers of one computation; the next one is refused. 100,000 when absent. */
  readonly maxCallers?: number | undefined
}

export interface JoinOptions extends WaitOptions {
  /** `keep` from any caller keeps the computation for all of them. The default of the Flights when absent. */
  readonly whenAbandoned?: AbandonPolicy | undefined
}

export interface FlightsStats {
  /** Keys with a current flight. */
  readonly flights: number
  /** Callers that wait now, those of detached flights included. */
  readonly callers: number
  /** Computations that run although no caller waits and their signal has aborted. */
  readonly abandoned: number
  /** Computations started so far. */
  readonly started: number
  /** Calls that found a computation to attach to. */
  readonly shared: number
  readonly succeeded: number
  readonly failed: number
  /** Failures without a caller to report them to: all had left. */
  readonly unheard: number
  /** Calls refused because the computation had `maxCallers` already. */
  readonly rejected: number
}

/** A computation and the callers that wait for it. */
class Flight<K, V> {
  readonly key: K
  readonly what: string
  readonly controller = new AbortController()
  readonly callers: WaiterList<V>
  keep: boolean
  /** Whether callers leaving can still change anything. */
  flying = true

  constructor(key: K, what: string, kernel: Kernel, keep: boolean) {
    this.key = key
    this.what = what
    this.callers = new WaiterList(kernel.clock)
    this.keep = keep
  }
}

const optionNames = {
  name: 1,
  kernel: 1,
  whenAbandoned: 1,
  maxCallers: 1,
} satisfies OptionNames<FlightsOptions>

/**
 * Single flight of named computations, with one abort per caller.
 *
 * When to use: the same content may be asked for by many at once, and computing it once is enough.
 * For last-write-wins between requests of one client use `Slots`; the two need different keys.
 *
 * @example
 * const flights = new Flights<string, number>()
 * let runs = 0
 * const compute = async (signal: AbortSignal) => ++runs
 * const [a, b] = await Promise.all([flights.join('h', compute, { signal }), flights.join('h', compute)])
 * const answers = [a, b, runs] // => [1, 1, 1]
 */
export class Flights<K, V> {
  readonly #name: string
  readonly #kernel: Kernel
  readonly #keep: boolean
  readonly #maxCallers: number
  readonly #current = new Map<K, Flight<K, V>>()
  /** Those that a caller may wait for: the current ones and the detached ones. */
  readonly #flying = new Set<Flight<K, V>>()
  readonly #idle: WaiterList<void>
  /** Computations that have not settled, abandoned ones included. */
  #running = 0
  #abandoned = 0
  #callers = 0
  #started = 0
  #shared = 0
  #succeeded = 0
  #failed = 0
  #unheard = 0
  #rejected = 0

  constructor(options: FlightsOptions = {}) {
    checkOptions(options, optionNames)
    this.#name = checkName('name', options.name ?? 'Flight')
    this.#kernel = options.kernel ?? systemKernel
    this.#keep = options.whenAbandoned === 'keep'
    this.#maxCallers = checkCount('maxCallers', options.maxCallers ?? 100_000, 1, true)
    this.#idle = new WaiterList(this.#kernel.clock)
  }

  /** How many keys have a current flight. */
  get size(): number {
    return this.#current.size
  }

  /**
   * Waits for the computation of `key`, starting it when there is none. `start` is called at once,
   * before `join` returns, or not at all; its error reaches every caller.
   *
   * *Cancellation*: the caller leaves with `HDL_CANCELLED`, or `HDL_TIMEOUT` at its deadline, and
   * the others are not touched. When it was the last one, the computation's signal aborts, unless
   * the policy is `keep`.
   *
   * *Fairness*: callers are notified in the order in which they joined.
   *
   * @throws `HDL_TOO_MANY_WAITERS` when the computation has `maxCallers` callers.
   */
  join(
    key: K,
    start: (signal: AbortSignal) => V | PromiseLike<V>,
    options: JoinOptions = {},
  ): Promise<V> {
    const { signal, deadline } = options
    const existing = this.#current.get(key)
    const what = existing?.what ?? this.#describe(key)
    // A caller that has already gone must not start anything.
    if (signal?.aborted) return Promise.reject(cancelled(what, signal.reason))
    if (deadline !== undefined && !(deadline > 0)) {
      return Promise.reject(new HeddleError('HDL_TIMEOUT', { what, limit: deadline }))
    }
    const keep = (options.whenAbandoned ?? (this.#keep ? 'keep' : 'cancel')) === 'keep'
    if (existing !== undefined) {
      if (existing.callers.size >= this.#maxCallers) {
        this.#rejected++
        const limit = this.#maxCallers
        return Promise.reject(new HeddleError('HDL_TOO_MANY_WAITERS', { what, limit }))
      }
      this.#shared++
      existing.keep ||= keep
      return this.#attach(existing, options)
    }
    const flight = new Flight<K, V>(key, what, this.#kernel, keep)
    flight.callers.onLeave = () => this.#onLeave(flight)
    this.#current.set(key, flight)
    this.#flying.add(flight)
    this.#started++
    this.#running++
    // Attached before it starts: a computation that settles or is abandoned at once finds its caller.
    const outcome = this.#attach(flight, options)
    callAsync(() => start(flight.controller.signal)).then(
      (value) => this.#land(flight, value),
      (error: unknown) => this.#crash(flight, error),
    )
    return outcome
  }

  /** Whether a computation of this key runs that a caller could join. */
  has(key: K): boolean {
    return this.#current.has(key)
  }

  /** How many callers wait for the current computation of this key. */
  callers(key: K): number {
    return this.#current.get(key)?.callers.size ?? 0
  }

  /**
   * Frees the key: the next join starts a new computation, while the callers attached so far still get the old
   * computation's outcome. For invalidation: a value read before a delete must not answer after it.
   * False when there was none.
   */
  detach(key: K): boolean {
    return this.#current.delete(key)
  }

  /** Fails all callers of the key's computation with `HDL_CANCELLED` and aborts it. False when there was none. */
  cancel(key: K, reason?: unknown): boolean {
    const flight = this.#current.get(key)
    if (flight === undefined) return false
    this.#abandon(flight, cancelled(flight.what, reason ?? 'cancelled by name'))
    return true
  }

  /** Cancels every computation that callers may wait for, detached ones included. Returns how many. */
  cancelAll(reason?: unknown): number {
    const flights = [...this.#flying]
    for (const flight of flights) {
      this.#abandon(flight, cancelled(flight.what, reason ?? 'all were cancelled'))
    }
    return flights.length
  }

  /**
   * Waits until no computation runs, abandoned ones included.
   *
   * *Cancellation*: leaves nothing behind; the computations continue.
   * *Fairness*: all waiting callers are notified at once.
   */
  waitIdle(options: WaitOptions = {}): Promise<void> {
    return this.#idle.waitUnless(this.#running === 0, undefined, `${this.#name} idle`, options)
  }

  stats(): FlightsStats {
    return {
      flights: this.#current.size,
      callers: this.#callers,
      abandoned: this.#abandoned,
      started: this.#started,
      shared: this.#shared,
      succeeded: this.#succeeded,
      failed: this.#failed,
      unheard: this.#unheard,
      rejected: this.#rejected,
    }
  }

  #describe(key: K): string {
    return typeof key === 'string' || typeof key === 'number'
      ? `${this.#name} "${key}"`
      : this.#name
  }

  #attach(flight: Flight<K, V>, options: WaitOptions): Promise<V> {
    this.#callers++
    return flight.callers.wait(flight.what, options)
  }

  #onLeave(flight: Flight<K, V>): void {
    this.#callers--
    if (flight.flying && flight.callers.size === 0 && !flight.keep) {
      this.#abandon(flight, cancelled(flight.what, 'its last caller has left', 'disconnect'))
    }
  }

  #abandon(flight: Flight<K, V>, reason: HeddleError): void {
    if (!flight.flying) return
    flight.flying = false
    this.#forget(flight)
    this.#abandoned++
    flight.callers.failAll(reason)
    // Last, because its listeners run now and may join the same key again.
    flight.controller.abort(reason)
  }

  #land(flight: Flight<K, V>, value: V): void {
    this.#settle(flight)
    this.#succeeded++
    this.#callers -= flight.callers.wakeAll(value)
    this.#tellIdle()
  }

  #crash(flight: Flight<K, V>, error: unknown): void {
    this.#settle(flight)
    this.#failed++
    if (flight.callers.size === 0) this.#unheard++
    flight.callers.failAll(error)
    this.#tellIdle()
  }

  #settle(flight: Flight<K, V>): void {
    if (flight.flying) this.#forget(flight)
    else this.#abandoned--
    flight.flying = false
    this.#running--
  }

  /** I5: the key may belong to a newer flight by now. */
  #forget(flight: Flight<K, V>): void {
    this.#flying.delete(flight)
    if (this.#current.get(flight.key) === flight) this.#current.delete(flight.key)
  }

  #tellIdle(): void {
    if (this.#running === 0) this.#idle.wakeAll()
  }
}
