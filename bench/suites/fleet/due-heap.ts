/** Things with a due time, earliest first: one heap instead of 30,000 timers. */
export interface Timed {
  /** Milliseconds on the clock of `performance.now()`. */
  readonly due: number
}

export class DueHeap<T extends Timed> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (items[parent]!.due <= item.due) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const top = items[0]
    const last = items.pop()
    if (top === undefined || last === undefined || items.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && items[child + 1]!.due < items[child]!.due) child++
      if (items[child]!.due >= last.due) break
      items[at] = items[child]!
      at = child
    }
    items[at] = last
    return top
  }
}
