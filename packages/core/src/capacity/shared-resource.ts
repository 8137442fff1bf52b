import type { Clock } from '../kernel/clock.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { Permits, type Meter } from '../kernel/permits.ts'
import { before, rankOf, urgentPriority, type Ranked } from '../kernel/rank.ts'
import { Alarm } from './alarm.ts'

let arrivals = 0

/**
 * Since when one run, or one stage, waits for anything of the process. It is kept until the run gets something: a run that
 * is called by one resource and lacks another leaves the line of the first, and must not come back as the last. Three runs
 * that all want two things, both free, would otherwise give each other the way for ever.
 */
export class Seniority {
  /** Undefined while it waits for nothing. */
  since: number | undefined
  /** Counts arrivals, over all resources. */
  order = Infinity

  begin(now: number): void {
    if (this.since !== undefined) return
    this.since = now
    this.order = arrivals++
  }

  end(): void {
    this.since = undefined
    this.order = Infinity
  }
}

/** One run, or one stage, that waits for one resource of the process. */
export class Waiter implements HeapItem, Ranked {
  heapIndex = -1
  rank = 0
  order = 0
  /** How many its best entry wants. */
  count = 0
  priority = 0
  since = 0
  /** Whether it was called and has not answered yet. */
  isNotified = false
  /** Room has come back: answered soon by taking it, or by leaving the line. */
  readonly onRoom: () => void

  readonly seniority: Seniority

  constructor(seniority: Seniority, onRoom: () => void) {
    this.seniority = seniority
    this.onRoom = onRoom
  }

  get isWaiting(): boolean {
    return this.heapIndex >= 0
  }
}

/** The answer to a waiter: refused, or the number it may take. */
export const refused = 0
export const ordinary = 1
export const onlyReserved = 2
export type Admission = typeof refused | typeof ordinary | typeof onlyReserved

let resources = 0

/**
 * One resource of the process, and the runs that wait for it.
 *
 *  C1  Runs are served by priority with aging, counted from when they began to wait for anything of the process. Who was
 *      served joins again at the end: runs of equal priority take turns.
 *  C2  Who comes later takes nothing while a run that ranks before it waits, so a run with a thousand short
 *      nodes does not keep out one with a single node.
 *  C3  Whenever something can be taken, the first in line has been called, or no caller waits. Nothing polls.
 *  C4  A waiter of priority 0 passes others on reserved permits, which they could never use.
 */
export class SharedResource {
  /** Tells resources of equal names apart. */
  readonly id = ++resources
  readonly name: string
  readonly key: string | undefined
  readonly meter: Meter
  /** How many units of the meter one permit is. Threads are shared in fractions by short jobs. */
  readonly unit: number
  readonly #clock: Clock
  readonly #aging: number
  readonly #urgent = new IndexedHeap<Waiter>(before)
  readonly #others = new IndexedHeap<Waiter>(before)
  readonly #alarm: Alarm
  readonly #onUnused: (() => void) | undefined
  /** Called when something waits that the meter has no room for. */
  onShort: (() => void) | undefined

  constructor(
    name: string,
    meter: Meter,
    more: {
      readonly clock: Clock
      readonly aging: number
      readonly unit?: number
      readonly key?: string
      readonly onUnused?: () => void
    },
  ) {
    this.name = name
    this.meter = meter
    this.#clock = more.clock
    this.#aging = more.aging
    this.unit = more.unit ?? 1
    this.key = more.key
    this.#onUnused = more.onUnused
    this.#alarm = new Alarm(more.clock, () => this.#callNext())
  }

  get waiting(): number {
    return this.#urgent.size + this.#others.size
  }

  /** How many the first in line wants; 0 when nothing waits. */
  get needed(): number {
    return this.#first()?.count ?? 0
  }

