/**
 * Things that come and go: few at a time, very many in all.
 *
 * Why this: a Set of V8 gets a new table whenever its own is full of deleted items. The table that was replaced
 * keeps its items and points to its successor. As soon as one of them is in the old generation, collections of
 * the young one keep everything that was ever in the set, until the old one is collected too: of a map of a million
 * elements 60 to 80 % was copied by each, in pauses of 12 ms and more (docs/decisions/0291). Here nothing points to
 * removed items.
 *
 * Invariants, quoted by the tests:
 *  L1  What was removed is not held, and its index is used again: the arrays are as long as the most there were at a
 *      time.
 *  L2  Iterating yields the items in the order of add(); items removed or added during
 *      the iteration are left out.
 */
export class Roster<T> implements Iterable<T> {
  readonly #items: (T | undefined)[] = []
  /** Keyed by index: how many were added before. */
  readonly #numbers: number[] = []
  readonly #free: number[] = []
  #added = 0

  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** Returns the index by which it is removed. */
  add(item: T): number {
    const index = this.#free.pop() ?? this.#items.length
    this.#items[index] = item
    this.#numbers[index] = this.#added++
    return index
  }

  /** Takes out what add() gave this index. Once: later the index may be that of something else. */
  remove(index: number): void {
    this.#items[index] = undefined
    this.#numbers[index] = -1
    this.#free.push(index)
  }

  *[Symbol.iterator](): IterableIterator<T> {
    const there = this.#numbers
      .map((number, index) => ({ number, index }))
      .filter(({ number }) => number >= 0)
      .sort((a, b) => a.number - b.number)
    for (const { number, index } of there) {
      if (this.#numbers[index] === number) yield this.#items[index]!
    }
  }
}
