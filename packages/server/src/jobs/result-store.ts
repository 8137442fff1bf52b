/**
 * Results in the cache: one entry for the output of a handle's first stage, and one derived from it for
 * each result of the second. Replacing or deleting the first removes the others with it.
 */
import type {
  Cache,
  CacheEntry,
  CacheStats,
  ParentVersion,
  WaitOptions,
} from '@heddle/core/lowlevel'
import { itemName } from './handle.ts'
import type { Larger } from './supersets.ts'

/** What the first stage made. In an object, so that `undefined` can be a result. */
export interface Prepared {
  readonly total: number
  /** Tenant of the value. Absent in values stored before there were tenants. */
  readonly tenant?: string | undefined
  readonly value: unknown
}

interface Item {
  readonly value: unknown
}

export type Stored = Prepared | Item

export class ResultStore {
  readonly #cache: Cache<Stored>

  constructor(cache: Cache<Stored>) {
    this.#cache = cache
  }

  /** *Cancellation*: ends the wait. */
  async prepared(handle: string, options?: WaitOptions): Promise<CacheEntry<Prepared> | undefined> {
    return (await this.#cache.entry(handle, options)) as CacheEntry<Prepared> | undefined
  }

  /** The result of the first stage, if it is in memory. */
  tryPrepared(handle: string): Prepared | undefined {
    return this.#cache.tryGet(handle) as Prepared | undefined
  }

  /** A result, if it is in memory. */
  tryItem(handle: string, index: number): Item | undefined {
    return this.#cache.tryGet(itemName(handle, index))
  }

  /** *Cancellation*: ends the wait. */
  async item(handle: string, index: number, options?: WaitOptions): Promise<Item | undefined> {
    return this.#cache.get(itemName(handle, index), options)
  }

  /** Resolves when the store has it; readers see it at once. *Cancellation*: none. */
  async keepPrepared(handle: string, prepared: Prepared): Promise<ParentVersion | undefined> {
    await this.#cache.set(handle, prepared)
    return this.#cache.entry(handle)
  }

  /** Whether all results of the handle were stored. *Cancellation*: ends the wait. */
  isWhole(handle: string, options?: WaitOptions): Promise<boolean> {
    return this.#cache.has(wholeKey(handle), options)
  }

  /** All results of the handle are stored. @throws `HDL_GONE`. *Cancellation*: none. */
  async keepWhole(handle: string, parent: ParentVersion): Promise<void> {
    await this.#cache.set(wholeKey(handle), { value: true }, { parent })
  }

  /** Like {@link keepPrepared}. @throws `HDL_GONE` when its parent was replaced or deleted. */
  async keepItem(
    handle: string,
    index: number,
    value: unknown,
    parent: ParentVersion,
  ): Promise<void> {
    await this.#cache.set(itemName(handle, index), { value }, { parent })
  }

  /** The largest computation of a family that was recorded. *Cancellation*: ends the wait. */
  async largest(family: string, options?: WaitOptions): Promise<Larger | undefined> {
    const stored = await this.#cache.get(largestKey(family), options)
    return stored?.value as Larger | undefined
  }

  /**
   * Records it if it is at least as large as the recorded one, or forced: compared and written in one step.
   * *Cancellation*: none.
   */
  async keepLargest(family: string, larger: Larger, isForced: boolean): Promise<void> {
    await this.#cache.transaction(largestKey(family), (tx) => {
      const known = tx.get()?.value as Larger | undefined
      if (known === undefined || known.size <= larger.size || isForced) tx.set({ value: larger })
    })
  }

  /** True when there was something. *Cancellation*: none. */
  delete(handle: string): Promise<boolean> {
    return this.#cache.delete(handle)
  }

  /** *Cancellation*: none. */
  clear(): Promise<void> {
    return this.#cache.clear()
  }

  stats(): CacheStats {
    return this.#cache.stats()
  }
}

function largestKey(family: string): string {
  return `${family}/largest`
}

function wholeKey(handle: string): string {
  return `${handle}/whole`
}
