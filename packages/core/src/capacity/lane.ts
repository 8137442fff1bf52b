import type { Needs } from '../graph/job.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { LinkedList, type ListItem } from '../kernel/linked-list.ts'
import type { Bundle } from './bundle.ts'
import type { Claim, View } from './capacity-view.ts'
import type { PlacePermits } from './lane-table.ts'

/** What can wait in a lane. The fields belong to {@link Lanes} while it waits or holds permits. */
export interface Entry<T extends Entry<T>> extends ListItem<T> {
  lane: Lane<T>
  /** Counts arrivals. */
  readyOrder: number
  /** Longest path from a root of its graph: deeper nodes go first, so that a pipeline drains. */
  readonly depth: number
}

/** The entries of one lane, the next one first. */
export interface Line<T> extends Iterable<T> {
  readonly first: T | undefined
  push(entry: T): void
  /** Puts an entry that is resumed before those of its kind that came later. */
  pushFirst(entry: T): void
  remove(entry: T): boolean
}

/** Entries that want the same and have the same priority: all or none of them lack something. */
export class Lane<T extends Entry<T>> implements HeapItem {
  heapIndex = -1
  readonly key: string
  readonly priority: number
  readonly claims: readonly Claim<T>[]
  /** The permits of its place; its claim is the first of `claims`. */
  readonly gate: View<T>
  /** Its part of `concurrency`, when that is one number for all places. */
  readonly total: number
  readonly needs: Needs | undefined
  readonly at: PlacePermits | undefined
  readonly line: Line<T>
  /** Whether all entries take the same, so that nothing has to be remembered for each. */
  readonly isPlain: boolean
  /** The bundle of lanes with which it waits for resources without keys; undefined when it needs none. */
  readonly bundle: Bundle<T> | undefined
  /** Whether it waits there. */
  isBundled = false
  #waitsAt: View<T> | undefined
  /** The view that let it go back to its gate, until it has started something or waits elsewhere. */
  offeredBy: Claim<T> | undefined
  /** Entries that wait or run. */
  members = 0
  /** Whether it stays when nothing waits in it or runs for it. */
  isKept = false

  constructor(options: {
    readonly key: string
    readonly priority: number
    readonly claims: readonly Claim<T>[]
    readonly gate: View<T>
    readonly total: number
    readonly needs: Needs | undefined
    readonly at: PlacePermits | undefined
    readonly line: Line<T>
    readonly isPlain: boolean
    readonly bundle: Bundle<T> | undefined
  }) {
    this.key = options.key
    this.priority = options.priority
    this.claims = options.claims
    this.gate = options.gate
    this.total = options.total
    this.needs = options.needs
    this.at = options.at
    this.line = options.line
    this.isPlain = options.isPlain
    this.bundle = options.bundle
  }

  /** Where it waits: at its gate, which means that it lacks nothing else, or parked at the resource it lacks. */
  get waitsAt(): View<T> | undefined {
    return this.isBundled ? this.bundle!.view : this.#waitsAt
  }

  set waitsAt(view: View<T> | undefined) {
    this.#waitsAt = view
  }

  get firstLane(): this {
    return this
  }

  /** Whether it is the lane of one key: there may be any number of those. */
  get isKeyed(): boolean {
    return this.claims.some(({ view }) => view.key !== undefined)
  }

  claimOn(view: View<T>): Claim<T> {
    return this.claims.find((claim) => claim.view === view)!
  }
}

class Bucket<T extends ListItem<T>> implements HeapItem {
  heapIndex = -1
  depth = 0
  readonly list = new LinkedList<T>()
}

/**
 * What is deeper in its graph first, first come first served among equally deep entries.
 *
 * A single entry, as in a chain of nodes, is in no list at all. Most of the time all waiting entries are equally
 * deep: then they are one linked list, and pushing and taking are O(1). Only entries of another depth need the heap
 * of buckets.
 */
export class DepthLine<T extends Entry<T>> implements Line<T> {
  /** The only entry; everything else is empty then. */
  #only: T | undefined
  #top = new Bucket<T>()
  #spare: Bucket<T> | undefined
  /** The buckets of smaller depth than the top. */
  #others: IndexedHeap<Bucket<T>> | undefined
  #byDepth: Map<number, Bucket<T>> | undefined

  get first(): T | undefined {
    return this.#only ?? this.#top.list.first
  }

  push(entry: T): void {
    const only = this.#only
    if (only === undefined && this.#top.list.size === 0) {
      this.#only = entry
      return
    }
    if (only !== undefined) {
      this.#only = undefined
      this.#pushToList(only)
    }
    this.#pushToList(entry)
  }

  #pushToList(entry: T): void {
    const top = this.#top
    if (entry.depth === top.depth) top.list.push(entry)
    else if (top.list.size === 0) {
      // The top is empty only when everything is.
      top.depth = entry.depth
      top.list.push(entry)
    } else this.#bucketOf(entry.depth).list.push(entry)
  }

  pushFirst(entry: T): void {
    this.push(entry)
    if (this.#only === entry) return
    const { list } = entry.depth === this.#top.depth ? this.#top : this.#byDepth!.get(entry.depth)!
    list.remove(entry)
    let older = list.first
    // Resumed entries, too, are in front and in their order.
    while (older !== undefined && older.readyOrder < entry.readyOrder) older = older.next
    list.insertAfter(entry, older === undefined ? list.last : older.previous)
  }

  remove(entry: T): boolean {
    if (this.#only !== undefined) {
      if (this.#only !== entry) return false
      this.#only = undefined
      return true
    }
    const top = this.#top
    if (entry.depth === top.depth) {
      if (!top.list.remove(entry)) return false
      if (top.list.size === 0 && this.#others !== undefined) this.#uncover(this.#others)
      return true
    }
    const bucket = this.#byDepth?.get(entry.depth)
    if (bucket === undefined || !bucket.list.remove(entry)) return false
    if (bucket.list.size === 0) {
      this.#others!.remove(bucket)
      this.#byDepth!.delete(bucket.depth)
      this.#spare = bucket
    }
    return true
  }

  *[Symbol.iterator](): IterableIterator<T> {
    if (this.#only !== undefined) yield this.#only
    yield* this.#top.list
    for (const bucket of this.#byDepth?.values() ?? []) yield* bucket.list
  }

  #uncover(others: IndexedHeap<Bucket<T>>): void {
    const next = others.pop()
    if (next === undefined) return
    this.#byDepth!.delete(next.depth)
    this.#spare = this.#top
    this.#top = next
  }

  #bucketOf(depth: number): Bucket<T> {
    const others = (this.#others ??= new IndexedHeap((a, b) => a.depth > b.depth))
    const byDepth = (this.#byDepth ??= new Map())
    let bucket = byDepth.get(depth)
    if (bucket !== undefined) return bucket
    bucket = this.#spare ?? new Bucket<T>()
    this.#spare = undefined
    bucket.depth = depth
    if (depth > this.#top.depth) {
      const covered = this.#top
      this.#top = bucket
      others.push(covered)
      byDepth.set(covered.depth, covered)
      return bucket
    }
    others.push(bucket)
    byDepth.set(depth, bucket)
    return bucket
  }
}
