/**
 * A world of processes in virtual time: one queue of events, clocks that run at different speeds, processes that are
 * stopped, continued and killed, and a network that delays and loses messages. One seed makes one history.
 */
import type { Clock, Timer } from '../../../src/kernel/clock.ts'
import { IndexedHeap, type HeapItem } from '../../../src/kernel/heap.ts'
import { seededRandom, type Random } from '../../../src/kernel/random.ts'

class WorldEvent implements HeapItem {
  heapIndex = -1
  readonly at: number
  readonly order: number
  readonly happen: () => void

  constructor(at: number, order: number, happen: () => void) {
    this.at = at
    this.order = order
    this.happen = happen
  }
}

export class World {
  readonly random: Random
  readonly #events = new IndexedHeap<WorldEvent>(
    (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order),
  )
  #now = 0
  #order = 0

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  get now(): number {
    return this.#now
  }

  /** A whole number from 0 to `below` - 1. */
  pick(below: number): number {
    return Math.floor(this.random.next() * below)
  }

  between(least: number, most: number): number {
    return least + this.random.next() * (most - least)
  }

  chance(probability: number): boolean {
    return this.random.next() < probability
  }

  after(delay: number, happen: () => void): Timer {
    const event = new WorldEvent(this.#now + delay, this.#order++, happen)
    this.#events.push(event)
    return { cancel: () => void this.#events.remove(event) }
  }

  /** Lets everything happen up to a time; `check` runs after every event and all promise reactions to it. */
  async run(until: number, check: () => void): Promise<void> {
    for (;;) {
      const event = this.#events.peek()
      if (event === undefined || event.at > until) break
      this.#events.pop()
      this.#now = event.at
      event.happen()
      await new Promise<void>((done) => setImmediate(done))
      check()
    }
    this.#now = until
  }
}

/** A process: its clock, and whether it runs. Timers that fall due while it is stopped fire when it continues. */
export class SimulatedProcess implements Clock {
  readonly #world: World
  /** How fast its clock runs. */
  readonly #rate: number
  #state: 'running' | 'stopped' | 'dead' = 'running'
  #missed: (() => void)[] = []

  constructor(world: World, rate: number) {
    this.#world = world
    this.#rate = rate
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  now(): number {
    return this.#world.now * this.#rate
  }

  wallTime(): number {
    return this.now()
  }

  setTimer(delay: number, callback: () => void): Timer {
    let cancelled = false
    const timer = this.#world.after(Math.max(0, delay) / this.#rate, () =>
      this.receive(() => {
        if (!cancelled) callback()
      }),
    )
    return {
      cancel: () => {
        cancelled = true
        timer.cancel()
      },
    }
  }

  afterIo(callback: () => void): void {
    this.setTimer(0, callback)
  }

  /** Something reaches the process. */
  receive(happen: () => void): void {
    if (this.#state === 'running') happen()
    else if (this.#state === 'stopped') this.#missed.push(happen)
  }

  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped'
  }

  continue(): void {
    if (this.#state !== 'stopped') return
    this.#state = 'running'
    for (const happen of this.#missed.splice(0)) this.#world.after(0, () => this.receive(happen))
  }

  kill(): void {
    this.#state = 'dead'
    this.#missed = []
  }
}
