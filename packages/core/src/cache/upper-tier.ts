import { LRUCache } from 'lru-cache'
import type { Entry, Lineage } from './entry.ts'

export interface MemoryOptions {
  readonly maxEntries: number
  readonly maxBytes: number
}

export interface MemoryEvictions {
  /** There were too many. */
  entries: number
  /** Entries evicted because there were too many bytes. */
  bytes: number
  /** Entries removed because they were too old. */
  expired: number
}

/**
 * The upper tier: the most used entries, ready to hand out.
 *
 * Only `get` and `set` of lru-cache are used. Its time to live reads a clock of its own, and its
 * `fetch` lets the first caller's abort reject every caller.
 */
export class Memory<V> {
  readonly #lru: LRUCache<string, Entry<V>>
  readonly #lineage: Lineage<V>
  readonly #maxEntries: number
  readonly #maxBytes: number
  readonly evicted: MemoryEvictions = { entries: 0, bytes: 0, expired: 0 }
  #leaving = 0

  constructor(options: MemoryOptions, lineage: Lineage<V>) {
    this.#maxEntries = options.maxEntries
    this.#maxBytes = options.maxBytes
    this.#lineage = lineage
    this.#lru = new LRUCache<string, Entry<V>>({
      ...(options.maxEntries === Infinity ? {} : { max: options.maxEntries }),
      maxSize: Math.min(options.maxBytes, Number.MAX_SAFE_INTEGER),
      // lru-cache wants sizes above 0.
      sizeCalculation: (entry) => Math.max(1, entry.weight ?? 1),
      dispose: (entry, _key, reason) => {
        if (reason === 'evict') this.#leaving++
        lineage.drop(entry)
      },
    })
  }

  get size(): number {
    return this.#lru.size
  }

  get bytes(): number {
    return this.#lru.calculatedSize
  }

  /** Counts as a use. The caller checks whether the entry is still valid. */
  get(key: string): Entry<V> | undefined {
    return this.#lru.get(key)
  }

  /** Does not count as a use. */
  peek(key: string): Entry<V> | undefined {
    return this.#lru.peek(key)
  }

  /** Replaces the key's older entry. An entry larger than all of memory is not kept. */
  keep(entry: Entry<V>): void {
    const weight = entry.weight ?? Infinity
    if (weight > this.#maxBytes) {
      this.drop(entry.key)
      return
    }
    const isFull = this.#lru.size >= this.#maxEntries && this.#lru.peek(entry.key) === undefined
    this.#leaving = 0
    this.#lineage.hold(entry)
    this.#lru.set(entry.key, entry)
    // A new key in a full memory pushes out one for its place, and the others for its bytes.
    const forPlace = isFull ? Math.min(1, this.#leaving) : 0
    this.evicted.entries += forPlace
    this.evicted.bytes += this.#leaving - forPlace
  }

  drop(key: string): void {
    this.#lru.delete(key)
  }

  expire(key: string): void {
    if (this.#lru.delete(key)) this.evicted.expired++
  }

  clear(): void {
    this.#lru.clear()
  }
}
