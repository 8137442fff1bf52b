/**
 * Which caller waits for which result.
 *
 *            open / wait
 *                │
 *                ├─ gone already, or found at once, or refused ─▶ ended (never registered, id 0)
 *                ▼
 *            registered ── first of: success · error · timeout · disconnect · supersede · cancel ─▶ ended
 *
 * A request is identified by (handle, index, id): the handle names the content, the index one of
 * its results, the id the caller.
 *
 * Invariants, quoted by the tests:
 *  I1  A request ends exactly once, and with the first thing that happened to it.
 *  I2  A request is in the table exactly while it is pending; when it leaves, its deadline and its
 *      listeners leave in the same step.
 *  I3  Ids of one (handle, index) grow from 1 and are never used twice, not even after the key was
 *      forgotten.
 *  I4  submitted = active + success + error + timeout + disconnected + superseded + cancelled + rejected.
 *  I5  `gone()` aborts exactly when the last request of its key left unserved; being served is not
 *      leaving, and a later caller gets a new signal.
 *  I6  Looking for a recorded result and registering is one step: a completion is seen by one of them.
 *  I7  At most `maxWaitersPerKey` per key and `maxWaiters` in all; a refused caller costs no entry.
 *
 * Why ids survive forgetting (I3): remembering the last id of every key for ever is a leak, and
 * starting again at 1 lets a late cancel of an old request hit a new one. So the last ids of
 * `remembered` idle keys are kept, and when one is dropped its last id becomes the floor from which
 * all new keys count.
 *
 * Prior art: a map from key to a list of futures, as in most services. It loses wake-ups when the
 * check and the registration have an await between them, overwrites waiters that share an id, picks
 * any of two simultaneous winners, and leaves the inner wait alive when the outer one is cancelled.
 *
 * Known limit: `gone()` and `cancelRequest` run abort listeners synchronously, as AbortSignal does.
 */

import { HeddleError, cancelled, describe, isError, reasonError, withoutStack } from '../errors.ts'
import { followAbort, unfollowAbort, type AbortFollower } from '../kernel/abort.ts'
import { checkCount, checkName, checkOptions, type OptionNames } from '../kernel/check.ts'
import { Deadlines, type Due } from '../kernel/deadlines.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { LinkedList, type ListItem } from '../kernel/linked-list.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import type { AbandonPolicy } from './flights.ts'
import { noOutcomes, outcomeOf, type Outcome, type OutcomeCounts } from './outcomes.ts'
import type { SlotTicket } from './slots.ts'

/** A result that was there already. Wrapped, so that `undefined` can be a result. */
export interface Found<V> {
  readonly value: V
}

export interface RegistryOptions {
  /** Names the waits in errors. `Result` when absent. */
  readonly name?: string | undefined
  readonly kernel?: Kernel | undefined
  /** 10,000 when absent. */
  readonly maxWaitersPerKey?: number | undefined
  /** 100,000 when absent. */
  readonly maxWaiters?: number | undefined
  /** Idle keys whose ids are remembered, so that `cancelRequest` can tell done from unknown. 1,000 when absent. */
  readonly remembered?: number | undefined
  /** Whether {@link Registry.gone} ever aborts. `cancel` when absent. */
  readonly whenAbandoned?: AbandonPolicy | undefined
}

export interface RegistryWaitOptions<V> extends WaitOptions {
  /** Aborts when the client has gone: ends the request as `disconnected`. */
  readonly disconnect?: AbortSignal | undefined
  /** Ends the request as `superseded` when a newer one takes the slot. */
  readonly slot?: SlotTicket | undefined
  /**
   * Looks up an existing result. It throws when there will never be one.
   * The code that completes the work stores the value where `look` finds it *before* notifying; then no
   * completion can fall between the lookup and the registration.
   */
  readonly look?: (() => Found<V> | undefined | PromiseLike<Found<V> | undefined>) | undefined
}

/** One waiting caller. */
export interface RegistryRequest<V> extends Disposable {
  readonly handle: string
  readonly index: number
  /** From 1, growing per (handle, index). 0 when the request ended before it was registered. */
  readonly id: number
  /** The result. Its rejection needs no handler: `outcome` keeps it, so other awaits may come first. */
  readonly done: Promise<V>
  /** Undefined while it waits. */
  readonly outcome: Outcome | undefined
  /** Ends the request with `HDL_CANCELLED`. False when it had ended already. Disposing does the same. */
  cancel(reason?: unknown): boolean
}

