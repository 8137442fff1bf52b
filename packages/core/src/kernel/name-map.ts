/** Names in one native map: its last growth takes the loop about 5 ms. More are spread over several. */
export const mostInOne = 131_000

/** A power of two. With a million names each of them holds 8,000 and grows within a millisecond. */
const shardCount = 128

/** Names that are moved with each name that is added, while they are being spread. */
const movedAtOnce = 16

/**
 * A growing map of named things, in the order in which they were added.
 *
 * A native map doubles its table and moves all entries at once: at half a million names that holds
 * the loop for 60 ms. Here the names are spread over many small maps, each of which grows on its own.
 *
 * ```
 *   one native map ──more than `mostInOne`──▶ spreading ──all moved──▶ spread
 * ```
 *
 * Spreading moves a few names with each add(). Meanwhile a name is in its part, in the native map, or
 * in both.
 *
 * Known limit: the part is chosen by the length and four characters of the name, the last three
 * among them. Names that differ only elsewhere share one part, which then grows as a native map does.
 */
export class NameMap<T extends { readonly name: string }> {
  #whole: Map<string, T> | undefined = new Map()
  #shards: Map<string, T>[] | undefined
  #moved = 0
  readonly #inOrder: T[] = []

  get size(): number {
    return this.#inOrder.length
  }

  get(name: string): T | undefined {
    if (this.#shards === undefined) return this.#whole!.get(name)
    return shardOf(this.#shards, name).get(name) ?? this.#whole?.get(name)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** The name must not be in the map. */
  add(item: T): void {
    this.#inOrder.push(item)
    if (this.#shards !== undefined) {
      shardOf(this.#shards, item.name).set(item.name, item)
      if (this.#whole !== undefined) this.#moveSome(this.#shards, this.#whole)
      return
    }
    this.#whole!.set(item.name, item)
    if (this.#inOrder.length < mostInOne) return
    this.#shards = Array.from({ length: shardCount }, () => new Map<string, T>())
  }

  /** In the order of add(), with those that are added meanwhile. */
  values(): ArrayIterator<T> {
    return this.#inOrder.values()
  }

  *keys(): Generator<string, void, undefined> {
    for (const { name } of this.#inOrder) yield name
  }

  #moveSome(shards: Map<string, T>[], whole: ReadonlyMap<string, T>): void {
    for (let left = movedAtOnce; left > 0 && this.#moved < whole.size; left--) {
      const item = this.#inOrder[this.#moved++]!
      shardOf(shards, item.name).set(item.name, item)
    }
    if (this.#moved === whole.size) this.#whole = undefined
  }
}

function shardOf<T>(shards: readonly Map<string, T>[], name: string): Map<string, T> {
  const { length } = name
  let hash = length
  hash = (hash * 31 + name.charCodeAt(length - 1)) | 0
  hash = (hash * 31 + name.charCodeAt(length - 2)) | 0
  hash = (hash * 31 + name.charCodeAt(length - 3)) | 0
  hash = (hash * 31 + name.charCodeAt(length >> 1)) | 0
  return shards[(hash ^ (hash >>> 7)) & (shardCount - 1)]!
}
