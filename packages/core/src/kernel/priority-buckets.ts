import { LinkedList, type ListItem } from './linked-list.ts'

/** Implemented by what is stored in {@link PriorityBuckets}, which owns the fields. */
export interface Prioritised<T> extends ListItem<T> {
  /** 0 is first. */
  priority: number
  /** When it counts as arrived, shifted by its priority: the smallest is next. */
  rank: number
}

export interface PriorityBucketsOptions {
  /** How many priorities there are. 10 when absent. */
  readonly levels?: number | undefined
  /** Milliseconds of waiting that are worth one priority. No aging when absent or Infinity. */
  readonly aging?: number | undefined
}

/**
 * FIFO inside a priority, smaller priority first, aging against starvation, O(1) removal.
 *
 * Aging needs no timer and no re-sorting. An item of priority p that came at time t has the
 * effective priority `p - (now - t) / aging`; multiplied by `aging` and shifted by `now`, which is
 * the same for all, that is `t + p * aging`. This rank never changes while the item waits, and
 * inside one bucket it only grows towards the tail, so the next item is the head with the smallest
 * rank.
 *
 * Invariants, quoted by the tests:
 *  B1  Items of one priority leave in the order in which they came.
 *  B2  The aging bound: an item of priority p is overtaken only by items that came at most
 *      `p * aging` milliseconds after it. Equal ranks go to the smaller priority.
 *  B3  Moving an item to a smaller priority never makes it leave later.
 *
 * Prior art: a heap on (priority, time) starves the last priority; re-sorting on a timer costs
 * O(n log n) and still jumps. Ranks by arrival are earliest-deadline-first with `p * aging` as the
 * deadline. Known limit: once the backlog is older than the aging of the last priority the order is
 * that of arrival, for everybody; reserved lanes are the tool for work that must not wait for it.
 */
export class PriorityBuckets<T extends Prioritised<T>> {
  readonly #buckets: LinkedList<T>[]
  readonly #aging: number
  #size = 0

  constructor(options: PriorityBucketsOptions = {}) {
    this.#buckets = Array.from({ length: options.levels ?? 10 }, () => new LinkedList<T>())
    this.#aging = options.aging ?? Infinity
  }

  get size(): number {
    return this.#size
  }

  /** `now` is on the clock's monotonic scale and never smaller than that of an earlier call. */
  push(item: T, priority: number, now: number): void {
    item.priority = priority
    item.rank = this.#rank(priority, now)
    this.#buckets[priority]!.push(item)
    this.#size++
  }

  /** The item that leaves next. */
  first(): T | undefined {
    let best: T | undefined
    for (const { first } of this.#buckets) {
      if (first !== undefined && (best === undefined || first.rank < best.rank)) best = first
    }
    return best
  }

  shift(): T | undefined {
    const item = this.first()
    if (item !== undefined) this.remove(item)
    return item
  }

  /** The oldest item of one priority. */
  head(priority: number): T | undefined {
    return this.#buckets[priority]!.first
  }

  /** How many items of one priority wait. */
  count(priority: number): number {
    return this.#buckets[priority]!.size
  }

  /** False when the item is not here. O(1). */
  remove(item: T): boolean {
    if (!(this.#buckets[item.priority]?.remove(item) ?? false)) return false
    this.#size--
    return true
  }

  /**
   * Gives an item another priority. A rise counts from now, unless the item has aged so far that
   * its old rank is better: then it keeps that and goes in before those it was ahead of. O(1) for
   * the former, O(items ahead of it) for the latter. False when the item is not here.
   */
  move(item: T, priority: number, now: number): boolean {
    if (!this.remove(item)) return false
    const fresh = this.#rank(priority, now)
    const kept = priority < item.priority ? Math.min(item.rank, fresh) : fresh
    item.priority = priority
    item.rank = kept
    const bucket = this.#buckets[priority]!
    let after = kept === fresh ? undefined : bucket.first
    while (after !== undefined && after.rank <= kept) after = after.next
    bucket.insertBefore(item, after)
    this.#size++
    return true
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const bucket of this.#buckets) yield* bucket
  }

  #rank(priority: number, now: number): number {
    return priority === 0 ? now : now + priority * this.#aging
  }
}
