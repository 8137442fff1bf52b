import type { Clock } from '../kernel/clock.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { Patience } from '../kernel/patience.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import { Flights } from '../registry/flights.ts'
import { Semaphore } from '../sync/semaphore.ts'
import { decodeSliced, type Decoded } from '../codec/sliced.ts'
import { Entry, weightOf, type Lineage } from './entry.ts'
import { Reading, type KeyState, type KeyStates } from './key-state.ts'
import type { Memory } from './upper-tier.ts'
import {
  storeFailure,
  timeLeft,
  type CacheTier,
  type ParentVersion,
  type TierEntry,
} from './tier.ts'
import type { WriteBehind } from './write-behind.ts'

/** What there is to know about a key's entry without its value. */
export interface Known {
  readonly version: number
  readonly expiresAt: number
  readonly parent: ParentVersion | undefined
  /** Whether the parent is known to be the one it was made from: so for entries in memory. */
  readonly isChecked: boolean
}

export interface LookupParts<V> {
  readonly name: string
  readonly kernel: Kernel
  readonly maxReads: number
  readonly tier: CacheTier
  readonly states: KeyStates<V>
  readonly memory: Memory<V>
  readonly lineage: Lineage<V>
  readonly writes: WriteBehind<V>
  /** The tier's value of this key is unusable: it is deleted, so that it is not read again. */
  readonly discard: (state: KeyState<V>) => void
}

/**
 * Finds the value of a key, asking the tier only when it is not known here.
 *
 * The rule that keeps memory coherent: between asking the tier and using its answer the key's state
 * is held, and a change of the key (`overtake`) makes the answer void. So the value is used in the same synchronous
 * step in which it is checked.
 */
export class Lookup<V> {
  readonly #parts: LookupParts<V>
  readonly #clock: Clock
  readonly #slots: Semaphore
  readonly #reads: Flights<string, Entry<V> | undefined>
  readonly #peeks: Flights<string, void>
  memoryHits = 0
  tierHits = 0
  misses = 0
  damaged = 0

  constructor(parts: LookupParts<V>) {
    const { name, kernel, maxReads } = parts
    this.#parts = parts
    this.#clock = kernel.clock
    this.#slots = new Semaphore({ name: `${name} reads`, permits: maxReads, kernel })
    this.#reads = new Flights({ name: `${name} read`, kernel, maxCallers: Infinity })
    this.#peeks = new Flights({ name: `${name} look`, kernel, maxCallers: Infinity })
  }

  /** Keys that are being read from the tier. */
  get reading(): number {
    return this.#reads.size
  }

