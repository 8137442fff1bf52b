/**
 * Brings changes to the tier, in the right order. Only callers that ask to wait do wait.
 *
 * One key:
 *
 *              put                    a place is free
 *   clean ───────────▶ pending ───────────────────────▶ writing
 *     ▲                  ▲  ▲                            │ │ │
 *     │                  │  └── a newer change came ─────┘ │ │
 *     │                  └───── a set failed: delete ──────┘ │
 *     ├──────────────────────── done, nothing newer ─────────┤
 *     └── used again ── parked ◀── a delete failed ──────────┘
 *
 * All keys: clear() forgets every change, waits until nothing is being written, clears the tier, and
 * only then lets later changes through.
 *
 *  B1  One write or delete of a key at a time, none while the tier is being cleared.
 *  B2  The tier gets a key's changes in order; those in between may be left out, the newest never is.
 *  B3  A caller that waits for a version is notified when that version, or a newer one, is on the tier.
 *  B4  A change that failed is not half there: the key is deleted, in memory at once, on the tier as
 *      soon as it takes the delete; until then the tier is not asked about the key.
 *  B5  Changes that wait are bounded in number and bytes; further ones wait at the door.
 *
 * Why not a queue of operations: 1,000 sets of one key would be 1,000 writes, and a delete would
 * wait for all of them. Why not a lock around disk operations: one slow write would hold up every
 * key (G23).
 */
import { HeddleError } from '../errors.ts'
import { callAsync } from '../kernel/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { LinkedList } from '../kernel/linked-list.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { encodeSliced } from '../codec/sliced.ts'
import { weightOf, type Lineage } from './entry.ts'
import type { Change, Encoded, KeyState, KeyStates } from './key-state.ts'
import { storeFailure, type CacheTier } from './tier.ts'

/** Small changes on their way to the tier: enough that each commit takes many. */
const smallInFlight = 1024

/** Large ones are streamed, with a window of several MiB each. */
const largeInFlight = 2

/** Charged for a large value whose size is not known yet. */
const assumedLarge = 2 ** 20

/** Deletes that the tier refused, above which its whole content is given up. */
const maxParked = 1000

export interface WriteBehindOptions {
  readonly maxPending: number
  readonly maxPendingBytes: number
}

/** The callbacks of the cache for events here. */
export interface WriteBehindEvents<V> {
  /** A large value has been encoded: its size is known. */
  encoded(change: Change<V>): void
  /** The key's newest change could not be written: it must leave memory. */
  lost(state: KeyState<V>): void
}

interface Line<V> {
  readonly waiting: LinkedList<KeyState<V>>
  readonly limit: number
  running: number
}

/** The tier is being cleared, or must be before anything else is written. */
interface Clearing {
  version: number
  running: boolean
}

const isLarge = (change: Change<unknown>): boolean =>
  change.encoded !== undefined && 'encoder' in change.encoded

const bytesOf = (encoded: Encoded | undefined): number => {
  if (encoded === undefined) return 0
  return 'body' in encoded ? encoded.bytes : assumedLarge
}

export class WriteBehind<V> {
  readonly #tier: CacheTier
  readonly #clock: Clock
  readonly #states: KeyStates<V>
  readonly #lineage: Lineage<V>
  readonly #events: WriteBehindEvents<V>
  readonly #options: WriteBehindOptions
  readonly #small: Line<V> = { waiting: new LinkedList(), limit: smallInFlight, running: 0 }
  readonly #large: Line<V> = { waiting: new LinkedList(), limit: largeInFlight, running: 0 }
  readonly #door: WaiterList<void>
  readonly #cleared: WaiterList<void>
  readonly #idle: WaiterList<void>
  #clearing: Clearing | undefined
  #pending = 0
  #pendingBytes = 0
  /** Admitted, but not here yet: a woken caller continues a moment later. */
  #reserved = 0
  #reservedBytes = 0
  #parked = 0
  #failures = 0

  constructor(
    tier: CacheTier,
    clock: Clock,
    states: KeyStates<V>,
    lineage: Lineage<V>,
    options: WriteBehindOptions,
    events: WriteBehindEvents<V>,
  ) {
    this.#tier = tier
    this.#clock = clock
    this.#states = states
    this.#lineage = lineage
    this.#options = options
    this.#events = events
    this.#door = new WaiterList(clock)
    this.#door.onLeave = () => this.#openDoor()
    this.#cleared = new WaiterList(clock)
    this.#idle = new WaiterList(clock)
  }

  /** While true, the tier is empty in all but fact: it must not be read. */
  get isClearing(): boolean {
    return this.#clearing !== undefined
  }

  get hasRoom(): boolean {
    return this.#door.size === 0 && this.#fits
  }

