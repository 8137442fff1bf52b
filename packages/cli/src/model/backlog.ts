/**
 * Entries of a state, in the order in which they entered it; only the first few are ever read.
 *
 * Entries are not taken out when they leave the state: they are dropped when a query meets them. Each is
 * dropped once, so a query costs the changes since the last one, and not the number of waiting entries. A `Set` that
 * loses its first entries walks over their places at every query, and grows by copying all of itself.
 */
export class Backlog<T> {
  readonly #belongs: (entry: T) => boolean
  #entries: T[]
  /** Entries before this index were dropped. */
  #head = 0

  constructor(belongs: (entry: T) => boolean, entries: readonly T[] = []) {
    this.#belongs = belongs
    this.#entries = [...entries]
  }

  push(entry: T): void {
    this.#entries.push(entry)
  }

  /** The first `limit` that still belong here, each once. */
  first(limit: number): T[] {
    const entries = this.#entries
    const found = new Set<T>()
    let at = this.#head
    for (; at < entries.length && found.size < limit; at++) {
      const entry = entries[at]!
      if (this.#belongs(entry)) found.add(entry)
    }
    const first = [...found]
    this.#head = at - first.length
    for (const [i, entry] of first.entries()) entries[this.#head + i] = entry
    if (this.#head > entries.length / 2) {
      this.#entries = entries.slice(this.#head)
      this.#head = 0
    }
    return first
  }
}
