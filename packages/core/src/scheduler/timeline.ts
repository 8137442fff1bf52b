const unset = NaN

/**
 * When each node became ready, started and ended, by node index.
 *
 * Columns of doubles instead of fields on the node: a number field on an object is a separate heap
 * allocation in V8, and a million nodes have three million of them.
 */
export class Timeline {
  #readyAt = new Float64Array(64).fill(unset)
  #startedAt = new Float64Array(64).fill(unset)
  #endedAt = new Float64Array(64).fill(unset)

  /** Makes room for a node. */
  add(index: number): void {
    if (index < this.#readyAt.length) return
    this.#readyAt = grown(this.#readyAt)
    this.#startedAt = grown(this.#startedAt)
    this.#endedAt = grown(this.#endedAt)
  }

  markReady(index: number, at: number): void {
    this.#readyAt[index] = at
  }

  /** The first attempt's start, so that back-off counts as time the node took. */
  markStarted(index: number, at: number): void {
    this.#startedAt[index] = at
  }

  markEnded(index: number, at: number): void {
    this.#endedAt[index] = at
  }

  hasStarted(index: number): boolean {
    return !Number.isNaN(this.#startedAt[index]!)
  }

  readyAt(index: number): number {
    return this.#readyAt[index]!
  }

  startedAt(index: number): number {
    return this.#startedAt[index]!
  }

  endedAt(index: number): number {
    return this.#endedAt[index]!
  }
}

function grown(column: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(column.length * 2).fill(unset, column.length)
  larger.set(column)
  return larger
}