  get #fits(): boolean {
    const { maxPending, maxPendingBytes } = this.#options
    return (
      this.#pending + this.#reserved < maxPending &&
      this.#pendingBytes + this.#reservedBytes < maxPendingBytes
    )
  }

  get stats(): { writes: number; bytes: number; waiting: number; failures: number } {
    return {
      writes: this.#pending,
      bytes: this.#pendingBytes,
      waiting: this.#door.size,
      failures: this.#failures,
    }
  }

  /**
   * B5. Waits until there is room, first come, first served. The room is kept until `leaveRoom` is
   * called, in the same step as `put`.
   */
  waitForRoom(what: string, encoded: Encoded | undefined, options: WaitOptions): Promise<void> {
    return this.#door.wait(what, options, bytesOf(encoded))
  }

  leaveRoom(encoded: Encoded | undefined): void {
    this.#reserved--
    this.#reservedBytes -= bytesOf(encoded)
    // The change may have turned out not to be wanted.
    this.#openDoor()
    this.#tellIdle()
  }

  /** The key's newest change. Waits for an older one are skipped. */
  put(state: KeyState<V>, change: Change<V>): void {
    this.#forget(state)
    state.change = change
    this.#pending++
    this.#pendingBytes += bytesOf(change.encoded)
    if (change.entry !== undefined) this.#lineage.hold(change.entry)
    if (state.writing === undefined) this.#enqueue(state)
    this.#pump()
  }

  /**
   * Waits until the tier has this version or a newer one. Resolves with the tier's answer: whether it had
   * an entry of the key before. The version must not have been reached yet.
   */
  waitDurable(
    state: KeyState<V>,
    version: number,
    what: string,
    options: WaitOptions,
  ): Promise<boolean> {
    return state.durable.wait(what, options, 1, version)
  }

  /** Whether the tier does not have this version of the key yet. */
  isPending({ change }: KeyState<V>, version: number): boolean {
    return change !== undefined && change.version <= version
  }

  /** Forgets every change and clears the tier as soon as nothing is being written. */
  clear(version: number): void {
    for (const state of this.#states.values()) {
      state.version = version
      this.#forget(state)
    }
    this.#clearing ??= { version, running: false }
    this.#clearing.version = version
    this.#openDoor()
    this.#pump()
  }

  waitCleared(what: string, options: WaitOptions): Promise<void> {
    if (!this.isClearing) return Promise.resolve()
    const cleared = this.#cleared.wait(what, options)
    // It may have failed in the meantime: then this is what tries it again.
    this.#pump()
    return cleared
  }

  /** Tries a failed delete again, because a caller asks for the key. */
  revive(state: KeyState<V>): void {
    if (!state.parked) return
    state.parked = false
    this.#parked--
    this.#pending++
    this.#enqueue(state)
    this.#pump()
  }

  /** Waits until nothing is on its way to the tier. */
  waitIdle(what: string, options: WaitOptions): Promise<void> {
    return this.#isIdle ? Promise.resolve() : this.#idle.wait(what, options)
  }

  /** No caller comes in any more. */
  close(error: HeddleError): void {
    this.#door.failAll(error)
  }

  get #running(): number {
    return this.#small.running + this.#large.running
  }

  get #isIdle(): boolean {
    return this.#pending + this.#reserved + this.#running === 0 && this.#clearing?.running !== true
  }

  /** Takes back the key's pending change; one that is being written runs to its end. */
  #forget(state: KeyState<V>): void {
    const { change } = state
    if (change === undefined) return
    state.change = undefined
    this.#small.waiting.remove(state)
    this.#large.waiting.remove(state)
    if (state.parked) {
      state.parked = false
      this.#parked--
    } else {
      this.#pending--
      this.#pendingBytes -= bytesOf(change.encoded)
    }
    if (change.entry !== undefined) this.#lineage.drop(change.entry)
  }

  #enqueue(state: KeyState<V>): void {
    const line = isLarge(state.change!) ? this.#large : this.#small
    line.waiting.push(state)
  }

  #pump(): void {
    if (this.#clearing !== undefined) {
      this.#startClear(this.#clearing)
      return
    }
    for (const line of [this.#small, this.#large]) {
      while (line.running < line.limit) {
        const state = line.waiting.shift()
        if (state === undefined) break
        this.#write(line, state, state.change!)
      }
    }
  }

  #write(line: Line<V>, state: KeyState<V>, change: Change<V>): void {
    state.writing = change
    line.running++
    callAsync(() => this.#send(state, change)).then(
      (existed) => this.#written(line, state, change, existed),
      (error: unknown) => this.#failed(line, state, change, error),
    )
  }

  #send(state: KeyState<V>, change: Change<V>): Promise<boolean> {
    const { entry, encoded } = change
    // A derived entry whose parent has changed since is as good as deleted.
    if (entry === undefined || entry.family?.alive === false) {
      return this.#tier.delete(state.key, change.version, change.isCleanUp)
    }
    const { version, createdAt, ttl, family } = entry
    const parent = family === undefined ? undefined : { key: family.key, version: family.version }
    const body = 'body' in encoded! ? encoded.body : this.#pieces(state, change)
    return this.#tier.write(state.key, { version, createdAt, ttl, parent, body })
  }

  async *#pieces(
    state: KeyState<V>,
    change: Change<V>,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    const { encoder } = change.encoded as { encoder: Parameters<typeof encodeSliced>[0] }
    for await (const piece of encodeSliced(encoder, this.#clock)) {
      // The change will never be read: a newer one waits for its turn.
      if (state.change !== change) {
        const what = `The write of "${state.key}"`
        throw new HeddleError('HDL_SUPERSEDED', { what, by: 'a newer change' })
      }
      yield piece
    }
    change.entry!.weight = weightOf(encoder.bytes, encoder.values)
    if (state.change === change) this.#events.encoded(change)
  }

  #written(line: Line<V>, state: KeyState<V>, change: Change<V>, existed: boolean): void {
    line.running--
    state.writing = undefined
    if (state.change === change) {
      const orphaned = change.entry !== undefined && change.entry.family?.alive === false
      this.#forget(state)
      if (orphaned) this.#putDelete(state, change.version)
    } else if (state.change !== undefined) this.#enqueue(state)
    this.#tell(state, change.version, (waiter) => waiter.wake(existed))
    this.#goOn(state)
  }

  #failed(line: Line<V>, state: KeyState<V>, change: Change<V>, error: unknown): void {
    line.running--
    state.writing = undefined
    if (state.change !== change) {
      // Overtaken: waiting callers are notified of the newer change, or of the clear.
      if (state.change !== undefined) this.#enqueue(state)
    } else {
      this.#failures++
      this.#loseChange(state, change, error)
    }
    this.#goOn(state)
  }

  /** B4. */
  #loseChange(state: KeyState<V>, change: Change<V>, error: unknown): void {
    const action = change.entry === undefined ? 'delete' : 'write'
    const failure = storeFailure(`${action} "${state.key}"`, error)
    this.#tell(state, change.version, (waiter) => waiter.fail(failure))
    this.#forget(state)
    if (change.entry !== undefined) {
      this.#events.lost(state)
      // In its new version: entries derived from the lost one are deleted as well.
      this.#putDelete(state, state.version, true)
      return
    }
    state.change = change
    state.parked = true
    this.#parked++
    if (this.#parked > maxParked) this.#giveUp()
  }

  /** Rather than remember ever more keys that the tier may have wrong, its whole content goes. */
  #giveUp(): void {
    for (const state of this.#states.values()) {
      if (!state.parked) continue
      this.#forget(state)
      this.#states.release(state)
    }
    this.#clearing ??= { version: 0, running: false }
  }

  #putDelete(state: KeyState<V>, version: number, isCleanUp = false): void {
    state.change = { version, entry: undefined, encoded: undefined, isCleanUp }
    this.#pending++
    this.#enqueue(state)
  }

  #goOn(state: KeyState<V>): void {
    this.#states.release(state)
    this.#openDoor()
    this.#pump()
    this.#tellIdle()
  }

  #tell(
    state: KeyState<V>,
    version: number,
    tell: (waiter: NonNullable<typeof state.durable.first>) => boolean,
  ): void {
    const waiting = state.durable
    while (waiting.first !== undefined && (waiting.first.tag as number) <= version) {
      tell(waiting.first)
    }
  }

  #startClear(clearing: Clearing): void {
    if (clearing.running || this.#running > 0) return
    clearing.running = true
    callAsync(() => this.#tier.clear()).then(
      () => this.#afterClear(clearing),
      (error: unknown) => this.#clearFailed(clearing, error),
    )
  }

  #afterClear(clearing: Clearing): void {
    this.#clearing = undefined
    for (const state of this.#states.values()) {
      this.#tell(state, clearing.version, (waiter) => waiter.wake(false))
      this.#states.release(state)
    }
    this.#cleared.wakeAll()
    this.#pump()
    this.#tellIdle()
  }

  /** It is still to be done: the next call tries it again first. Changes waiting behind it are refused. */
  #clearFailed(clearing: Clearing, error: unknown): void {
    clearing.running = false
    this.#failures++
    const failure = storeFailure('clear', error)
    for (const state of this.#states.values()) {
      if (state.change !== undefined) {
        this.#forget(state)
        this.#events.lost(state)
      }
      state.durable.failAll(failure)
      this.#states.release(state)
    }
    this.#cleared.failAll(failure)
    this.#openDoor()
    this.#tellIdle()
  }

  #openDoor(): void {
    for (
      let first = this.#door.first;
      first !== undefined && this.#fits;
      first = this.#door.first
    ) {
      if (!first.wake()) continue
      this.#reserved++
      this.#reservedBytes += first.weight
    }
  }

  #tellIdle(): void {
    if (this.#isIdle) this.#idle.wakeAll()
  }
}