/** The outcome of an attempt to cancel. */
export type CancelAnswer = 'cancelled' | 'already_done' | 'unknown'

export interface RegistryStats {
  /** Requests that wait now. */
  readonly active: number
  /** (handle, index) pairs that a caller waits for. */
  readonly keys: number
  /** Idle pairs whose ids are remembered. */
  readonly remembered: number
  readonly submitted: number
  readonly outcomes: OutcomeCounts
}

/** A signal that ends a request. */
class Source<V> implements AbortFollower {
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly signal: AbortSignal
  readonly #entry: Entry<V>
  readonly #disconnect: boolean

  constructor(entry: Entry<V>, signal: AbortSignal, disconnect: boolean) {
    this.signal = signal
    this.#entry = entry
    this.#disconnect = disconnect
  }

  onAbort(reason: unknown): void {
    const toError = this.#disconnect ? disconnected : reasonError
    this.#entry.leave(toError(this.#entry.what, reason))
  }
}

function disconnected(what: string, reason: unknown): HeddleError {
  if (!isError(reason, 'HDL_CANCELLED')) return cancelled(what, reason, 'disconnect')
  if (reason.details.source === 'disconnect') return reason
  return cancelled(what, describe(reason), 'disconnect')
}

/** Many may be due at once, and the stack would be that of a timer. */
function timedOut(what: string, limit: number): HeddleError {
  return withoutStack(() => new HeddleError('HDL_TIMEOUT', { what, limit }))
}

const ignore = (): void => undefined

class Entry<V> implements RegistryRequest<V>, Due {
  heapIndex = -1
  dueAt = 0
  readonly registry: RegistryCore<V>
  readonly handle: string
  readonly index: number
  readonly done: Promise<V>
  id = 0
  outcome: Outcome | undefined
  /** The key while it is registered. */
  key: Key<V> | undefined
  limit = Infinity
  sources: Source<V>[] | undefined
  resolve!: (value: V) => void
  reject!: (error: unknown) => void

  constructor(registry: RegistryCore<V>, handle: string, index: number) {
    this.registry = registry
    this.handle = handle
    this.index = index
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  get what(): string {
    const id = this.id === 0 ? '' : ` request ${this.id}`
    return `${this.registry.name} "${this.handle}" [${this.index}]${id}`
  }

  cancel(reason?: unknown): boolean {
    return this.leave(reasonError(this.what, reason ?? 'the request was cancelled'))
  }

  leave(error: HeddleError): boolean {
    return this.registry.fail(this, error, false)
  }

  [Symbol.dispose](): void {
    if (this.outcome === undefined) this.cancel('the request was disposed')
  }
}

/** The calls that an entry makes to its registry. */
interface RegistryCore<V> {
  readonly name: string
  fail(entry: Entry<V>, error: unknown, served: boolean): boolean
}

/** One (handle, index). In the idle list while no caller waits. */
class Key<V> implements ListItem<Key<V>> {
  list: object | undefined
  previous: Key<V> | undefined
  next: Key<V> | undefined
  readonly owner: Handle<V>
  readonly index: number
  /** Keyed by id; a Map keeps the order of registration. */
  readonly entries = new Map<number, Entry<V>>()
  /** The first id that was given out here: smaller ones belong to a forgotten past. */
  readonly firstId: number
  nextId: number
  controller: AbortController | undefined

  constructor(owner: Handle<V>, index: number, firstId: number) {
    this.owner = owner
    this.index = index
    this.firstId = firstId
    this.nextId = firstId
  }
}

class Handle<V> {
  readonly name: string
  readonly keys = new Map<number, Key<V>>()
  active = 0
  controller: AbortController | undefined

