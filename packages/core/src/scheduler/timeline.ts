import { NumberTable } from '../kernel/number-table.ts'

const unset = NaN

// Fields of a record.
const ready = 0
const started = 1
const ended = 2

/**
 * When each node became ready, started and ended, by node index.
 *
 * A table of doubles instead of fields on the node: a number field on an object is a separate heap
 * allocation in V8, and a million nodes have three million of them.
 */
export class Timeline {
  readonly #times = new NumberTable(3, (length) => new Float64Array(length).fill(unset))

  /** Makes room for a node. */
  add(index: number): void {
    this.#times.add(index)
  }

  markReady(index: number, at: number): void {
    this.#set(index, ready, at)
  }

  /** The first attempt's start, so that back-off counts as time the node took. */
  markStarted(index: number, at: number): void {
    this.#set(index, started, at)
  }

  markEnded(index: number, at: number): void {
    this.#set(index, ended, at)
  }

  hasStarted(index: number): boolean {
    return !Number.isNaN(this.startedAt(index))
  }

  readyAt(index: number): number {
    return this.#get(index, ready)
  }

  startedAt(index: number): number {
    return this.#get(index, started)
  }

  endedAt(index: number): number {
    return this.#get(index, ended)
  }

  #get(index: number, field: number): number {
    return this.#times.piece(index)[this.#times.offset(index) + field]!
  }

  #set(index: number, field: number, at: number): void {
    this.#times.piece(index)[this.#times.offset(index) + field] = at
  }
}
