import type { ListItem } from '../../src/kernel/linked-list.ts'
import { Capacity, type CapacityOptions } from '../../src/capacity/capacity.ts'
import type { Entry, Lane } from '../../src/capacity/lane.ts'
import type { PlacePermits } from '../../src/capacity/lane-table.ts'
import { Lanes } from '../../src/capacity/lanes.ts'
import type { Concurrency, Resources } from '../../src/capacity/resources.ts'
import type { Needs } from '../../src/graph/job.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

/** Something that waits for permits. */
export class Item implements Entry<Item>, ListItem<Item> {
  list: object | undefined
  previous: Item | undefined
  next: Item | undefined
  readyOrder = 0
  lane: Lane<Item>
  readonly name: string
  readonly depth: number
  readonly since: number

  constructor(name: string, lane: Lane<Item>, depth: number, since: number) {
    this.name = name
    this.lane = lane
    this.depth = depth
    this.since = since
  }
}

export interface ItemOptions {
  readonly needs?: Needs
  readonly priority?: number
  readonly depth?: number
  readonly at?: PlacePermits
  /** An element of a map, and not a node. */
  readonly isOnce?: boolean
}

/** A run without jobs: a started entry stays started until the test ends it. */
export class FakeRun {
  readonly lanes: Lanes<Item>
  readonly started: Item[] = []
  readonly waiting = new Set<Item>()
  readonly #clock: VirtualClock
  isPaused = false
  /** How often it was called because room had come back. */
  calls = 0
  #isCalled = false

  constructor(
    capacity: Capacity,
    clock: VirtualClock,
    options: {
      readonly concurrency?: Concurrency
      readonly resources?: Resources
      readonly aging?: number
      readonly sweep?: boolean
    } = {},
  ) {
    this.#clock = clock
    this.lanes = new Lanes<Item>({
      capacity,
      clock,
      concurrency: options.concurrency ?? Infinity,
      resources: options.resources ?? {},
      aging: options.aging ?? 30_000,
      sinceOf: ({ since }) => since,
      onRoom: () => {
        this.calls++
        this.#isCalled = true
      },
      sweep: options.sweep ?? false,
    })
  }

  /** Adds a node without starting anything. */
  add(name: string, options: ItemOptions = {}): Item {
    const lane = options.isOnce
      ? this.lanes.laneForOnce(options.needs, options.priority, options.at)
      : this.lanes.laneFor(options.needs, options.priority, options.at)
    const item = new Item(name, lane, options.depth ?? 0, this.#clock.now())
    this.waiting.add(item)
    this.lanes.enqueue(item)
    return item
  }

  remove(item: Item): boolean {
    this.waiting.delete(item)
    return this.lanes.remove(item)
  }

  pause(): void {
    this.isPaused = true
    this.lanes.withdraw()
  }

  /** Starts all entries that can start. */
  pump(): string[] {
    const names: string[] = []
    this.#isCalled = false
    if (this.isPaused) return names
    for (let item = this.lanes.pick(); item !== undefined; item = this.lanes.pick()) {
      this.waiting.delete(item)
      this.started.push(item)
      names.push(item.name)
    }
    return names
  }

  /** Starts all entries that can start, if it was called. */
  answer(): string[] {
    return this.#isCalled ? this.pump() : []
  }

  get isCalled(): boolean {
    return this.#isCalled
  }

  /** Ends the one that was started first, or the given one. */
  end(item = this.started[0]!): void {
    this.started.splice(this.started.indexOf(item), 1)
    this.lanes.giveBack(item)
  }
}

export function newCapacity(options: CapacityOptions = {}): {
  clock: VirtualClock
  capacity: Capacity
} {
  const clock = new VirtualClock()
  const kernel = { clock, random: systemRandom }
  return { clock, capacity: new Capacity({ thread: Infinity, ...options, kernel }) }
}
