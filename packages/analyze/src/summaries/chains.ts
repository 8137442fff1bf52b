import { withRoomFor } from './room.ts'

/**
 * Lists by number, for very many lists of which very few are asked for.
 *
 * Each value knows the one before it in its list, and each list its last one: two numbers for a value,
 * where a map of arrays would make an array for every list.
 */
export class Chains<T> {
  /** The values in the order in which they came. */
  readonly values: T[] = []
  /** Indexed by list: the number of its last value, counted from 1. */
  #last = new Int32Array(256)
  /** Indexed by value: the previous value in its list. */
  #previous = new Int32Array(256)

  add(list: number, value: T): void {
    const at = this.values.push(value)
    if (list >= this.#last.length) this.#last = withRoomFor(list, this.#last)
    if (at >= this.#previous.length) this.#previous = withRoomFor(at, this.#previous)
    this.#previous[at] = this.#last[list]!
    this.#last[list] = at
  }

  lastOf(list: number): T | undefined {
    const at = this.#last[list] ?? 0
    return at === 0 ? undefined : this.values[at - 1]
  }

  /** First to last. */
  of(list: number): T[] {
    const found: T[] = []
    for (let at = this.#last[list] ?? 0; at !== 0; at = this.#previous[at]!)
      found.push(this.values[at - 1]!)
    return found.reverse()
  }
}
