import { checkOptions } from './check.ts'
import { IndexedHeap, type HeapItem } from './heap.ts'
import type { Clock, Timer } from './clock.ts'

class VirtualTimer implements Timer, HeapItem {
  heapIndex = -1
  readonly at: number
  readonly order: number
  readonly callback: () => void
  readonly #heap: IndexedHeap<VirtualTimer>

  constructor(heap: IndexedHeap<VirtualTimer>, at: number, order: number, callback: () => void) {
    this.#heap = heap
    this.at = at
    this.order = order
    this.callback = callback
  }

  cancel(): void {
    this.#heap.remove(this)
  }
}

/**
 * Time that moves only when a test says so.
 *
 * Timers fire in order of their time, and in order of creation when the times are equal. After
 * each timer all promise reactions run before the next timer fires, as they do in Node.
 */
export class VirtualClock implements Clock {
  readonly #timers = new IndexedHeap<VirtualTimer>(
    (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order),
  )
  #now = 0
  #order = 0
  readonly #wallStart: number

  constructor(options: { wallTime?: number } = {}) {
    checkOptions(options, { wallTime: 1 })
    this.#wallStart = options.wallTime ?? Date.UTC(2026, 0, 1)
  }

  now(): number {
    return this.#now
  }

  wallTime(): number {
    return this.#wallStart + this.#now
  }

  setTimer(delay: number, callback: () => void): Timer {
    const at = this.#now + Math.max(0, delay)
    const timer = new VirtualTimer(this.#timers, at, this.#order++, callback)
    this.#timers.push(timer)
    return timer
  }

  afterIo(callback: () => void): void {
    setImmediate(callback)
  }

  /** How many timers wait: a test's way to see that nothing was left behind. */
  get pending(): number {
    return this.#timers.size
  }

  /**
   * Lets everything run that can run without time passing.
   *
   * *Cancellation*: none; it takes four turns of the loop.
   */
  async settle(): Promise<void> {
    // One turn is not enough: work that yields through afterIo() may be scheduled by a reaction.
    for (let turn = 0; turn < 4; turn++) await new Promise<void>((done) => setImmediate(done))
  }

  /**
   * Moves time forward and fires what falls due on the way.
   *
   * *Cancellation*: none; it ends with the last timer that falls due. A timer's error ends it too.
   */
  async advance(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds
    await this.settle()
    for (let timer = this.#timers.peek(); timer && timer.at <= until; timer = this.#timers.peek()) {
      this.#fire(timer)
      await this.settle()
    }
    this.#now = Math.max(this.#now, until)
  }

  /**
   * Fires timers, jumping from one to the next, until `work` settles.
   * Throws when nothing is left that could make it settle: that is a deadlock.
   *
   * *Cancellation*: none; it ends with `work`, or with the deadlock.
   */
  async runUntil<T>(work: Promise<T>): Promise<T> {
    let settled = false
    const mark = (): void => {
      settled = true
    }
    work.then(mark, mark)
    await this.settle()
    while (!settled) {
      const timer = this.#timers.peek()
      if (!timer)
        throw new Error('Deadlock: nothing is scheduled and the awaited work has not settled')
      this.#fire(timer)
      await this.settle()
    }
    return work
  }

  #fire(timer: VirtualTimer): void {
    this.#timers.remove(timer)
    this.#now = Math.max(this.#now, timer.at)
    timer.callback()
  }
}
