import { LinkedList, type ListItem } from '../kernel/linked-list.ts'
import { before, rankOf, type Ranked } from '../kernel/rank.ts'

/** Implemented by what is stored in {@link Buckets}, which owns `priority`, `rank` and the links. */
export interface Prioritised<T> extends ListItem<T>, Ranked {
  /** When it arrived, on the clock's monotonic scale. */
  readonly since: number
  /** Counts arrivals. */
  readonly order: number
  priority: number
  rank: number
}

/**
 * FIFO inside a priority, O(1) insertion and removal.
 *
 * The order is that of `kernel/rank.ts`: a rank that never changes while an item waits. Inside a
 * bucket it only grows towards the tail, so the heads of the buckets are all there is to look at.
 *
 *  B1  Items of one priority are in the order in which they arrived, also those that were moved.
 *  B2  Moving an item to a smaller priority never makes it leave later, because it keeps the time it
 *      has waited.
 */
export class Buckets<T extends Prioritised<T>> {
  /** Made on first use: most programs use one or two priorities. */
  readonly #buckets: (LinkedList<T> | undefined)[] = []
  readonly #aging: number
  #size = 0

  constructor(aging: number) {
    this.#aging = aging
  }

  get size(): number {
    return this.#size
  }

  push(item: T, priority: number): void {
    this.#rank(item, priority)
    this.#bucket(priority).push(item)
    this.#size++
  }

  /** The oldest item of one priority. */
  head(priority: number): T | undefined {
    return this.#buckets[priority]?.first
  }

  /** False when the item is not here. */
  remove(item: T): boolean {
    if (!this.#buckets[item.priority]?.remove(item)) return false
    this.#size--
    return true
  }

  /** O(items of the new priority that arrived after it). False when the item is not here. */
  move(item: T, priority: number): boolean {
    if (!this.remove(item)) return false
    this.#rank(item, priority)
    const bucket = this.#bucket(priority)
    let older = bucket.last
    while (older !== undefined && before(item, older)) older = older.previous
    bucket.insertAfter(item, older)
    this.#size++
    return true
  }

  #rank(item: T, priority: number): void {
    item.priority = priority
    item.rank = rankOf(priority, item.since, this.#aging)
  }

  #bucket(priority: number): LinkedList<T> {
    return (this.#buckets[priority] ??= new LinkedList())
  }
}
