/**
 * Resources that several users share: opened by the first, closed after the last.
 *
 * One entry for each key. Its state is one field, so value, resource and users change in one step:
 *
 *   (nothing) ──first use──▶ opening ──opened──▶ open ──last lease gone──▶ closing ──▶ (nothing)
 *                   ▲           │ │                │ ▲                       │  │
 *                   │           │ └─failed─▶ (nothing), callers notified  │  │
 *                   │           │                  │ └───use───┐             │  │
 *                   │           │ last asker gone  └──linger───┘             │  │
 *                   │           ▼                                            │  │
 *                   │        unwanted ──────opened anyway──▶ closing         │  │
 *                   └──────────────── a caller asked meanwhile ◀─────────────┘  │
 *                                                                        (else) ▼
 *
 *  H1  At most one resource of a key exists, counted from the start of its open to the end of its
 *      close: an open begins only when the close before it has ended.
 *  H2  However many callers there are, there is one open. All of them get its resource, or its error.
 *  H3  Leases are counted for each key. The close begins when the last one is given back (or
 *      `linger` later) and not before.
 *  H4  An entry is in the map exactly while a caller asks for it, uses it, or something is under way. A caller
 *      in that time waits in this entry, never in a second one.
 *  H5  Who aborts leaves alone. When the last asker leaves during the open, the open sees it by its
 *      signal, and a resource that it still opens is closed.
 *  H6  Each error of a close is reported once: to the lease whose disposal waits for that close,
 *      otherwise to `onCloseError`, otherwise by `close()`.
 *
 * Prior art: tractor's `maybe_open_context`, as it was before its race was found. There the value, the
 * resource and the lock of a key lived in three maps with different lifetimes; a caller that came while
 * the resource was closing made a new lock, found the value gone and the resource still there. Here
 * that user finds the entry in state `closing` and waits in it (H1, H4).
 *
 * Known limits: an `open` or `close` that never settles keeps its key busy, and its callers wait
 * up to their own deadlines; an `open` that uses its own key waits for itself.
 */
import { inspect } from 'node:util'
import { HeddleError, cancelled, describe } from '../errors.ts'
import { callAsync } from '../kernel/call.ts'
import { checkDuration, type OptionNames } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { Deadlines, type Due } from '../kernel/deadlines.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { basics, syncOptionNames, type SyncOptions } from './sync-options.ts'

const defaultCloseDeadline = 30_000
/** This many unreported close errors are kept; the rest is counted. */
const keptErrors = 100

export interface SharedOptions<K, V> extends SyncOptions {
  /** Makes the resource. The signal aborts when no caller wants it any more. */
  readonly open: (key: K, context: { readonly signal: AbortSignal }) => V | PromiseLike<V>
  /** Takes the resource down. */
  readonly close: (value: V, key: K) => void | PromiseLike<void>
  /** Milliseconds a resource stays open after its last user, for the next one. 0 when absent. */
  readonly linger?: number | undefined
  /**
   * How long disposing the last lease waits for the close, 30,000 ms when absent. The key is not
   * opened again before the close has ended, however long it takes.
   */
  readonly closeDeadline?: number | undefined
  /** Called when a close failed and no lease waits for it. */
  readonly onCloseError?: ((error: HeddleError<'HDL_CLOSE_FAILED'>, key: K) => void) | undefined
}

export interface SharedStats {
  readonly keys: number
  readonly opening: number
  readonly open: number
  readonly closing: number
  /** Leases that are not released. */
  readonly leases: number
  readonly waiting: number
}

type State<V> =
  | { readonly is: 'opening'; readonly controller: AbortController }
  | { readonly is: 'unwanted' }
  | { readonly is: 'open'; readonly value: V; leases: number }
  | { readonly is: 'closing' }
  | { readonly is: 'gone' }

