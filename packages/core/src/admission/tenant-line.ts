/**
 * The order inside a lane of admitted work: fair between tenants.
 *
 *   lane (equal needs and priority) ─▶ heap of queues, the tenant that runs least first
 *                                        queue (lane, tenant) = first come, first served
 *
 * Between lanes the rank of capacity/lanes.ts decides: priority with aging, then arrival.
 *
 * Invariants, quoted by the tests:
 *  F1  FIFO inside (tenant, priority, needs).
 *  F2  Of the tenants that wait with equal needs and priority, the one with the smallest number of running
 *      entries for its weight is next; of equals, the one served longest ago. So a tenant with nothing running is
 *      served after at most one entry of each other tenant.
 *  F3  The aging bound holds for the first of each lane: one of priority p is overtaken only by what arrives less
 *      than p × aging after it. With one tenant every entry becomes the first in its turn.
 *  F4  A tenant at its running limit is passed over and delays no other tenant.
 *  F5  A queue exists only while it holds an entry.
 *
 * Prior art: weighted fair queueing stamps entries on arrival, so an entry removed later has used up its tenant's
 * turn, and long jobs count like short ones. Comparing current counts needs no history.
 */
import type { Entry, Line } from '../capacity/lane.ts'
import type { Lanes } from '../capacity/lanes.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { LinkedList } from '../kernel/linked-list.ts'

/** A user of a queue that others share. */
export class Tenant<T extends TenantEntry<T>> {
  readonly name: string
  readonly weight: number
  /** Reserved, queued, running and parked. */
  admitted = 0
  running = 0
  /** The queues that hold an entry of it. */
  readonly queues = new Set<TenantQueue<T>>()

  constructor(name: string, weight: number) {
    this.name = name
    this.weight = weight
  }
}

export interface TenantEntry<T extends TenantEntry<T>> extends Entry<T> {
  readonly owner: Tenant<T>
}

/** The entries of one tenant in one lane. */
class TenantQueue<T extends TenantEntry<T>> implements HeapItem {
  heapIndex = -1
  readonly tenant: Tenant<T>
  readonly line: TenantLine<T>
  readonly list = new LinkedList<T>()
  /** When it was served last, or began to wait. */
  turn: number

  constructor(line: TenantLine<T>, tenant: Tenant<T>, turn: number) {
    this.line = line
    this.tenant = tenant
    this.turn = turn
  }
}

function servedBefore<T extends TenantEntry<T>>(a: TenantQueue<T>, b: TenantQueue<T>): boolean {
  const difference = a.tenant.running / a.tenant.weight - b.tenant.running / b.tenant.weight
  return difference < 0 || (difference === 0 && a.turn < b.turn)
}

export class TenantLine<T extends TenantEntry<T>> implements Line<T> {
  /** Entries of one tenant that may run at a time. */
  readonly #maxRunning: number
  readonly #queues = new Map<Tenant<T>, TenantQueue<T>>()
  readonly #heap = new IndexedHeap<TenantQueue<T>>(servedBefore<T>)
  #turns = 0

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning
  }

  get first(): T | undefined {
    return this.#heap.peek()?.list.first
  }

  push(entry: T): void {
    this.#queueOf(entry.owner).list.push(entry)
  }

  pushFirst(entry: T): void {
    const { list } = this.#queueOf(entry.owner)
    let older = list.last
    while (older !== undefined && older.readyOrder > entry.readyOrder) older = older.previous
    list.insertAfter(entry, older)
  }

  remove(entry: T): boolean {
    const queue = this.#queues.get(entry.owner)
    if (queue === undefined || !queue.list.remove(entry)) return false
    if (queue.list.size > 0) return true
    this.#queues.delete(entry.owner)
    entry.owner.queues.delete(queue)
    this.#heap.remove(queue)
    return true
  }

  /** One of its entries was started: its queue goes behind those of equal tenants. */
  serve(tenant: Tenant<T>): void {
    const queue = this.#queues.get(tenant)
    if (queue !== undefined) queue.turn = ++this.#turns
  }

  /** To be called when the number of its tenant's running entries, or its turn, has changed. */
  place(queue: TenantQueue<T>): void {
    if (queue.tenant.running >= this.#maxRunning) this.#heap.remove(queue)
    else if (queue.heapIndex < 0) this.#heap.push(queue)
    else this.#heap.update(queue)
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const { list } of this.#queues.values()) yield* list
  }

  #queueOf(tenant: Tenant<T>): TenantQueue<T> {
    let queue = this.#queues.get(tenant)
    if (queue === undefined) {
      queue = new TenantQueue(this, tenant, ++this.#turns)
      this.#queues.set(tenant, queue)
      tenant.queues.add(queue)
      this.place(queue)
    }
    return queue
  }
}

/** To be called when `tenant.running` has changed. */
export function weigh<T extends TenantEntry<T>>(tenant: Tenant<T>, lanes: Lanes<T>): void {
  for (const queue of tenant.queues) {
    const { lane } = queue.list.first!
    const before = lane.line.first
    queue.line.place(queue)
    lanes.refresh(lane, before)
  }
}
