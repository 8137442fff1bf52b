/** The last entries of a possibly endless list. */
export class Ring<T> implements Iterable<T> {
  readonly #limit: number
  readonly #entries: T[] = []
  #next = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#entries.length
  }

  push(entry: T): void {
    this.#entries[this.#next] = entry
    this.#next = (this.#next + 1) % this.#limit
  }

  /** The last `count` entries, oldest first. */
  last(count: number): T[] {
    const size = this.#entries.length
    const taken = Math.min(count, size)
    return Array.from(
      { length: taken },
      (_, i) => this.#entries[(this.#next - taken + i + size) % size]!,
    )
  }

  [Symbol.iterator](): Iterator<T> {
    return this.last(this.#entries.length)[Symbol.iterator]()
  }
}
