/**
 * Memory over a tier, as one.
 *
 * What a key can be, seen from a reader:
 *
 *                 in memory ── hit, nothing to wait for
 *                     │ evicted, or too large to keep
 *   change pending ── hit or "deleted", nothing to wait for
 *                     │ the tier has it
 *   unknown ────────▶ reading ─────────▶ in memory, or a miss
 *                     └─ a change comes: the readers get it at once, the tier's answer is dropped
 *
 * Every change gets a version and takes effect in one synchronous step: memory, the pending change
 * and the readers are brought up to date together, then the tier follows (write-behind.ts). So the
 * interesting races are gone by construction: an answer of the tier counts only if the key
 * is unchanged since it was asked for (lookup.ts).
 *
 *  C1  A read gives the newest change that had taken effect at some instant between its call and its
 *      end. Hence delete beats a slow read (S21), and so does clear (S24).
 *  C2  The last change wins in memory, on the tier, and after a restart (S22, S23): the tier gets
 *      each key's changes one at a time and in order, and nothing that is late resurrects.
 *  C3  A change whose promise is fulfilled is on the tier.
 *  C4  However many ask for a cold key, the tier is read once, and a value is computed once (S25). A
 *      caller's abort touches that caller only; the computation is aborted when the last one left.
 *  C5  A computed value is stored only if the key has not changed since the computation began.
 *  C6  A transaction sees and changes its key alone: other changes of that key wait, other keys and
 *      readers do not (S28). A clear ends it: the value it read is gone, so it cannot commit.
 *  C7  A derived entry is there only while its parent has the version that it was made from.
 *  C8  A delete takes no room in memory, so it cannot push out anything (S26). A key costs memory
 *      only while it is in the LRU or something is going on with it.
 *  C9  Nothing here runs on the loop for longer than a slice, whatever the size of the value (S27).
 *
 * Ownership: callers no longer change a value that they gave to the cache, or that came from
 * it. Values up to 128 KiB are encoded, that is copied, when they are set; larger ones while
 * they are written. Readers share one object.
 *
 * Prior art: the write-behind cache of an inference service, whose tombstones sat in the LRU, whose sets and
 * deletes reached the disk in any order, and whose one lock covered all keys (G16 to G24).
 *
 * Known limits: one process per tier. A change of a key from inside its own transaction waits for
 * itself; use the transaction's `set`. A text of 30 MB comes from the tier as a rope, and its first
 * use by the program flattens it in one go.
 */
import { HeddleError, cancelled, isError } from '../errors.ts'
import {
  checkCount,
  checkDuration,
  checkName,
  checkOptions,
  type OptionNames,
} from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { systemKernel } from '../kernel/kernel.ts'
import { Patience } from '../kernel/patience.ts'
import { Life, type RunningService, type StopOptions } from '../kernel/service.ts'
import { Slices } from '../kernel/slices.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import { Flights } from '../registry/flights.ts'
import { KeyedMutex } from '../sync/keyed.ts'
import type { Permit } from '../sync/permit.ts'
import { openScope, type Scope } from '../sync/scope.ts'
import { Encoder } from '../codec/encoder.ts'
import { stepBudget } from '../codec/sliced.ts'
import { Entry, Lineage, weightOf } from './entry.ts'
import { KeyStates, type Encoded, type KeyState } from './key-state.ts'
import { Lookup, type Known } from './lookup.ts'
import { Memory } from './upper-tier.ts'
import type {
  CacheEntry,
  CacheOptions,
  CacheStats,
  ComputeContext,
  KeepOptions,
  SetOptions,
} from './cache-options.ts'
import type { CacheTier, ParentVersion } from './tier.ts'
import { memoryTier } from './tiers/memory-tier.ts'
import { CacheTransaction, type Draft } from './transaction.ts'
import { TurnTime } from '../kernel/turn-time.ts'
import { WriteBehind } from './write-behind.ts'

