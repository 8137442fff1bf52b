import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import type { Entry, Lane } from './lane.ts'
import { headBefore, type Ranks } from './lane-order.ts'
import type { View } from './capacity-view.ts'

/**
 * Lanes that want the same but for keys: of ten thousand tenants whose entries all need `db` and `api`.
 *
 * What one of them lacks, all of them lack, so they wait for it together. If each went by itself, all would walk from
 * the line of `db` to the line of `api` whenever `db` has room, and back whenever `api` has (K5).
 *
 *  B1  All lanes in a bundle wait at one view, and none has a key there.
 *  B2  A bundle stands in the line of its view exactly while lanes are in it.
 */
export class Bundle<T extends Entry<T>> implements HeapItem, Ranks<T> {
  heapIndex = -1
  readonly key: string
  readonly priority: number
  /** The lanes, the best first. */
  readonly #lanes = new IndexedHeap<Lane<T>>(headBefore<T>)
  /** Where its lanes wait; undefined when none does. */
  view: View<T> | undefined
  /** Lanes that would wait in it. */
  members = 0
  /** Its first entry, as a lane has it. */
  readonly line: { readonly first: T | undefined }

  constructor(key: string, priority: number) {
    this.key = key
    this.priority = priority
    const lanes = this.#lanes
    this.line = {
      get first() {
        return lanes.peek()?.line.first
      },
    }
  }

  get size(): number {
    return this.#lanes.size
  }

  get firstLane(): Lane<T> | undefined {
    return this.#lanes.peek()
  }

  add(lane: Lane<T>): void {
    this.#lanes.push(lane)
    lane.isBundled = true
  }

  remove(lane: Lane<T>): void {
    this.#lanes.remove(lane)
    lane.isBundled = false
  }

  /** The first entry of a lane is another one. */
  update(lane: Lane<T>): void {
    this.#lanes.update(lane)
  }
}