  /** Whether this waiter, in line or new, may take this many permits now. */
  admits(waiter: Waiter, count: number, priority: number): Admission {
    const urgent = priority === urgentPriority
    const first = this.#first()
    const isFirst =
      first === undefined ||
      first === waiter ||
      (!waiter.isWaiting && this.#wouldBeBefore(first, waiter, priority))
    if (isFirst) return this.meter.hasRoom(count, urgent) ? ordinary : refused
    const isFirstUrgent = urgent && (this.#urgent.size === 0 || this.#urgent.peek() === waiter)
    return isFirstUrgent && this.meter.hasReservedRoom(count) ? onlyReserved : refused
  }

  #wouldBeBefore(first: Waiter, { seniority }: Waiter, priority: number): boolean {
    const rank = rankOf(priority, seniority.since ?? this.#clock.now(), this.#aging)
    return rank === first.rank ? seniority.order < first.order : rank < first.rank
  }

  join(waiter: Waiter, count: number, priority: number): void {
    if (waiter.isWaiting) {
      if (waiter.count === count && waiter.priority === priority) return
      // It was registered for its earlier request. If it is the first now, it has to be called for this one.
      this.#remove(waiter)
    } else {
      const { seniority } = waiter
      seniority.begin(this.#clock.now())
      waiter.since = seniority.since!
      waiter.order = seniority.order
    }
    waiter.count = count
    waiter.priority = priority
    waiter.rank = rankOf(priority, waiter.since, this.#aging)
    this.#lineOf(waiter).push(waiter)
    this.#callNext()
  }

  /** Called when it needs no permits any more, or cannot use them now. */
  leave(waiter: Waiter): void {
    if (!waiter.isWaiting) return
    this.#remove(waiter)
    this.#callNext()
  }

  /** Returns how many of the taken are reserved ones. */
  take(waiter: Waiter, count: number, priority: number, isReserved: boolean): number {
    if (waiter.isWaiting) this.#remove(waiter)
    waiter.seniority.end()
    const reserved = this.meter.take(count, priority === urgentPriority, isReserved)
    if (this.waiting > 0) this.#callNext()
    return reserved
  }

  giveBack(count: number, reserved: number): void {
    this.meter.giveBack(count, reserved)
    if (this.waiting > 0) this.#callNext()
    else if (this.#onUnused !== undefined && (this.meter as Permits).used === 0) this.#onUnused()
  }

  /** The meter has more or less than before. A waiter that was called before may have found nothing left: it is called again. */
  recheck(): void {
    for (const line of [this.#urgent, this.#others]) {
      const first = line.peek()
      if (first !== undefined) first.isNotified = false
    }
    this.#callNext()
  }

  #remove(waiter: Waiter): void {
    this.#lineOf(waiter).remove(waiter)
    waiter.isNotified = false
  }

  #lineOf({ priority }: Waiter): IndexedHeap<Waiter> {
    return priority === urgentPriority ? this.#urgent : this.#others
  }

  #first(): Waiter | undefined {
    const urgent = this.#urgent.peek()
    const other = this.#others.peek()
    if (urgent === undefined || other === undefined) return urgent ?? other
    return before(urgent, other) ? urgent : other
  }

  /** C3. One at a time: when it has taken, or has left, the next one is called. */
  #callNext(): void {
    const first = this.#first()
    if (first === undefined) return this.#alarm.cancel()
    if (this.meter.hasRoom(first.count, first.priority === urgentPriority)) return call(first)
    const urgent = this.#urgent.peek()
    if (urgent !== undefined && urgent !== first && this.meter.hasReservedRoom(urgent.count)) {
      call(urgent)
    }
    this.onShort?.()
    const delay = this.meter.opensIn(first.count)
    if (delay < Infinity) this.#alarm.set(delay)
  }
}

function call(waiter: Waiter): void {
  if (waiter.isNotified) return
  waiter.isNotified = true
  waiter.onRoom()
}

/** A resource with a limit for each key. A key costs memory only while it is in use. */
export class KeyedResource {
  readonly name: string
  readonly each: number
  readonly #clock: Clock
  readonly #aging: number
  readonly #keys = new Map<string, SharedResource>()

  constructor(name: string, each: number, clock: Clock, aging: number) {
    this.name = name
    this.each = each
    this.#clock = clock
    this.#aging = aging
  }

  /** Keys in use. */
  get size(): number {
    return this.#keys.size
  }

  get(key: string): SharedResource | undefined {
    return this.#keys.get(key)
  }

  make(key: string): SharedResource {
    return new SharedResource(this.name, new Permits(this.each), {
      clock: this.#clock,
      aging: this.#aging,
      key,
      onUnused: () => this.#keys.delete(key),
    })
  }

  /** Keeps a key from the first permit, or the first waiter, until the last. */
  keep(key: string, resource: SharedResource): void {
    if (!this.#keys.has(key)) this.#keys.set(key, resource)
  }
}