/** Members of a family that leave memory in the same step as their parent; the rest follows in slices. */
const dropAtOnce = 1000

interface Limits {
  readonly maxEntries: number
  readonly maxBytes: number
  readonly maxValueBytes: number
  readonly ttl: number
}

/** The parent of a draft, as it is when the draft takes effect. */
type Parent = ParentVersion & { readonly expiresAt: number }

/** A change that has taken effect. */
interface Applied {
  /** Whether there was an entry before; undefined when only the tier knows. */
  readonly existed: boolean | undefined
  readonly parent: Parent | undefined
  /** Resolves with the tier's answer: whether it had an entry. */
  readonly durable: Promise<boolean>
}

/** How a change waits for its turn. */
interface Turn {
  readonly what: string
  readonly patience: Patience
  /** Asked in the step in which the change would take effect. */
  readonly isWanted: () => boolean
}

/**
 * A cache in two tiers: values ready for use in memory, and encoded in a tier below it.
 *
 * When to use: for results that cost more to make than to read. Made by {@link openCache}.
 *
 * Keys are well-formed strings. Values are plain data: what JSON has, and also `undefined` inside of
 * objects, bigints, dates, maps, sets and binary data. Values that were set or got must not be changed.
 *
 * @example
 * await using cache = await openCache<string>({ tier: diskTier({ directory: 'cache' }) })
 * const forecast = await cache.getOrCompute('sha256-7f3a', ({ signal }) => infer(text, signal))
 * cache.tryGet('sha256-7f3a') === forecast // => true
 */
export class Cache<V = unknown> implements RunningService, AsyncDisposable {
  readonly #name: string
  readonly #clock: Clock
  readonly #turnTime: TurnTime
  readonly #tier: CacheTier
  readonly #limits: Limits
  readonly #lineage = new Lineage<V>()
  readonly #memory: Memory<V>
  readonly #states: KeyStates<V>
  readonly #writes: WriteBehind<V>
  readonly #lookup: Lookup<V>
  readonly #locks: KeyedMutex<string>
  readonly #computations: Flights<string, V>
  readonly #transactions: Flights<object, unknown>
  /** Its own background work: making room. */
  readonly #background: Scope
  readonly #life: Life
  #lastVersion: number
  #clears = 0
  #hits = 0
  #computed = 0

