/** How many places of a run of holes are read one by one. Then the array is asked for its items. */
const mostLooks = 2 ** 16

/**
 * Finds the items of an array that has holes.
 *
 * Reading a hole costs as much as reading an item: `a[4e9] = 1` alone would take minutes. So in a long run of
 * holes the array is asked for its keys, once.
 *
 * Known limit: that takes one turn of the loop, which is 0.6 s for 1 million items with 65,536 holes before the last
 * one, and 0.13 s for `new Array(3e7)`, of which V8 keeps each place.
 */
export class PresentItems {
  readonly #items: readonly unknown[]
  #looks = 0
  #listed: readonly number[] | undefined
  #next = 0

  constructor(items: readonly unknown[]) {
    this.#items = items
  }

  /**
   * The first index from `from` on that has an item, else `end`. It reads no more than `most` places, and answers
   * with the next one then. `from` never decreases.
   */
  find(from: number, end: number, most: number): number {
    if (this.#listed !== undefined) return Math.min(this.#nextListed(from), end)
    const last = Math.min(end, from + most)
    let index = from
    while (index < last && !(index in this.#items)) index++
    this.#looks = index === last ? this.#looks + index - from : 0
    if (this.#looks >= mostLooks) this.#listed = indicesOf(this.#items)
    return index
  }

  #nextListed(from: number): number {
    const listed = this.#listed!
    while (this.#next < listed.length && listed[this.#next]! < from) this.#next++
    return listed[this.#next] ?? Infinity
  }
}

function indicesOf(items: readonly unknown[]): readonly number[] {
  const indices: number[] = []
  for (const key of Object.keys(items)) {
    const index = Number(key)
    // An array can have other keys as well.
    if (Number.isInteger(index) && String(index) === key) indices.push(index)
  }
  // They are in order, except those of a proxy.
  return indices.sort((a, b) => a - b)
}
