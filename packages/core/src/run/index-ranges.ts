/**
 * A set of whole numbers as ranges: the record of ended elements of a map.
 *
 * Elements start in order and end nearly so. There are at most as many gaps as elements were under way, so a million
 * of them take a few ranges (docs/design/growing.md, G1).
 */
export class IndexRanges {
  /** Ordered, disjoint and not adjacent: [from, to), [from, to), … */
  readonly #bounds: number[] = []

  /** How many ranges there are. */
  get ranges(): number {
    return this.#bounds.length / 2
  }

  has(index: number): boolean {
    // An odd number of bounds is at or below an index that is in a range.
    return this.#countUpTo(index) % 2 === 1
  }

  add(index: number): void {
    const below = this.#countUpTo(index)
    if (below % 2 === 1) return
    const bounds = this.#bounds
    const touchesBefore = below > 0 && bounds[below - 1] === index
    const touchesAfter = bounds[below] === index + 1
    if (touchesBefore && touchesAfter) bounds.splice(below - 1, 2)
    else if (touchesBefore) bounds[below - 1] = index + 1
    else if (touchesAfter) bounds[below] = index
    else bounds.splice(below, 0, index, index + 1)
  }

  clear(): void {
    this.#bounds.length = 0
  }

  /** How many bounds are at or below `index`. */
  #countUpTo(index: number): number {
    let low = 0
    let high = this.#bounds.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#bounds[middle]! <= index) low = middle + 1
      else high = middle
    }
    return low
  }
}