  valid(entry: Entry<V> | undefined): Entry<V> | undefined {
    return entry?.isValid(this.#clock.now()) === true ? entry : undefined
  }

  /** The entry, as far as it is known without the tier. Counts as a use. */
  find(key: string): Entry<V> | undefined {
    const { memory } = this.#parts
    const inMemory = memory.get(key)
    const entry = this.valid(inMemory)
    if (entry !== undefined) {
      this.memoryHits++
      return entry
    }
    if (inMemory !== undefined) {
      if (inMemory.family?.alive === false) memory.drop(key)
      else memory.expire(key)
    }
    return this.findPending(key)
  }

  /** The entry of a key that memory does not hold, as far as it is known without the tier. */
  findPending(key: string): Entry<V> | undefined {
    const pending = this.valid(this.#parts.states.get(key)?.change?.entry)
    if (pending !== undefined) this.memoryHits++
    return pending
  }

  /** The entry of a key for which `find` gave nothing. */
  async read(key: string, options: WaitOptions): Promise<Entry<V> | undefined> {
    const { states, writes } = this.#parts
    const state = states.get(key)
    if (state?.change !== undefined || writes.isClearing) {
      // The newest change is known, and it is not a value: the tier has nothing to add.
      if (state !== undefined) writes.revive(state)
      this.misses++
      return undefined
    }
    const entry = await this.#reads.join(key, (signal) => this.#load(key, signal), options)
    if (entry === undefined) this.misses++
    else this.tierHits++
    return entry
  }

  /** The key has changed, and this is its entry now: answers readers, and makes the tier's answers void. */
  overtake(state: KeyState<V>, entry: Entry<V> | undefined): void {
    state.peeked = undefined
    state.reading?.answer(entry)
    state.reading = undefined
    // Later callers must not get a value that was requested before the change.
    this.#reads.detach(state.key)
    this.#peeks.detach(state.key)
  }

  /** Null: there is no entry. Undefined: only the tier knows. The state must be held. */
  known(state: KeyState<V>): Known | null | undefined {
    const inMemory = state.change?.entry ?? this.#parts.memory.peek(state.key)
    if (inMemory !== undefined) {
      const entry = this.valid(inMemory)
      if (entry === undefined) return null
      const { version, expiresAt, family } = entry
      return { version, expiresAt, parent: family, isChecked: true }
    }
    if (state.change !== undefined || this.#parts.writes.isClearing) return null
    const { peeked } = state
    if (peeked === undefined || peeked === null) return peeked
    const left = timeLeft(peeked, this.#clock.wallTime())
    if (left <= 0) return null
    const expiresAt = this.#clock.now() + left
    return { version: peeked.version, expiresAt, parent: peeked.parent, isChecked: false }
  }

  /** The current state of a key, for a caller that does not hold it. */
  knownNow(key: string): Known | null | undefined {
    const { states } = this.#parts
    const state = states.hold(key)
    const known = this.known(state)
    states.unhold(state)
    return known
  }

  /**
   * Asks the tier about a key whose state is held. The caller checks `known` again afterwards: a
   * change of the key in between makes the answer void.
   */
  peek(state: KeyState<V>, patience: Patience): Promise<void> {
    const { states, tier } = this.#parts
    const ask = async (): Promise<void> => {
      // The callers may leave before the tier answers.
      const held = states.hold(state.key)
      const { version } = held
      try {
        const meta = await asked(`look up "${state.key}"`, () => tier.peek(state.key))
        if (held.version === version) held.peeked = meta ?? null
      } finally {
        states.unhold(held)
      }
    }
    return this.#peeks.join(state.key, ask, patience.options)
  }

  /** Ends all waits for the tier. */
  cancelAll(reason: unknown): void {
    this.#reads.cancelAll(reason)
    this.#peeks.cancelAll(reason)
  }

  #load(key: string, signal: AbortSignal): Promise<Entry<V> | undefined> {
    const { states } = this.#parts
    const state = states.hold(key)
    const reading = new Reading<V>(signal)
    state.reading = reading
    const end = (): void => {
      if (state.reading === reading) state.reading = undefined
      states.unhold(state)
    }
    this.#fetch(state, reading, signal).then(
      (entry) => {
        reading.answer(entry)
        end()
      },
      (error: unknown) => {
        reading.fail(error)
        end()
      },
    )
    return reading.promise
  }

  async #fetch(
    state: KeyState<V>,
    reading: Reading<V>,
    signal: AbortSignal,
  ): Promise<Entry<V> | undefined> {
    const { tier, states, memory, lineage, discard } = this.#parts
    // Kept while decoding: it bounds the bytes in memory, not only the operations.
    using slot = await this.#slots.acquire({ signal })
    if (slot.released || reading.isOver) return undefined
    const stored = await asked(`read "${state.key}"`, () => tier.read(state.key))
    if (reading.isOver || stored === undefined) return undefined
    const decoded = await this.#decode(stored, reading)
    if (reading.isOver) return undefined
    const { parent } = stored
    const parentState = parent === undefined ? undefined : states.hold(parent.key)
    const patience = new Patience('The parent', this.#clock, { signal })
    try {
      while (parentState !== undefined && this.known(parentState) === undefined) {
        await this.peek(parentState, patience)
        if (reading.isOver) return undefined
      }
      // From here on nothing waits: the checked entry is the used one.
      const entry = this.#revive(stored, decoded, state, parentState)
      if (entry === undefined) discard(state)
      else {
        lineage.hold(entry)
        memory.keep(entry)
        lineage.drop(entry)
      }
      return entry
    } finally {
      if (parentState !== undefined) states.unhold(parentState)
    }
  }

  /** Undefined when the bytes are damaged, or no caller waits any more. */
  async #decode(stored: TierEntry, reading: Reading<V>): Promise<Decoded | undefined> {
    try {
      return await decodeSliced(stored.body, this.#clock, () => reading.isOver)
    } catch {
      this.damaged++
      return undefined
    }
  }

  /** The entry for memory, unless it is damaged, has expired, or has lost its parent. */
  #revive(
    stored: TierEntry,
    decoded: Decoded | undefined,
    state: KeyState<V>,
    parentState: KeyState<V> | undefined,
  ): Entry<V> | undefined {
    const { version, createdAt, ttl, parent } = stored
    const left = timeLeft(stored, this.#clock.wallTime())
    if (decoded === undefined || left <= 0) return undefined
    if (parentState !== undefined && this.known(parentState)?.version !== parent!.version) {
      return undefined
    }
    const family = parent === undefined ? undefined : this.#parts.lineage.join(parent)
    const weight = weightOf(stored.body.length, decoded.values)
    const life = { createdAt, ttl, expiresAt: this.#clock.now() + left }
    return new Entry(state.key, decoded.value as V, version, life, family, weight)
  }
}

/** The tier's answer; its error is converted into ours. */
async function asked<T>(action: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw storeFailure(action, error)
  }
}
