import { checkFunction } from './check.ts'

/** Implemented by items of an {@link IndexedHeap}. The heap owns the field; -1 = not in it. */
export interface HeapItem {
  heapIndex: number
}

/**
 * Binary heap whose items know their place, so that any of them can be removed in O(log n).
 *
 * Deleting lazily instead (mark and skip) would keep every cancelled 10-minute deadline alive for
 * ten minutes: with short jobs that is the whole history of the run.
 */
export class IndexedHeap<T extends HeapItem> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    checkFunction('before', before)
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    this.#items.push(item)
    this.#rise(item, this.#items.length - 1)
  }

  pop(): T | undefined {
    const first = this.#items[0]
    if (first !== undefined) this.remove(first)
    return first
  }

  /** False when the item is not in the heap. */
  remove(item: T): boolean {
    const index = item.heapIndex
    if (index < 0 || this.#items[index] !== item) return false
    const last = this.#items.pop()!
    item.heapIndex = -1
    if (last !== item) this.#place(last, index)
    return true
  }

  /** Restores the order after the item's key changed. */
  update(item: T): void {
    this.#place(item, item.heapIndex)
  }

  #place(item: T, index: number): void {
    if (index > 0 && this.#before(item, this.#items[(index - 1) >> 1]!)) this.#rise(item, index)
    else this.#sink(item, index)
  }

  #rise(item: T, index: number): void {
    const items = this.#items
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = items[parentIndex]!
      if (!this.#before(item, parent)) break
      items[index] = parent
      parent.heapIndex = index
      index = parentIndex
    }
    items[index] = item
    item.heapIndex = index
  }

  #sink(item: T, index: number): void {
    const items = this.#items
    const size = items.length
    for (let childIndex = 2 * index + 1; childIndex < size; childIndex = 2 * index + 1) {
      let child = items[childIndex]!
      const right = items[childIndex + 1]
      if (right !== undefined && this.#before(right, child)) {
        child = right
        childIndex++
      }
      if (!this.#before(child, item)) break
      items[index] = child
      child.heapIndex = index
      index = childIndex
    }
    items[index] = item
    item.heapIndex = index
  }
}
