/** Units from `start`, `size` of them. */
export interface UnitRange {
  readonly start: number
  readonly size: number
}

/**
 * Which units of a campaign are open: those from `next` to the quota, and ranges below it that came back.
 *
 * Ranges that came back are kept sorted and joined, so a campaign whose workers keep failing holds few of them. Each
 * call costs O(log n) in their number, and nothing depends on the number of units.
 *
 *  U1  A unit is handed out again only after it was given back.
 *  U2  What came back is handed out before new units, lowest first.
 */
export class UnitRanges {
  readonly #returned: UnitRange[] = []
  #returnedUnits = 0
  #next: number
  #quota: number

  constructor(quota: number, next = 0, returned: readonly UnitRange[] = []) {
    this.#quota = quota
    this.#next = next
    for (const range of returned) this.giveBack(range)
  }

  get quota(): number {
    return this.#quota
  }

  /** The first unit that was never handed out. */
  get next(): number {
    return this.#next
  }

  /** Units that can be handed out now. */
  get open(): number {
    return Math.max(0, this.#quota - this.#next) + this.#returnedUnits
  }

  get returned(): readonly UnitRange[] {
    return this.#returned
  }

  /** Raises or lowers the quota. Units that were handed out stay out. */
  setQuota(quota: number): void {
    this.#quota = quota
  }

  /** Takes up to `most` units that follow each other; undefined when none is open. */
  take(most: number): UnitRange | undefined {
    const first = this.#returned[0]
    if (first === undefined) return this.#takeNew(most)
    const size = Math.min(most, first.size)
    if (size === first.size) this.#returned.shift()
    else this.#returned[0] = { start: first.start + size, size: first.size - size }
    this.#returnedUnits -= size
    return { start: first.start, size }
  }

  /** Removes units that are known to be out, or done: used when a campaign is read from the store. */
  remove({ start, size }: UnitRange): void {
    const end = start + size
    for (let index = this.#indexAfter(start) - 1; index < this.#returned.length; index++) {
      if (index < 0) continue
      const range = this.#returned[index]!
      const rangeEnd = range.start + range.size
      if (range.start >= end) break
      if (rangeEnd <= start) continue
      const left = { start: range.start, size: Math.max(0, start - range.start) }
      const right = { start: end, size: Math.max(0, rangeEnd - end) }
      const kept = [left, right].filter((part) => part.size > 0)
      this.#returned.splice(index, 1, ...kept)
      this.#returnedUnits -= range.size - left.size - right.size
      index += kept.length - 1
    }
    if (end <= this.#next) return
    // Units between the last one known and this range were handed out after the state was saved, and are in no lease.
    if (start > this.#next) this.giveBack({ start: this.#next, size: start - this.#next })
    this.#next = end
  }

  /** Puts units back. They join ranges beside them. */
  giveBack({ start, size }: UnitRange): void {
    if (size <= 0) return
    this.#returnedUnits += size
    const index = this.#indexAfter(start)
    const before = this.#returned[index - 1]
    const after = this.#returned[index]
    const joinsBefore = before !== undefined && before.start + before.size === start
    const joinsAfter = after !== undefined && start + size === after.start
    const joined = {
      start: joinsBefore ? before.start : start,
      size: size + (joinsBefore ? before.size : 0) + (joinsAfter ? after.size : 0),
    }
    const from = joinsBefore ? index - 1 : index
    this.#returned.splice(from, Number(joinsBefore) + Number(joinsAfter), joined)
  }

  #takeNew(most: number): UnitRange | undefined {
    const size = Math.min(most, this.#quota - this.#next)
    if (size <= 0) return undefined
    const start = this.#next
    this.#next += size
    return { start, size }
  }

  /** The place of the first range that starts after `start`. */
  #indexAfter(start: number): number {
    let low = 0
    let high = this.#returned.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#returned[middle]!.start <= start) low = middle + 1
      else high = middle
    }
    return low
  }
}