  constructor(name: string) {
    this.name = name
  }
}

const optionNames = {
  name: 1,
  kernel: 1,
  maxWaitersPerKey: 1,
  maxWaiters: 1,
  remembered: 1,
  whenAbandoned: 1,
} satisfies OptionNames<RegistryOptions>

/**
 * Waiters by (handle, index, request id).
 *
 * When to use: results are made elsewhere (a queue, a thread, a fleet) and delivered by name. When
 * the caller itself can start the work, `Flights` is simpler.
 *
 * @example
 * const registry = new Registry<number>()
 * const stored = new Map<string, number>()
 * const look = () => stored.has('h') ? { value: stored.get('h')! } : undefined
 * const result = registry.wait('h', 0, { signal, deadline: 30_000, look })
 * // elsewhere, when the work is done: store first, then tell
 * stored.set('h', 42)
 * registry.notifySuccess('h', 0, 42)
 * await result // => 42
 */
export class Registry<V> {
  readonly #kernel: Kernel
  readonly #maxPerKey: number
  readonly #max: number
  readonly #remembered: number
  readonly #keep: boolean
  readonly #handles = new Map<string, Handle<V>>()
  readonly #idleKeys = new LinkedList<Key<V>>()
  readonly #deadlines: Deadlines<Entry<V>>
  readonly #core: RegistryCore<V>
  readonly #counts = noOutcomes()
  #active = 0
  #activeKeys = 0
  #submitted = 0
  /** No id at or below it is given to a new key (I3). */
  #floor = 0