  /** @internal Use {@link openCache}: the tier must be open. */
  constructor(options: CacheOptions, tier: CacheTier, lastVersion: number) {
    const kernel = options.kernel ?? systemKernel
    const name = checkName('name', options.name ?? 'Cache')
    const { clock } = kernel
    this.#name = name
    this.#clock = clock
    this.#turnTime = new TurnTime(clock)
    this.#tier = tier
    this.#lastVersion = lastVersion
    this.#limits = {
      maxEntries: checkCount('maxEntries', options.maxEntries ?? 10_000, 1, true),
      maxBytes: checkCount('maxBytes', options.maxBytes ?? 64 * 2 ** 20, 1, true),
      maxValueBytes: checkCount('maxValueBytes', options.maxValueBytes ?? 256 * 2 ** 20, 1, true),
      ttl: checkDuration('ttl', options.ttl ?? Infinity),
    }
    const pending = {
      maxPending: checkCount('maxPending', options.maxPending ?? 4096, 1, true),
      maxPendingBytes: checkCount('maxPendingBytes', options.maxPendingBytes ?? 2 ** 26, 1, true),
    }
    const lineage = this.#lineage
    const memory = (this.#memory = new Memory(this.#limits, lineage))
    const states = (this.#states = new KeyStates(clock))
    const writes = (this.#writes = new WriteBehind(tier, clock, states, lineage, pending, {
      encoded: (change) => memory.keep(change.entry!),
      lost: (state) => {
        // Counts like a change: a caller that has read it must not build on it.
        state.version = ++this.#lastVersion
        memory.drop(state.key)
        this.#endFamily(state.key)
      },
    }))
    const maxReads = checkCount('maxReads', options.maxReads ?? 64)
    const discard = (state: KeyState<V>): void => {
      this.#apply(state, { value: undefined, encoded: undefined }, undefined)
    }
    const parts = { name, kernel, maxReads, tier, states, memory, lineage, writes, discard }
    this.#lookup = new Lookup(parts)
    this.#locks = new KeyedMutex({ name, kernel })
    this.#background = openScope({ name, kernel })
    this.#computations = new Flights({ name: `${name} computation`, kernel })
    this.#transactions = new Flights({ name: `${name} transaction`, kernel })
    const stop = (enough: AbortSignal): Promise<void> => this.#stop(enough)
    this.#life = new Life({ what: name, clock, deadline: Infinity, stop })
  }

  /**
   * The value, if it is in memory; undefined otherwise, which says nothing about the tier.
   *
   * @throws `HDL_CLOSED`
   */
  tryGet(key: string): V | undefined {
    // Written out for speed: within 1.5 times of a bare lru-cache.
    const entry = this.#memory.get(key)
    if (entry !== undefined && (entry.isLasting || entry.isValid(this.#turnTime.now()))) {
      this.#hits++
      return entry.value
    }
    this.#checkOpen()
    const known = entry === undefined ? this.#lookup.findPending(key) : this.#lookup.find(key)
    return known?.value
  }

  /**
   * The value, from memory or from the tier; undefined when there is none.
   *
   * *Cancellation*: ends this caller's wait only; other callers of the same key are not affected.
   * *Fairness*: reads of the tier start in order of arrival.
   *
   * @throws `HDL_STORE_FAILED` when the tier cannot be read.
   */
  async get(key: string, options: WaitOptions = {}): Promise<V | undefined> {
    const value = this.tryGet(key)
    if (value !== undefined) return value
    this.#checkKey(key)
    return (await this.#lookup.read(key, options))?.value
  }

  /**
   * The value together with its version: the `parent` of derived entries.
   *
   * *Cancellation*: as `get`.
   * *Fairness*: as `get`.
   */
  async entry(key: string, options: WaitOptions = {}): Promise<CacheEntry<V> | undefined> {
    this.#checkKey(key)
    const entry = this.#lookup.find(key) ?? (await this.#lookup.read(key, options))
    return entry === undefined ? undefined : { key, value: entry.value, version: entry.version }
  }

  /**
   * Whether there is a value. Reads no value and does not count as a use.
   *
   * *Cancellation*: ends this caller's wait only.
   * *Fairness*: none needed: it waits for the tier alone.
   */
  async has(key: string, options: WaitOptions = {}): Promise<boolean> {
    this.#checkKey(key)
    const patience = new Patience(this.#name, this.#clock, options)
    const known = await this.#learn(key, patience)
    if (known === null) return false
    const { parent, isChecked } = known
    if (parent === undefined || isChecked) return true
    return (await this.#learn(parent.key, patience))?.version === parent.version
  }

  /**
   * Stores a value. Readers see it at once; the promise is fulfilled when the tier has it.
   *
   * *Cancellation*: while it waits for its turn (room, or a transaction on the key), nothing has
   * happened. Afterwards only the wait ends: the value stays.
   * *Fairness*: changes of one key take effect in order of arrival.
   *
   * @throws `HDL_NOT_CLONEABLE`, `HDL_VALUE_TOO_LARGE`; `HDL_GONE` when the parent has changed;
   * `HDL_STORE_FAILED` when the tier refused: the key is then deleted.
   */
  async set(key: string, value: V, options: SetOptions = {}): Promise<void> {
    this.#checkKey(key)
    await this.#change(key, this.#draft(key, value, options), `set "${key}"`, options)
  }

  /**
   * Deletes a value and everything derived from it. True when there was one; after a clear that came
   * in between it is not known, and it gives false.
   *
   * *Cancellation*: as `set`.
   * *Fairness*: as `set`.
   */
  async delete(key: string, options: WaitOptions = {}): Promise<boolean> {
    this.#checkKey(key)
    const draft = { value: undefined, encoded: undefined }
    return this.#change(key, draft, `delete "${key}"`, options)
  }

  /**
   * Deletes everything. Readers see it at once; the promise is fulfilled when the tier is empty.
   * Changes that were asked for before count as done before; transactions under way fail with
   * `HDL_GONE` if they want to commit.
   *
   * *Cancellation*: only the wait ends; the cache is cleared all the same.
   * *Fairness*: none needed: it does not wait for its turn.
   */
  async clear(options: WaitOptions = {}): Promise<void> {
    this.#checkOpen()
    const what = `${this.#name} clear`
    this.#checkPatience(what, options)
    this.#clears++
    this.#memory.clear()
    this.#lineage.endAll()
    for (const state of this.#states.values()) {
      this.#lookup.overtake(state, undefined)
      this.#computations.detach(state.key)
    }
    this.#writes.clear(++this.#lastVersion)
    await this.#writes.waitCleared(what, options)
  }

  /**
   * The value; when there is none, computes and stores it. All callers during the computation share it. It is fulfilled
   * when the value is there; the tier gets it afterwards.
   *
   * A value that is `undefined` is given to the callers and not stored. When the tier cannot be
   * read, the value is computed.
   *
   * *Cancellation*: ends this caller's wait only; with the last caller the computation's signal
   * aborts, and its late result is dropped.
   * *Fairness*: callers are notified in order of arrival.
   *
   * @throws what `compute` throws; nothing is stored then.
   */
  getOrCompute(
    key: string,
    compute: (context: ComputeContext) => V | Promise<V>,
    options: SetOptions = {},
  ): Promise<V> {
    // Not an async function: one that returns a promise makes a second one and takes three turns to settle it.
    try {
      const value = this.tryGet(key)
      if (value !== undefined) return Promise.resolve(value)
      this.#checkKey(key)
      return this.#computations.join(
        key,
        (signal) => this.#compute(key, compute, options, signal),
        options,
      )
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Reads and changes one key as one step: no other caller changes it meanwhile, and none sees the
   * change before the body has returned. Fulfilled with the body's result when the tier has the
   * change. Changes of this key inside the body go through `tx`; anything else would wait for itself.
   *
   * *Cancellation*: the caller's wait ends, `tx.signal` aborts and the draft is dropped. The key is
   * free when the body has ended.
   * *Fairness*: transactions and changes of one key take turns in order of arrival; other keys are
   * not held up.
   *
   * @throws the error of the body; nothing is changed then. `HDL_GONE` when the cache was cleared
   * meanwhile.
   * @example
   * await using cache = await openCache<number>()
   * await cache.transaction('best score', (tx) => {
   *   if ((tx.get() ?? 0) < 17) tx.set(17)
   * })
   * await cache.get('best score') // => 17
   */
  async transaction<R>(
    key: string,
    body: (tx: CacheTransaction<V>) => R | Promise<R>,
    options: WaitOptions = {},
  ): Promise<R> {
    this.#checkKey(key)
    const start = (signal: AbortSignal): Promise<unknown> => this.#transact(key, body, signal)
    return (await this.#transactions.join({}, start, options)) as R
  }

  /**
   * Replaces the value by what `change` makes of it; `undefined` deletes. Fulfilled with the new
   * value when the tier has it.
   *
   * *Cancellation*: as `transaction`.
   * *Fairness*: as `transaction`.
   *
   * @example
   * await using cache = await openCache<number>()
   * await cache.update('hits', (count = 0) => count + 1) // => 1
   */
  async update<R extends V | undefined>(
    key: string,
    change: (value: V | undefined) => R | Promise<R>,
    options: SetOptions = {},
  ): Promise<R> {
    const body = async (tx: CacheTransaction<V>): Promise<R> => {
      const value = await change(tx.get())
      if (value === undefined) tx.delete()
      else tx.set(value, options)
      return value
    }
    return this.transaction(key, body, options)
  }

  stats(): CacheStats {
    const { failures, ...pending } = this.#writes.stats
    const { memoryHits, tierHits, misses, damaged, reading } = this.#lookup
    return {
      state: this.#life.state,
      entries: this.#memory.size,
      maxEntries: this.#limits.maxEntries,
      bytes: this.#memory.bytes,
      maxBytes: this.#limits.maxBytes,
      hits: { memory: this.#hits + memoryHits, tier: tierHits },
      misses,
      computed: this.#computed,
      evicted: { ...this.#memory.evicted },
      pending,
      reads: reading,
      active: this.#states.size,
      failures,
      damaged,
      tier: this.#tier.stats(),
    }
  }

  /**
   * Writes pending changes and closes the tier. Reads, computations and transactions under way are
   * cancelled, changes that wait for their turn fail with `HDL_CLOSED`. At the deadline changes that are
   * not written yet fail too. Calling it again waits for the same end.
   *
   * *Cancellation*: counts as the deadline.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(enough: AbortSignal): Promise<void> {
    const reason = cancelled(this.#name, this.#life.closed(), 'shutdown')
    this.#lookup.cancelAll(reason)
    this.#computations.cancelAll(reason)
    this.#transactions.cancelAll(reason)
    this.#background.cancel(reason)
    this.#writes.close(this.#life.closed())
    try {
      await this.#writes.waitIdle(`${this.#name} stop`, { signal: enough })
    } catch (error) {
      if (!enough.aborted) throw error
    } finally {
      this.#memory.clear()
      await this.#background.join()
      await this.#tier.close({ signal: enough })
    }
  }

  // ── Changing ─────────────────────────────────────────────────────────────────────────────────

  /** True when the key had an entry before. */
  async #change(
    key: string,
    draft: Draft<V>,
    doing: string,
    options: WaitOptions,
  ): Promise<boolean> {
    const what = `${this.#name} ${doing}`
    this.#checkPatience(what, options)
    const clears = this.#clears
    const isWanted = (): boolean => clears === this.#clears
    const turn = { what, patience: new Patience(what, this.#clock, options), isWanted }
    const isFree = !this.#locks.has(key) && this.#writes.hasRoom
    // When nothing is in the way, the change takes effect before this call returns.
    const applied =
      isFree && this.#knowsParent(draft)
        ? this.#commit(key, draft, turn)
        : await this.#commitInTurn(key, draft, turn, await this.#locks.acquire(key, options))
    if (applied !== undefined) return this.#settled(applied, turn)
    // A clear came while this change waited for its turn: the change counts as made before the clear.
    await this.#writes.waitCleared(what, turn.patience.options)
    return false
  }

  /** Waits until the tier has the applied change: C3. */
  async #settled(applied: Applied, turn: Turn): Promise<boolean> {
    const existed = await applied.durable
    const { parent } = applied
    // A derived entry is as durable as its parent.
    const parentState = parent === undefined ? undefined : this.#states.get(parent.key)
    if (parentState !== undefined && this.#writes.isPending(parentState, parent!.version)) {
      const left = turn.patience.options
      await this.#writes.waitDurable(parentState, parent!.version, turn.what, left)
    }
    return applied.existed ?? existed
  }

  /** Under the key's lock: waits for room and for knowledge of the parent, then commits in one step. */
  async #commitInTurn(
    key: string,
    draft: Draft<V>,
    turn: Turn,
    permit: Permit,
  ): Promise<Applied | undefined> {
    const parentKey = parentKeyOf(draft)
    const parentState = parentKey === undefined ? undefined : this.#states.hold(parentKey)
    let hasReserved = false
    try {
      if (!this.#writes.hasRoom) {
        await this.#writes.waitForRoom(turn.what, draft.encoded, turn.patience.options)
        hasReserved = true
      }
      while (parentState !== undefined && this.#lookup.known(parentState) === undefined) {
        await this.#lookup.peek(parentState, turn.patience)
      }
      return this.#commit(key, draft, turn)
    } finally {
      if (hasReserved) this.#writes.leaveRoom(draft.encoded)
      if (parentState !== undefined) this.#states.unhold(parentState)
      permit.release()
    }
  }

  /** One step. Undefined when the change is not wanted any more. */
  #commit(key: string, draft: Draft<V>, turn: Turn): Applied | undefined {
    this.#checkOpen()
    if (!turn.isWanted()) return undefined
    const parent = this.#parentOf(draft)
    const state = this.#states.at(key)
    const before = this.#lookup.known(state)
    const version = this.#apply(state, draft, parent)
    this.#computations.detach(key)
    const durable = this.#writes.waitDurable(state, version, turn.what, turn.patience.options)
    return { existed: before === undefined ? undefined : before !== null, parent, durable }
  }

  /** The only place where a key changes. */
  #apply(state: KeyState<V>, draft: Draft<V>, parent: Parent | undefined): number {
    const { encoded } = draft
    const version = ++this.#lastVersion
    const entry = encoded === undefined ? undefined : this.#made(state.key, version, draft, parent)
    state.version = version
    // Held until it has its places: with the entry that it replaces its family might go.
    if (entry !== undefined) this.#lineage.hold(entry)
    this.#endFamily(state.key)
    if (entry?.weight === undefined) this.#memory.drop(state.key)
    else this.#memory.keep(entry)
    this.#lookup.overtake(state, entry)
    this.#writes.put(state, { version, entry, encoded })
    if (entry !== undefined) this.#lineage.drop(entry)
    return version
  }

  #made(key: string, version: number, draft: Draft<V>, parent: Parent | undefined): Entry<V> {
    const now = this.#clock.now()
    // It cannot outlive its parent.
    const ttl = Math.min(draft.ttl ?? this.#limits.ttl, (parent?.expiresAt ?? Infinity) - now)
    const life = { createdAt: this.#clock.wallTime(), ttl, expiresAt: now + ttl }
    const family = parent === undefined ? undefined : this.#lineage.join(parent)
    const weight = 'body' in draft.encoded! ? draft.encoded.weight : undefined
    return new Entry(key, draft.value as V, version, life, family, weight)
  }

  #draft(key: string, value: V, options: KeepOptions): Draft<V> {
    const ttl = options.ttl === undefined ? undefined : checkDuration('ttl', options.ttl)
    return { value, encoded: this.#encode(key, value), ttl, parent: options.parent }
  }

  /** Small values are complete after one step; of the others the rest is made when it is written. */
  #encode(key: string, value: V): Encoded {
    if (value === undefined) {
      const cause = 'undefined means "no value"'
      const what = `The value of "${key}"`
      throw new HeddleError('HDL_NOT_CLONEABLE', { what, action: 'be stored', cause })
    }
    const encoder = new Encoder(key, value, this.#limits.maxValueBytes)
    const body = encoder.step(stepBudget) ? encoder.takeWhole() : undefined
    return body === undefined
      ? { encoder }
      : { body, bytes: body.length, weight: weightOf(body.length, encoder.values) }
  }

  // ── Parents and derived entries ────────────────────────────────────────────────────────────

  /** Waits until it is known whether the key has an entry. */
  async #learn(key: string, patience: Patience): Promise<Known | null> {
    const state = this.#states.hold(key)
    try {
      for (;;) {
        const known = this.#lookup.known(state)
        if (known !== undefined) return known
        await this.#lookup.peek(state, patience)
      }
    } finally {
      this.#states.unhold(state)
    }
  }

  #knowsParent(draft: Draft<V>): boolean {
    const key = parentKeyOf(draft)
    return key === undefined || this.#lookup.knownNow(key) !== undefined
  }

  /** The parent as it is now. It must be known. */
  #parentOf(draft: Draft<V>): Parent | undefined {
    const key = parentKeyOf(draft)
    if (key === undefined) return undefined
    const known = this.#lookup.knownNow(key)
    const wanted = typeof draft.parent === 'object' ? draft.parent.version : known?.version
    if (known === undefined || known === null || known.version !== wanted) {
      throw new HeddleError('HDL_GONE', {
        what: `The parent "${key}", in the version that was used,`,
      })
    }
    if (known.parent !== undefined) {
      const expected = 'a key that is not derived itself'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'parent', value: key, expected })
    }
    return { key, version: known.version, expiresAt: known.expiresAt }
  }

  #endFamily(parent: string): void {
    const members = this.#lineage.end(parent)?.members
    if (members === undefined) return
    const drop = (entry: Entry<V>): void => {
      if (this.#memory.peek(entry.key) === entry) this.#memory.drop(entry.key)
    }
    if (members.size <= dropAtOnce) [...members].forEach(drop)
    else this.#background.launch(() => this.#dropInSlices(members, drop))
  }

  /** The entries are dead already; this only makes room. */
  async #dropInSlices(members: Iterable<Entry<V>>, drop: (entry: Entry<V>) => void): Promise<void> {
    const slices = new Slices(this.#clock)
    const { signal } = this.#background
    for (const entry of members) {
      drop(entry)
      if (slices.due) await slices.next()
      if (signal.aborted) return
    }
  }

  // ── Computing and transactions ───────────────────────────────────────────────────────────────

  async #compute(
    key: string,
    compute: (context: ComputeContext) => V | Promise<V>,
    options: KeepOptions,
    signal: AbortSignal,
  ): Promise<V> {
    const state = this.#states.hold(key)
    try {
      const stored = await this.#readOrMiss(key, signal)
      const parent = await this.#parentNow(options, signal)
      // A change may have come in the moment between the tier's answer and here.
      const value = stored?.value ?? this.#lookup.find(key)?.value
      if (value !== undefined) return value
      const { version } = state
      this.#computed++
      const made = await compute({ key, signal })
      const isWanted = (): boolean => state.version === version && !signal.aborted
      if (made !== undefined && parent !== null && isWanted()) {
        await this.#storeComputed(key, made, { ttl: options.ttl, parent }, { signal, isWanted })
      }
      return made
    } finally {
      this.#states.unhold(state)
    }
  }

  /** C5. The value is good for the callers in any case: only one that cannot be kept at all fails. */
  async #storeComputed(
    key: string,
    value: V,
    keep: KeepOptions,
    since: { readonly signal: AbortSignal; readonly isWanted: () => boolean },
  ): Promise<void> {
    const draft = this.#draft(key, value, keep)
    const permit = this.#locks.tryAcquire(key)
    // A transaction is deciding the next value of the key.
    if (permit === undefined) return
    const what = `${this.#name} set "${key}"`
    const patience = new Patience(what, this.#clock, { signal: since.signal })
    const turn = { what, patience, isWanted: since.isWanted }
    try {
      const applied = await this.#commitInTurn(key, draft, turn, permit)
      applied?.durable.catch(() => {
        // Counted where it failed; no caller asked for it.
      })
    } catch (error) {
      const isHarmless = ['HDL_GONE', 'HDL_CANCELLED', 'HDL_CLOSED'] as const
      // Its parent went meanwhile, the last caller left, or the cache was stopped: it is not stored.
      if (!isHarmless.some((code) => isError(error, code))) throw error
    }
  }

  async #readOrMiss(key: string, signal: AbortSignal): Promise<Entry<V> | undefined> {
    try {
      return await this.#lookup.read(key, { signal })
    } catch (error) {
      if (isError(error, 'HDL_STORE_FAILED')) return undefined
      throw error
    }
  }

  /** The version that a computation starts from; null when the parent is not there. */
  async #parentNow(
    options: KeepOptions,
    signal: AbortSignal,
  ): Promise<ParentVersion | null | undefined> {
    const { parent } = options
    if (typeof parent !== 'string') return parent
    const known = await this.#learn(parent, new Patience(this.#name, this.#clock, { signal }))
    return known === null ? null : { key: parent, version: known.version }
  }

  async #transact(
    key: string,
    body: (tx: CacheTransaction<V>) => unknown,
    signal: AbortSignal,
  ): Promise<unknown> {
    using permit = await this.#locks.acquire(key, { signal })
    const clears = this.#clears
    const state = this.#states.hold(key)
    try {
      const before = this.#lookup.find(key) ?? (await this.#lookup.read(key, { signal }))
      const { version } = state
      const { draft, result } = await this.#runBody(key, body, before, signal)
      const what = `${this.#name} transaction "${key}"`
      if (signal.aborted) throw cancelled(what, signal.reason)
      if (draft === undefined) return result
      // The lock kept other callers from changing the key. The value it read may still be gone: cleared, or
      // refused by the tier after the read.
      const isWanted = (): boolean => clears === this.#clears && version === state.version
      const turn = { what, patience: new Patience(what, this.#clock, { signal }), isWanted }
      const applied = await this.#commitInTurn(key, draft, turn, permit)
      if (applied === undefined) {
        throw new HeddleError('HDL_GONE', { what: `What the transaction on "${key}" has read` })
      }
      await this.#settled(applied, turn)
      return result
    } finally {
      this.#states.unhold(state)
    }
  }

  async #runBody(
    key: string,
    body: (tx: CacheTransaction<V>) => unknown,
    before: Entry<V> | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly draft: Draft<V> | undefined; readonly result: unknown }> {
    const draftOf = (value: V, options: KeepOptions): Draft<V> => this.#draft(key, value, options)
    const tx = new CacheTransaction(key, signal, before?.value, before?.family, draftOf)
    try {
      const result = await body(tx)
      return { draft: tx.end(), result }
    } finally {
      tx.end()
    }
  }

  // ── Checks ───────────────────────────────────────────────────────────────────────────────────

  #checkKey(key: string): void {
    this.#checkOpen()
    // Half of a surrogate pair has no UTF-8 form: on disk two such keys would be one.
    if (typeof key === 'string' && key !== '' && key.isWellFormed()) return
    const expected = 'a non-empty, well-formed string'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'key', value: key, expected })
  }

  /** A caller that has already gone must not change anything. */
  #checkPatience(what: string, { signal, deadline }: WaitOptions): void {
    if (signal?.aborted) throw cancelled(what, signal.reason)
    if (deadline !== undefined && !(deadline > 0)) {
      throw new HeddleError('HDL_TIMEOUT', { what, limit: deadline })
    }
  }

  #checkOpen(): void {
    if (!this.#life.isRunning) throw this.#life.closed()
  }
}

function parentKeyOf(draft: Draft<unknown>): string | undefined {
  return typeof draft.parent === 'object' ? draft.parent.key : draft.parent
}

const optionNames = {
  tier: 1,
  name: 1,
  maxEntries: 1,
  maxBytes: 1,
  maxValueBytes: 1,
  ttl: 1,
  maxPending: 1,
  maxPendingBytes: 1,
  maxReads: 1,
  kernel: 1,
} satisfies OptionNames<CacheOptions>

/**
 * Opens a cache.
 *
 * *Cancellation*: none; opening a tier is bounded by the tier.
 * *Fairness*: none needed.
 *
 * @throws the error of the tier, for example `HDL_LOCKED` when another process has the directory.
 * @example
 * await using cache = await openCache<number>({ maxEntries: 1000, ttl: 60_000 })
 * await cache.set('answer', 42)
 * cache.tryGet('answer') // => 42
 */
export async function openCache<V = unknown>(options: CacheOptions = {}): Promise<Cache<V>> {
  checkOptions(options, optionNames)
  const tier = options.tier ?? memoryTier({ kernel: options.kernel })
  return new Cache<V>(options, tier, await tier.open())
}
