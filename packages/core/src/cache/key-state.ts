import type { Clock } from '../kernel/clock.ts'
import type { ListItem } from '../kernel/linked-list.ts'
import { WaiterList } from '../kernel/waiters.ts'
import type { Encoder } from '../codec/encoder.ts'
import type { Entry } from './entry.ts'
import type { TierMeta } from './tier.ts'

/** The newest change of a key, as long as the tier does not have it. */
export interface Change<V> {
  readonly version: number
  /** Undefined: the key is deleted. */
  readonly entry: Entry<V> | undefined
  readonly encoded: Encoded | undefined
  /** A delete that follows a write which failed. */
  readonly isCleanUp?: boolean
}

/** The bytes of a value: all of them, or an encoder that makes the rest when it is asked. */
export type Encoded =
  | {
      readonly body: Uint8Array<ArrayBuffer>
      /** Length of the body, which is empty once the tier has given its memory away. */
      readonly bytes: number
      readonly weight: number
    }
  | { readonly encoder: Encoder }

/** A read of the tier that a caller waits for. A change of the key answers it at once. */
export class Reading<V> {
  readonly #answer = Promise.withResolvers<Entry<V> | undefined>()
  readonly #signal: AbortSignal
  #answered = false

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  get promise(): Promise<Entry<V> | undefined> {
    return this.#answer.promise
  }

  /** Whether the tier's answer is of no use any more. */
  get isOver(): boolean {
    return this.#answered || this.#signal.aborted
  }

  answer(entry: Entry<V> | undefined): void {
    this.#answered = true
    this.#answer.resolve(entry)
  }

  fail(error: unknown): void {
    this.#answered = true
    this.#answer.reject(error)
  }
}

/**
 * What is going on with one key. It exists only while something is.
 */
export class KeyState<V> implements ListItem<KeyState<V>> {
  list: object | undefined
  previous: KeyState<V> | undefined
  next: KeyState<V> | undefined
  readonly key: string
  /** Version of the newest change since this state was made; 0 when there was none. */
  version = 0
  change: Change<V> | undefined
  /** The change that the tier is being given: `change`, or an older one. */
  writing: Change<V> | undefined
  /** The change is a delete that failed. It is tried again when the key is next used. */
  parked = false
  reading: Reading<V> | undefined
  /** What the tier said about the key since the last change; null: it has none. */
  peeked: TierMeta | null | undefined
  /** How many users need `version` to be remembered. */
  holders = 0
  /** Callers that wait until the tier has a version, the oldest first. */
  readonly durable: WaiterList<boolean>

  constructor(key: string, clock: Clock) {
    this.key = key
    this.durable = new WaiterList(clock)
  }

  get isIdle(): boolean {
    return (
      this.holders === 0 &&
      this.change === undefined &&
      this.writing === undefined &&
      this.durable.size === 0
    )
  }
}

/** The states of all keys that something is going on with. */
export class KeyStates<V> {
  readonly #clock: Clock
  readonly #states = new Map<string, KeyState<V>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#states.size
  }

  get(key: string): KeyState<V> | undefined {
    return this.#states.get(key)
  }

  /** The caller gives it something to do, or releases it, before it gives control back. */
  at(key: string): KeyState<V> {
    let state = this.#states.get(key)
    if (state === undefined) this.#states.set(key, (state = new KeyState(key, this.#clock)))
    return state
  }

  hold(key: string): KeyState<V> {
    const state = this.at(key)
    state.holders++
    return state
  }

  unhold(state: KeyState<V>): void {
    state.holders--
    this.release(state)
  }

  /** Forgets the state when nothing is going on any more. */
  release(state: KeyState<V>): void {
    if (state.isIdle && this.#states.get(state.key) === state) this.#states.delete(state.key)
  }

  values(): Iterable<KeyState<V>> {
    return this.#states.values()
  }
}
