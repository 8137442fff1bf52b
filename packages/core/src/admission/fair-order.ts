/**
 * Which of the queued entries is next: by priority with aging, fair between tenants, and never held
 * up by an entry whose resources are busy.
 *
 *   group (equal needs) ─ priority ─▶ heap of lanes, the tenant that runs least first
 *                                        lane (group, tenant, priority) = a FIFO of entries
 *
 * The candidates are the heads of the first lane of every (group, priority): that is all a consumer
 * has to look at, however many entries and tenants there are.
 *
 * Invariants, quoted by the tests:
 *  F1  FIFO inside (tenant, priority, needs).
 *  F2  Of the tenants that wait with equal needs and priority, the one with the smallest number of
 *      running entries for its weight is the candidate; of equals, the one served longest ago. So a
 *      tenant with nothing running is served after at most one entry of each other tenant.
 *  F3  The aging bound holds for candidates: one of priority p is overtaken only by what arrives
 *      less than p × aging after it. With one tenant every entry becomes the candidate in its turn.
 *  F4  A tenant at its running limit is no candidate and delays nobody.
 *  F5  Lines and groups exist only while they hold an entry.
 *
 * Prior art: weighted fair queueing stamps entries on arrival, so an entry removed later has used
 * up its tenant's turn, and long jobs count like short ones. Comparing what runs now needs no
 * history. Known limit: with equal needs and priorities the cost of a start is O(log tenants); every
 * distinct combination of needs in the queue adds a constant to it.
 */

import type { Needs } from '../graph/job.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { before, priorityCount } from '../kernel/rank.ts'
import { Buckets, type Prioritised } from './buckets.ts'

/** Somebody who shares the queue with others. */
export class Tenant<T extends Orderable<T>> {
  readonly name: string
  readonly weight: number
  /** Reserved, queued and running. */
  admitted = 0
  running = 0
  /** Those that hold an entry. */
  readonly lanes = new Set<Lane<T>>()

  constructor(name: string, weight: number) {
    this.name = name
    this.weight = weight
  }
}

/** What can be put in order. */
export interface Orderable<T extends Orderable<T>> extends Prioritised<T> {
  readonly owner: Tenant<T>
  readonly needs: Needs
  /** Owned by {@link FairOrder}: where the entry waits. */
  line: Line<T> | undefined
}

class Lane<T extends Orderable<T>> implements HeapItem {
  heapIndex = -1
  readonly line: Line<T>
  readonly priority: number
  /** When it was served last, or began to wait. */
  turn: number

  constructor(line: Line<T>, priority: number, turn: number) {
    this.line = line
    this.priority = priority
    this.turn = turn
  }
}

/** The entries of one tenant with equal needs. */
class Line<T extends Orderable<T>> {
  readonly group: Group<T>
  readonly tenant: Tenant<T>
  readonly buckets: Buckets<T>
  readonly lanes: (Lane<T> | undefined)[] = []

  constructor(group: Group<T>, tenant: Tenant<T>, aging: number) {
    this.group = group
    this.tenant = tenant
    this.buckets = new Buckets(aging)
  }
}

function servedBefore<T extends Orderable<T>>(a: Lane<T>, b: Lane<T>): boolean {
  const left = a.line.tenant
  const right = b.line.tenant
  const difference = left.running / left.weight - right.running / right.weight
  return difference < 0 || (difference === 0 && a.turn < b.turn)
}

/** All entries with equal needs. */
class Group<T extends Orderable<T>> {
  readonly key: string
  readonly lines = new Map<Tenant<T>, Line<T>>()
  readonly #heaps: (IndexedHeap<Lane<T>> | undefined)[] = []

  constructor(key: string) {
    this.key = key
  }

