import type { Clock, Timer } from './clock.ts'
import { IndexedHeap, type HeapItem } from './heap.ts'
import { sliceBudget } from './slices.ts'

/** Something that can fall due. The field is owned by {@link Deadlines}. */
export interface Due extends HeapItem {
  /** Undefined until it is set, where most items never are: a number with a fraction is an object of its own. */
  dueAt: number | undefined
}

/**
 * Many deadlines on one timer.
 *
 * A native timer costs about 300 ns to set and clear; a heap entry costs about 40 ns. The timer is
 * not re-armed when the earliest deadline is removed: it fires early once, finds nothing due and
 * arms itself for the next one. So a run of short jobs under a ten-minute limit sets one timer.
 *
 * When very many fall due together they are notified in slices, with a turn for other work between.
 */
export class Deadlines<T extends Due> {
  readonly #heap: IndexedHeap<T>
  readonly #clock: Clock
  readonly #onDue: (item: T) => void
  #timer: Timer | undefined
  #armedFor = Infinity

  /** `isFirst` decides between two that fall due at the same moment; without it their order is not defined. */
  constructor(
    clock: Clock,
    onDue: (item: T) => void,
    isFirst: (a: T, b: T) => boolean = () => false,
  ) {
    this.#heap = new IndexedHeap(
      (a, b) => a.dueAt! < b.dueAt! || (a.dueAt === b.dueAt && isFirst(a, b)),
    )
    this.#clock = clock
    this.#onDue = onDue
  }

  get size(): number {
    return this.#heap.size
  }

  /** `at` is on the clock's monotonic scale. An item is in at most one place: adding it again moves it. */
  set(item: T, at: number): void {
    item.dueAt = at
    if (item.heapIndex >= 0) this.#heap.update(item)
    else this.#heap.push(item)
    if (at < this.#armedFor) this.#arm(at)
  }

  /** False when the item was not waiting. */
  delete(item: T): boolean {
    return this.#heap.remove(item)
  }

  /** Drops everything, including the timer. */
  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#armedFor = Infinity
    while (this.#heap.pop() !== undefined) continue
  }

  /** Stops the timer when nothing waits; called when the owner goes idle, so that the process may end. */
  releaseTimer(): void {
    if (this.#heap.size === 0) this.close()
  }

  #arm(at: number): void {
    this.#timer?.cancel()
    this.#armedFor = at
    this.#timer = this.#clock.setTimer(at - this.#clock.now(), () => this.#fire())
  }

  #fire(): void {
    this.#timer = undefined
    this.#armedFor = Infinity
    const now = this.#clock.now()
    let told = 0
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) {
      // Not due yet: native timers round to whole milliseconds and may fire a fraction early.
      const dueAt = next.dueAt!
      if (dueAt > now || this.#isSliceOver(++told, now)) {
        if (dueAt < this.#armedFor) this.#arm(dueAt)
        return
      }
      this.#heap.remove(next)
      this.#onDue(next)
    }
  }

  /** Reading the clock costs as much as notifying one of them: it is read after every 64. */
  #isSliceOver(told: number, since: number): boolean {
    return (told & 63) === 0 && this.#clock.now() - since >= sliceBudget
  }
}
