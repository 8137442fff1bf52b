/** Implemented by items of a {@link LinkedList}. The list owns these fields. */
export interface ListItem<T> {
  list: object | undefined
  previous: T | undefined
  next: T | undefined
}

/**
 * Doubly linked list through the items themselves: push, shift and removal from the middle are
 * O(1) and allocate nothing. An array, or asyncio's queue, cannot give up an item in the middle.
 */
export class LinkedList<T extends ListItem<T>> {
  #first: T | undefined
  #last: T | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get first(): T | undefined {
    return this.#first
  }

  get last(): T | undefined {
    return this.#last
  }

  push(item: T): void {
    item.list = this
    item.previous = this.#last
    item.next = undefined
    if (this.#last === undefined) this.#first = item
    else this.#last.next = item
    this.#last = item
    this.#size++
  }

  /** Puts an item at the front: for work that was taken and handed back. */
  unshift(item: T): void {
    item.list = this
    item.previous = undefined
    item.next = this.#first
    if (this.#first === undefined) this.#last = item
    else this.#first.previous = item
    this.#first = item
    this.#size++
  }

  /** Puts an item behind one that is in this list; at the front when that is undefined. */
  insertAfter(item: T, previous: T | undefined): void {
    if (previous === undefined) return this.unshift(item)
    if (previous.next === undefined) return this.push(item)
    item.list = this
    item.previous = previous
    item.next = previous.next
    previous.next.previous = item
    previous.next = item
    this.#size++
  }

  shift(): T | undefined {
    const item = this.#first
    if (item !== undefined) this.remove(item)
    return item
  }

  /** False when the item is not in this list. */
  remove(item: T): boolean {
    if (item.list !== this) return false
    const { previous, next } = item
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.list = undefined
    item.previous = undefined
    item.next = undefined
    this.#size--
    return true
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let item = this.#first; item !== undefined;) {
      const next: T | undefined = item.next
      yield item
      item = next
    }
  }
}