class KeyEntry<K, V> implements Due {
  heapIndex = -1
  dueAt = 0
  readonly key: K
  readonly askers: WaiterList<Lease<K, V>>
  /** The lease, at most one, whose disposal waits for the close. */
  readonly closers: WaiterList<void>
  state: State<V> = { is: 'gone' }

  constructor(key: K, clock: Clock, maxWaiters: number) {
    this.key = key
    this.askers = new WaiterList(clock, maxWaiters)
    this.closers = new WaiterList(clock)
  }
}

/** How a lease reaches back into its `Shared`. */
interface Owner<K, V> {
  readonly what: string
  /** True when this was the last one and the close has begun. */
  giveBack(entry: KeyEntry<K, V>): boolean
  waitClosed(entry: KeyEntry<K, V>): Promise<void>
}

/**
 * The right to use a shared resource. Give it back with `await using`, or with `release()`. Twice is
 * harmless.
 */
export class Lease<K, V> implements AsyncDisposable, Disposable {
  readonly #owner: Owner<K, V>
  readonly #entry: KeyEntry<K, V>
  readonly #value: V
  #released = false

  /** @internal Made by `Shared`. */
  constructor(owner: Owner<K, V>, entry: KeyEntry<K, V>, value: V) {
    this.#owner = owner
    this.#entry = entry
    this.#value = value
  }

  get key(): K {
    return this.#entry.key
  }