  heap(priority: number): IndexedHeap<Lane<T>> {
    return (this.#heaps[priority] ??= new IndexedHeap(servedBefore<T>))
  }

  first(priority: number): T | undefined {
    return this.#heaps[priority]?.peek()?.line.buckets.head(priority)
  }
}

function keyOf(needs: Needs): string {
  return Object.entries(needs)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join('\n')
}

export class FairOrder<T extends Orderable<T>> {
  readonly #aging: number
  /** Entries of one tenant that may run at a time. */
  readonly #maxRunning: number
  readonly #groups = new Map<string, Group<T>>()
  /** Most entries bring the very object that the last one brought. */
  #lastNeeds: Needs = {}
  #lastKey = ''
  #turns = 0

  constructor(aging: number, maxRunning: number) {
    this.#aging = aging
    this.#maxRunning = maxRunning
  }

  /** How many groups and lines exist: nothing is left when it is 0. */
  get footprint(): number {
    let count = this.#groups.size
    for (const group of this.#groups.values()) count += group.lines.size
    return count
  }

  add(entry: T, priority: number): void {
    const line = this.#lineFor(entry)
    entry.line = line
    line.buckets.push(entry, priority)
    this.#refresh(line, priority)
  }

  remove(entry: T): void {
    const line = entry.line!
    entry.line = undefined
    line.buckets.remove(entry)
    this.#refresh(line, entry.priority)
    this.#sweep(line)
  }

  move(entry: T, priority: number): void {
    const line = entry.line!
    const from = entry.priority
    line.buckets.move(entry, priority)
    this.#refresh(line, from)
    this.#refresh(line, priority)
  }

  /** Takes a candidate out for good: its lane goes behind the others. */
  take(entry: T): void {
    entry.line!.lanes[entry.priority]!.turn = ++this.#turns
    this.remove(entry)
  }

  /** To be called when `owner.running` has changed. */
  weigh(owner: Tenant<T>): void {
    for (const lane of owner.lanes) this.#place(lane)
  }

  /** What may be started next, best first. */
  candidates(): T[] {
    const heads: T[] = []
    for (const group of this.#groups.values()) {
      for (let priority = 0; priority < priorityCount; priority++) {
        const head = group.first(priority)
        if (head !== undefined) heads.push(head)
      }
    }
    return heads.length < 2 ? heads : heads.sort((a, b) => (before(a, b) ? -1 : 1))
  }

  #lineFor(entry: T): Line<T> {
    if (entry.needs !== this.#lastNeeds) {
      this.#lastNeeds = entry.needs
      this.#lastKey = keyOf(entry.needs)
    }
    const key = this.#lastKey
    let group = this.#groups.get(key)
    if (group === undefined) this.#groups.set(key, (group = new Group(key)))
    let line = group.lines.get(entry.owner)
    if (line === undefined) {
      line = new Line(group, entry.owner, this.#aging)
      group.lines.set(entry.owner, line)
    }
    return line
  }

  /** Brings a lane in or out when it got its first entry or lost its last, and to its place in the heap. */
  #refresh(line: Line<T>, priority: number): void {
    const waiting = line.buckets.head(priority) !== undefined
    let lane = line.lanes[priority]
    if (waiting && lane === undefined) {
      lane = new Lane(line, priority, ++this.#turns)
      line.lanes[priority] = lane
      line.tenant.lanes.add(lane)
    }
    if (lane === undefined) return
    if (waiting) return this.#place(lane)
    line.lanes[priority] = undefined
    line.tenant.lanes.delete(lane)
    line.group.heap(priority).remove(lane)
  }

  #place(lane: Lane<T>): void {
    const heap = lane.line.group.heap(lane.priority)
    if (lane.line.tenant.running >= this.#maxRunning) heap.remove(lane)
    else if (lane.heapIndex < 0) heap.push(lane)
    else heap.update(lane)
  }

  #sweep(line: Line<T>): void {
    if (line.buckets.size > 0) return
    const { group } = line
    group.lines.delete(line.tenant)
    if (group.lines.size === 0) this.#groups.delete(group.key)
  }
}