  constructor(options: RegistryOptions = {}) {
    checkOptions(options, optionNames)
    this.#kernel = options.kernel ?? systemKernel
    this.#maxPerKey = checkCount('maxWaitersPerKey', options.maxWaitersPerKey ?? 10_000, 1, true)
    this.#max = checkCount('maxWaiters', options.maxWaiters ?? 100_000, 1, true)
    this.#remembered = checkCount('remembered', options.remembered ?? 1_000, 0)
    this.#keep = options.whenAbandoned === 'keep'
    this.#core = {
      name: checkName('name', options.name ?? 'Result'),
      fail: (entry, error, served) => this.#fail(entry, error, served),
    }
    this.#deadlines = new Deadlines(this.#kernel.clock, (entry) => {
      this.#fail(entry, timedOut(entry.what, entry.limit), false)
    })
  }

  /** How many requests wait. */
  get size(): number {
    return this.#active
  }

  /**
   * Waits for the result of (handle, index).
   *
   * *Cancellation*: `signal`, `disconnect`, `slot` and `deadline` end this request only; its entry,
   * timer and listeners are gone in the same step. If several of these happen in one turn, the
   * first wins.
   *
   * *Fairness*: waiters of a key are notified in the order in which they came.
   *
   * @throws `HDL_TOO_MANY_WAITERS`, `HDL_CANCELLED`, `HDL_SUPERSEDED`, `HDL_TIMEOUT`, what `look`
   * threw, what {@link notifyError} was given.
   */
  wait(handle: string, index: number, options: RegistryWaitOptions<V> = {}): Promise<V> {
    return this.#submit(handle, index, options).done
  }

  /** {@link wait} for callers that need the id, or await something else first. Use it with `using`. */
  open(handle: string, index: number, options: RegistryWaitOptions<V> = {}): RegistryRequest<V> {
    const entry = this.#submit(handle, index, options)
    entry.done.catch(ignore)
    return entry
  }

  /**
   * Gives the result to request `id`, or to all callers that wait for (handle, index). Returns how many were notified.
   */
  notifySuccess(handle: string, index: number, value: V, id?: number): number {
    let told = 0
    for (const entry of this.#addressed(handle, index, id)) if (this.#succeed(entry, value)) told++
    return told
  }

  /** Like {@link notifySuccess}, with an error: every caller gets the same object. */
  notifyError(handle: string, index: number, error: unknown, id?: number): number {
    let told = 0
    for (const entry of this.#addressed(handle, index, id)) {
      if (this.#fail(entry, error, true)) told++
    }
    return told
  }

  /** Ends one request with `HDL_CANCELLED`. All others are untouched. */
  cancelRequest(handle: string, index: number, id: number, reason?: unknown): CancelAnswer {
    const key = this.#handles.get(handle)?.keys.get(index)
    if (key === undefined || id < key.firstId || id >= key.nextId) return 'unknown'
    return key.entries.get(id)?.cancel(reason) ? 'cancelled' : 'already_done'
  }

  /** Ends all requests of a handle, with one error for all of them. Returns how many. */
  cancelAllForHandle(handle: string, reason: unknown = 'its requests were cancelled'): number {
    const keys = this.#handles.get(handle)?.keys.values()
    return keys === undefined ? 0 : this.#cancelEach(keys, `${this.#core.name} "${handle}"`, reason)
  }

  /** Ends all requests, with one error for all of them. Later ones are welcome. Returns how many. */
  cancelAll(reason: unknown = 'all requests were cancelled'): number {
    const keys: Key<V>[] = []
    for (const handle of this.#handles.values()) {
      for (const key of handle.keys.values()) keys.push(key)
    }
    return this.#cancelEach(keys, this.#core.name, reason)
  }

  /** How many wait for the handle, or for one of its results. */
  active(handle: string, index?: number): number {
    const owner = this.#handles.get(handle)
    if (owner === undefined) return 0
    return index === undefined ? owner.active : (owner.keys.get(index)?.entries.size ?? 0)
  }

  /**
   * A signal for the work itself: it aborts with `HDL_CANCELLED` when the last caller that waits now
   * for the handle (or for one of its results) has left without a result. It never aborts when the
   * last one was served, and never under the policy `keep`. Already aborted when no caller waits.
   */
  gone(handle: string, index?: number): AbortSignal {
    const owner = this.#handles.get(handle)
    const group = index === undefined ? owner : owner?.keys.get(index)
    if (group === undefined || this.active(handle, index) === 0) {
      return this.#keep ? new AbortController().signal : AbortSignal.abort(this.#goneError(handle))
    }
    return (group.controller ??= new AbortController()).signal
  }

  stats(): RegistryStats {
    return {
      active: this.#active,
      keys: this.#activeKeys,
      remembered: this.#idleKeys.size,
      submitted: this.#submitted,
      outcomes: { ...this.#counts },
    }
  }

  #submit(handle: string, index: number, options: RegistryWaitOptions<V>): Entry<V> {
    const { signal, disconnect, slot, deadline, look } = options
    this.#submitted++
    const entry = new Entry(this.#core, handle, index)
    // A caller that has left already is refused without a query to the store.
    if (disconnect?.aborted) this.#fail(entry, disconnected(entry.what, disconnect.reason), false)
    else if (signal?.aborted) this.#fail(entry, reasonError(entry.what, signal.reason), false)
    else if (slot?.stale) this.#fail(entry, slot.signal.reason, false)
    else if (deadline !== undefined && !(deadline > 0)) {
      this.#fail(entry, timedOut(entry.what, deadline), false)
    } else this.#look(entry, look, options)
    return entry
  }

  /** I6: nothing is awaited between the lookup and the registration. */
  #look(
    entry: Entry<V>,
    look: RegistryWaitOptions<V>['look'],
    options: RegistryWaitOptions<V>,
  ): void {
    if (look === undefined) return this.#register(entry, options)
    let found: ReturnType<typeof look>
    try {
      found = look()
    } catch (error) {
      this.#fail(entry, error, true)
      return
    }
    if (found === undefined) return this.#register(entry, options)
    if (!('then' in found)) {
      this.#succeed(entry, found.value)
      return
    }
    // A look that takes time is overtaken by a completion: so register first, then await.
    this.#register(entry, options)
    found.then(
      (late) => {
        if (late !== undefined) this.#succeed(entry, late.value)
      },
      (error: unknown) => this.#fail(entry, error, true),
    )
  }

  #register(entry: Entry<V>, options: RegistryWaitOptions<V>): void {
    const owner = this.#handles.get(entry.handle)
    const known = owner?.keys.get(entry.index)
    const { name } = this.#core
    if (this.#active >= this.#max) {
      return this.#refuse(entry, name, this.#max)
    }
    if (known !== undefined && known.entries.size >= this.#maxPerKey) {
      return this.#refuse(entry, `${name} "${entry.handle}" [${entry.index}]`, this.#maxPerKey)
    }
    const key = known ?? this.#remember(entry.handle, entry.index)
    if (key.entries.size === 0) {
      this.#idleKeys.remove(key)
      this.#activeKeys++
    }
    entry.key = key
    entry.id = key.nextId++
    key.entries.set(entry.id, entry)
    key.owner.active++
    this.#active++
    this.#arm(entry, options)
  }

  #refuse(entry: Entry<V>, what: string, limit: number): void {
    this.#fail(entry, new HeddleError('HDL_TOO_MANY_WAITERS', { what, limit }), false)
  }

  #remember(handle: string, index: number): Key<V> {
    let owner = this.#handles.get(handle)
    if (owner === undefined) this.#handles.set(handle, (owner = new Handle(handle)))
    const key = new Key(owner, index, this.#floor + 1)
    owner.keys.set(index, key)
    return key
  }

  #arm(entry: Entry<V>, options: RegistryWaitOptions<V>): void {
    const { signal, disconnect, slot, deadline } = options
    if (disconnect !== undefined) this.#follow(entry, disconnect, true)
    if (signal !== undefined) this.#follow(entry, signal, false)
    if (slot !== undefined) this.#follow(entry, slot.signal, false)
    if (deadline !== undefined && deadline !== Infinity) {
      entry.limit = deadline
      this.#deadlines.set(entry, this.#kernel.clock.now() + deadline)
    }
  }

  #follow(entry: Entry<V>, signal: AbortSignal, disconnect: boolean): void {
    const source = new Source(entry, signal, disconnect)
    ;(entry.sources ??= []).push(source)
    followAbort(signal, source)
  }

  #addressed(handle: string, index: number, id: number | undefined): Iterable<Entry<V>> {
    const entries = this.#handles.get(handle)?.keys.get(index)?.entries
    if (entries === undefined) return []
    if (id === undefined) return [...entries.values()]
    const entry = entries.get(id)
    return entry === undefined ? [] : [entry]
  }

  #cancelEach(keys: Iterable<Key<V>>, what: string, reason: unknown): number {
    // Listed first, because listeners of the first one may add or end others.
    const entries: Entry<V>[] = []
    for (const key of keys) for (const entry of key.entries.values()) entries.push(entry)
    if (entries.length === 0) return 0
    const error = reasonError(what, reason)
    let count = 0
    for (const entry of entries) if (entry.leave(error)) count++
    return count
  }

  #succeed(entry: Entry<V>, value: V): boolean {
    if (entry.outcome !== undefined) return false
    // An abort listener that ran before ours may have made this result: the client had gone first.
    const gone = entry.sources?.find((source) => source.signal.aborted)
    if (gone !== undefined) {
      gone.onAbort(gone.signal.reason)
      return false
    }
    this.#end(entry, 'success')
    entry.resolve(value)
    this.#tellGone(entry, true)
    return true
  }

  #fail(entry: Entry<V>, error: unknown, served: boolean): boolean {
    if (entry.outcome !== undefined) return false
    this.#end(entry, outcomeOf(error))
    entry.reject(error)
    this.#tellGone(entry, served)
    return true
  }

  #end(entry: Entry<V>, outcome: Outcome): void {
    entry.outcome = outcome
    this.#counts[outcome]++
    const { key, sources } = entry
    if (key === undefined) return
    key.entries.delete(entry.id)
    key.owner.active--
    this.#active--
    if (sources !== undefined) {
      for (const source of sources) unfollowAbort(source.signal, source)
      entry.sources = undefined
    }
    this.#deadlines.delete(entry)
    if (this.#active === 0) this.#deadlines.releaseTimer()
    if (key.entries.size === 0) this.#retire(key)
  }

  /** Keeps the ids of an idle key for a while (I3). */
  #retire(key: Key<V>): void {
    this.#activeKeys--
    this.#idleKeys.push(key)
    if (this.#idleKeys.size <= this.#remembered) return
    const oldest = this.#idleKeys.shift()!
    this.#floor = Math.max(this.#floor, oldest.nextId - 1)
    oldest.owner.keys.delete(oldest.index)
    if (oldest.owner.keys.size === 0) this.#handles.delete(oldest.owner.name)
  }

  /** Last of all, because abort listeners run now and may call us. */
  #tellGone(entry: Entry<V>, served: boolean): void {
    const { key } = entry
    if (key === undefined || key.entries.size > 0) return
    const { owner } = key
    const ofKey = key.controller
    const ofHandle = owner.active > 0 ? undefined : owner.controller
    key.controller = undefined
    if (owner.active === 0) owner.controller = undefined
    if (served || this.#keep) return
    ofKey?.abort(this.#goneError(entry.handle))
    ofHandle?.abort(this.#goneError(entry.handle))
  }

  #goneError(handle: string): HeddleError {
    const what = `${this.#core.name} "${handle}"`
    const reason = 'its last caller has left'
    return new HeddleError('HDL_CANCELLED', { what, source: 'disconnect', reason })
  }
}