  /**
   * The resource.
   *
   * @throws `HDL_NOT_HELD` after the lease was given back: the resource may be closed by then.
   */
  get value(): V {
    if (this.#released) throw new HeddleError('HDL_NOT_HELD', { what: this.#owner.what })
    return this.#value
  }

  get released(): boolean {
    return this.#released
  }

  /** Gives it back. When it was the last one the close begins; no caller waits for it. */
  release(): void {
    this.#giveBack()
  }

  [Symbol.dispose](): void {
    this.#giveBack()
  }

  /**
   * Gives it back and, when it was the last one, waits for the close.
   *
   * *Cancellation*: the wait ends after `closeDeadline` with `HDL_TIMEOUT`; the close continues.
   * *Fairness*: none needed.
   *
   * @throws `HDL_CLOSE_FAILED` when that close fails.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#giveBack()) await this.#owner.waitClosed(this.#entry)
  }

  #giveBack(): boolean {
    if (this.#released) return false
    this.#released = true
    return this.#owner.giveBack(this.#entry)
  }
}

const optionNames = {
  ...syncOptionNames,
  open: 1,
  close: 1,
  linger: 1,
  closeDeadline: 1,
  onCloseError: 1,
} satisfies OptionNames<SharedOptions<unknown, unknown>>

/**
 * Ref-counted async resources by key.
 *
 * @example
 * const databases = new Shared({
 *   open: (path: string, { signal }) => connect(path, signal),
 *   close: (database) => database.end(),
 *   linger: 1000,
 * })
 * {
 *   await using lease = await databases.use('main.db', { signal, deadline: 5000 })
 *   await lease.value.query('select 1')
 * }
 * await databases.close()
 */
export class Shared<K, V> implements AsyncDisposable {
  readonly #what: string
  readonly #clock: Clock
  readonly #maxWaiters: number
  readonly #options: SharedOptions<K, V>
  readonly #linger: number
  readonly #closeDeadline: number
  readonly #entries = new Map<K, KeyEntry<K, V>>()
  readonly #lingering: Deadlines<KeyEntry<K, V>>
  readonly #empty: WaiterList<void>
  readonly #owner: Owner<K, V>
  #untold: HeddleError<'HDL_CLOSE_FAILED'>[] = []
  #untoldCount = 0
  #closed = false

  constructor(options: SharedOptions<K, V>) {
    const { what, kernel, maxWaiters } = basics('Shared', options, optionNames)
    this.#what = what
    this.#clock = kernel.clock
    this.#maxWaiters = maxWaiters
    this.#options = options
    this.#linger = checkDuration('linger', options.linger ?? 0)
    this.#closeDeadline = checkDuration(
      'closeDeadline',
      options.closeDeadline ?? defaultCloseDeadline,
    )
    this.#lingering = new Deadlines(kernel.clock, (entry) => this.#closeUnused(entry))
    this.#empty = new WaiterList(kernel.clock)
    this.#owner = {
      what,
      giveBack: (entry) => this.#giveBack(entry),
      waitClosed: (entry) =>
        entry.closers.wait(`${what} (close)`, { deadline: this.#closeDeadline }),
    }
  }

  /**
   * Waits until the key's resource is open, opening it when it is not.
   *
   * *Cancellation*: a caller that aborts or is late leaves alone; the others keep waiting for the same open.
   * *Fairness*: every caller gets the resource in the same step, in order of arrival.
   *
   * @throws whatever `open` threw, the same error for all waiting callers; `HDL_CLOSED` after `close()`.
   */
  use(key: K, options: WaitOptions = {}): Promise<Lease<K, V>> {
    const { signal } = options
    if (this.#closed) return Promise.reject(this.#closedError())
    if (signal?.aborted) return Promise.reject(cancelled(this.#what, signal.reason))
    const lease = this.tryUse(key)
    if (lease !== undefined) return Promise.resolve(lease)
    const present = this.#entries.get(key)
    const entry = present ?? this.#newEntry(key)
    const asked = entry.askers.wait(this.#what, options)
    // With no time left the caller does not wait, and then nothing is opened for it.
    if (present === undefined && entry.askers.size > 0) {
      this.#entries.set(key, entry)
      this.#open(entry)
    }
    return asked
  }

  /** Uses the resource when it is open already; undefined otherwise. */
  tryUse(key: K): Lease<K, V> | undefined {
    const entry = this.#entries.get(key)
    if (this.#closed || entry?.state.is !== 'open') return undefined
    if (this.#lingering.delete(entry)) this.#lingering.releaseTimer()
    entry.state.leases++
    return new Lease(this.#owner, entry, entry.state.value)
  }

  /** Whether the key has a resource, or one is being opened or closed. */
  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /**
   * No more uses: waiting callers get `HDL_CLOSED`. Waits until all leases are given back and all
   * resources are closed. `await using` calls it.
   *
   * *Cancellation*: ends the wait only; closes under way continue.
   * *Fairness*: every caller is woken, in order of arrival.
   *
   * @throws `HDL_CLOSE_FAILED` with all `errors` of closes that were not reported.
   */
  async close(options: WaitOptions = {}): Promise<void> {
    if (!this.#closed) {
      this.#closed = true
      for (const entry of this.#entries.values()) {
        entry.askers.failAll(this.#closedError())
        if (entry.state.is === 'open' && entry.state.leases === 0) this.#closeUnused(entry)
      }
      this.#lingering.close()
    }
    if (this.#entries.size > 0) await this.#empty.wait(`${this.#what} (close)`, options)
    const [first] = this.#untold
    if (first === undefined) return
    const { key, cause } = first.details
    const details = { what: this.#what, key, count: this.#untoldCount, cause }
    const errors = this.#untold
    this.#untold = []
    this.#untoldCount = 0
    throw new HeddleError('HDL_CLOSE_FAILED', details, { cause: first, errors })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Walks over all keys. */
  stats(): SharedStats {
    const stats = {
      keys: this.#entries.size,
      opening: 0,
      open: 0,
      closing: 0,
      leases: 0,
      waiting: 0,
    }
    for (const { state, askers } of this.#entries.values()) {
      stats.waiting += askers.size
      if (state.is === 'open') {
        stats.open++
        stats.leases += state.leases
      } else if (state.is === 'closing') stats.closing++
      else stats.opening++
    }
    return stats
  }

  #newEntry(key: K): KeyEntry<K, V> {
    const entry = new KeyEntry<K, V>(key, this.#clock, this.#maxWaiters)
    entry.askers.onLeave = () => this.#onLeave(entry)
    return entry
  }

  #closedError(): HeddleError<'HDL_CLOSED'> {
    return new HeddleError('HDL_CLOSED', { what: this.#what })
  }

  #open(entry: KeyEntry<K, V>): void {
    const controller = new AbortController()
    entry.state = { is: 'opening', controller }
    callAsync(() => this.#options.open(entry.key, { signal: controller.signal })).then(
      (value) => this.#onOpened(entry, value),
      (error: unknown) => this.#onOpenFailed(entry, error),
    )
  }

  /** An asker gave up. */
  #onLeave(entry: KeyEntry<K, V>): void {
    if (entry.state.is !== 'opening' || entry.askers.size > 0) return
    const { controller } = entry.state
    entry.state = { is: 'unwanted' }
    controller.abort(cancelled(this.#what, 'its last caller has left'))
  }

  #onOpened(entry: KeyEntry<K, V>, value: V): void {
    if (entry.state.is === 'unwanted') {
      this.#close(entry, value)
      return
    }
    const state = { is: 'open' as const, value, leases: 0 }
    entry.state = state
    for (let asker = entry.askers.first; asker !== undefined; asker = entry.askers.first) {
      if (asker.wake(new Lease(this.#owner, entry, value))) state.leases++
    }
    if (state.leases === 0) this.#onUnused(entry)
  }

  #onOpenFailed(entry: KeyEntry<K, V>, error: unknown): void {
    // No caller waits for an unwanted open: its error is the answer to the abort.
    if (entry.state.is === 'unwanted') {
      this.#onGone(entry)
      return
    }
    this.#drop(entry)
    entry.askers.failAll(error)
  }

  /** True when this was the last lease and the close has begun. */
  #giveBack(entry: KeyEntry<K, V>): boolean {
    const { state } = entry
    if (state.is !== 'open' || --state.leases > 0) return false
    return this.#onUnused(entry)
  }

  /** True when the close has begun. */
  #onUnused(entry: KeyEntry<K, V>): boolean {
    if (this.#linger === 0 || this.#closed) {
      this.#closeUnused(entry)
      return true
    }
    if (this.#linger !== Infinity) this.#lingering.set(entry, this.#clock.now() + this.#linger)
    return false
  }

  #closeUnused(entry: KeyEntry<K, V>): void {
    if (entry.state.is === 'open') this.#close(entry, entry.state.value)
  }

  #close(entry: KeyEntry<K, V>, value: V): void {
    entry.state = { is: 'closing' }
    callAsync(() => this.#options.close(value, entry.key)).then(
      () => {
        entry.closers.wakeAll()
        this.#onGone(entry)
      },
      (cause: unknown) => {
        this.#tell(entry, cause)
        this.#onGone(entry)
      },
    )
  }

  #tell(entry: KeyEntry<K, V>, cause: unknown): void {
    const error = new HeddleError(
      'HDL_CLOSE_FAILED',
      { what: this.#what, key: inspect(entry.key, { depth: 0 }), count: 1, cause: describe(cause) },
      { cause, errors: [cause] },
    )
    if (entry.closers.first?.fail(error)) return
    const { onCloseError } = this.#options
    if (onCloseError !== undefined) {
      try {
        onCloseError(error, entry.key)
        return
      } catch {
        // A handler that throws has not dealt with it: close() reports it.
      }
    }
    this.#untoldCount++
    if (this.#untold.length < keptErrors) this.#untold.push(error)
  }

  /** The resource is gone. A caller that asked meanwhile gets a new one, in the same entry. */
  #onGone(entry: KeyEntry<K, V>): void {
    if (entry.askers.size > 0) this.#open(entry)
    else this.#drop(entry)
  }

  #drop(entry: KeyEntry<K, V>): void {
    entry.state = { is: 'gone' }
    this.#entries.delete(entry.key)
    if (this.#entries.size === 0) this.#empty.wakeAll()
  }
}
