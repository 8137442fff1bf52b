import { HeddleError } from '../errors.ts'
import type { Encoded } from './key-state.ts'
import type { KeepOptions } from './cache-options.ts'

/** The change that a transaction is going to make to its key. */
export interface Draft<V> extends KeepOptions {
  /** Undefined: delete it. */
  readonly value: V | undefined
  readonly encoded: Encoded | undefined
}

/**
 * One key, read and changed in one step as far as other callers can see.
 *
 * Nothing happens to the cache before the body has returned; when it throws, nothing happens at all.
 */
export class CacheTransaction<V> {
  readonly key: string
  /** Aborts when the caller has left. The drafts of the body are then dropped. */
  readonly signal: AbortSignal
  readonly #draftOf: (value: V, options: KeepOptions) => Draft<V>
  readonly #parent: KeepOptions['parent']
  #value: V | undefined
  #draft: Draft<V> | undefined
  #ended = false

  /** @internal Made by the cache. */
  constructor(
    key: string,
    signal: AbortSignal,
    value: V | undefined,
    parent: KeepOptions['parent'],
    draftOf: (value: V, options: KeepOptions) => Draft<V>,
  ) {
    this.key = key
    this.signal = signal
    this.#value = value
    this.#parent = parent
    this.#draftOf = draftOf
  }

  /** The value as this transaction left it so far; undefined when there is none. */
  get(): V | undefined {
    this.#checkOpen()
    return this.#value
  }

  /**
   * A derived entry stays with its parent unless another is given.
   *
   * @throws `HDL_NOT_CLONEABLE`, `HDL_VALUE_TOO_LARGE`
   */
  set(value: V, options: KeepOptions = {}): void {
    this.#checkOpen()
    const { ttl, parent = this.#parent } = options
    this.#draft = this.#draftOf(value, { ttl, parent })
    this.#value = value
  }

  delete(): void {
    this.#checkOpen()
    this.#draft = { value: undefined, encoded: undefined }
    this.#value = undefined
  }

  /** @internal What it decided; undefined when it only looked. */
  end(): Draft<V> | undefined {
    this.#ended = true
    return this.#draft
  }

  #checkOpen(): void {
    if (!this.#ended) return
    throw new HeddleError('HDL_CLOSED', { what: `The transaction on "${this.key}"` })
  }
}
