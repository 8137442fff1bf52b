/**
 * A bounded queue whose items can be taken back, moved, and are known to be finished.
 *
 *   put ──▶ queued ──take──▶ taken ──done──▶ gone
 *             │ └──move──▶ queued, in another line
 *             └──remove, clear──▶ gone
 *
 *  Q1  At most `capacity` items are queued.
 *  Q2  A putter waits only while the queue is full; a getter waits only while it is empty. What
 *      frees a slot lets in the putter that waited longest in the same step.
 *  Q3  Order of service as in `kernel/rank.ts`: first come first served inside a priority.
 *  Q4  Idle means: nothing queued and every ticket finished. Nothing else is counted, so an item that was
 *      never queued, or was removed, can never keep `waitIdle()` waiting.
 *  Q5  Removing and moving are O(1): an item knows its place.
 *  Q6  After `close()` no caller waits: queued items can be taken, then takers get `HDL_CLOSED`.
 *
 * Prior art: asyncio.Queue has no remove, and its `join()` hangs when one `task_done()` is missed,
 * which cancellation makes easy. Here `take()` gives a ticket that is
 * finished by `using`, however the block ends.
 *
 * Known limits: waiting putters are let in by order of arrival, whatever the priority of their item;
 * a ticket that is dropped without `using` or `done()` keeps `waitIdle()` waiting up to its deadline.
 */
import { HeddleError, cancelled, isError } from '../errors.ts'
import { checkCount, type OptionNames } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { LinkedList, type ListItem } from '../kernel/linked-list.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { basics, syncOptionNames, type SyncOptions } from './sync-options.ts'
import {
  before,
  checkAging,
  checkPriority,
  firstOf,
  priorityCount,
  rankOf,
  type AgingOptions,
  type PriorityOptions,
  type Ranked,
} from '../kernel/rank.ts'

export interface QueueOptions extends SyncOptions, AgingOptions {
  /** How many items may be queued. */
  readonly capacity: number
}

export interface PutOptions extends WaitOptions, PriorityOptions {}

export interface QueueStats {
  readonly capacity: number
  readonly size: number
  /** How many items stand in the line of each priority: index 0 is first. */
  readonly sizeByPriority: readonly number[]
  /** Items taken and not finished. */
  readonly taken: number
  readonly waitingPutters: number
  readonly waitingGetters: number
  readonly closed: boolean
}

/** What a waiting putter wants to put. */
interface Offer<T> {
  readonly item: T
  readonly priority: number
  readonly since: number
}

class Entry<T> implements ListItem<Entry<T>>, Ranked, Offer<T> {
  list: object | undefined
  previous: Entry<T> | undefined
  next: Entry<T> | undefined
  /** Equal items, the last one put first: how one of several is found in O(1). */
  older: Entry<T> | undefined
  newer: Entry<T> | undefined
  line: number
  rank: number
  order: number
  priority: number
  readonly item: T
  readonly since: number

  constructor(offer: Offer<T>, place: Ranked) {
    this.item = offer.item
    this.since = offer.since
    this.priority = offer.priority
    this.line = offer.priority
    this.rank = place.rank
    this.order = place.order
  }
}

const self = <T>(entry: Entry<T>): Ranked => entry

/**
 * An item that was taken, until it is finished: with `using`, or with `done()`. Twice is harmless.
 */
export class Ticket<T> implements Disposable {
  readonly item: T
  readonly priority: number
  /** Milliseconds from `put()` to `take()`. */
  readonly waited: number
  #finish: (() => void) | undefined

  /** @internal Made by the queue. */
  constructor(offer: Offer<T>, now: number, finish: () => void) {
    this.item = offer.item
    this.priority = offer.priority
    this.waited = now - offer.since
    this.#finish = finish
  }

  /** The item is dealt with, well or badly. */
  done(): void {
    const finish = this.#finish
    this.#finish = undefined
    finish?.()
  }

  [Symbol.dispose](): void {
    this.done()
  }
}

const optionNames = {
  ...syncOptionNames,
  aging: 1,
  capacity: 1,
} satisfies OptionNames<QueueOptions>

/**
 * A bounded queue, first in first out, or by priority when items are put with one.
 *
 * @example
 * const queue = new Queue<string>({ capacity: 32 })
 * await queue.put('a', { priority: 0, deadline: 1000 })
 * {
 *   using ticket = await queue.take({ signal })
 *   await work(ticket.item)
 * }
 * await queue.waitIdle()
 */
export class Queue<T> {
  readonly #what: string
  readonly #clock: Clock
  readonly #capacity: number
  readonly #aging: number
  readonly #lines = Array.from({ length: priorityCount }, () => new LinkedList<Entry<T>>())
  /** The one put last, of each item. */
  readonly #newest = new Map<T, Entry<T>>()
  readonly #putters: WaiterList<void>
  readonly #getters: WaiterList<Ticket<T>>
  readonly #idle: WaiterList<void>
  #size = 0
  #taken = 0
  #order = 0
  #closed = false

  constructor(options: QueueOptions) {
    const { what, kernel, maxWaiters } = basics('Queue', options, optionNames)
    this.#what = what
    this.#clock = kernel.clock
    this.#capacity = checkCount('capacity', options.capacity)
    this.#aging = checkAging(options.aging)
    this.#putters = new WaiterList(kernel.clock, maxWaiters)
    this.#getters = new WaiterList(kernel.clock, maxWaiters)
    this.#idle = new WaiterList(kernel.clock, maxWaiters)
  }

  get size(): number {
    return this.#size
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /**
   * Puts an item, waiting while the queue is full.
   *
   * *Cancellation*: an aborted or late caller has put nothing.
   * *Fairness*: waiting putters are let in by order of arrival.
   *
   * @throws `HDL_CLOSED` when the queue is closed, also while waiting.
   */
  async put(item: T, options: PutOptions = {}): Promise<void> {
    const { signal } = options
    const offer = this.#offer(item, options)
    if (signal?.aborted) throw cancelled(this.#what, signal.reason)
    if (this.#size < this.#capacity) this.#accept(offer)
    else await this.#putters.wait(`${this.#what} (put)`, options, 1, offer)
  }

  /**
   * Puts an item when there is room. False when the queue is full.
   *
   * @throws `HDL_CLOSED` when the queue is closed.
   */
  tryPut(item: T, options: PriorityOptions = {}): boolean {
    const offer = this.#offer(item, options)
    if (this.#size >= this.#capacity) return false
    this.#accept(offer)
    return true
  }

  /**
   * Takes the next item, waiting while the queue is empty. It counts as taken until its ticket is
   * finished.
   *
   * *Cancellation*: an aborted or late caller has taken nothing. Give the signal and the deadline
   * here; a `Promise.race` around it would lose a ticket that arrives late.
   * *Fairness*: waiting getters are served by order of arrival.
   *
   * @throws `HDL_CLOSED` when the queue is closed and empty, also while waiting.
   */
  take(options: WaitOptions = {}): Promise<Ticket<T>> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(cancelled(this.#what, signal.reason))
    const ticket = this.tryTake()
    if (ticket !== undefined) return Promise.resolve(ticket)
    if (this.#closed) return Promise.reject(this.#closedError())
    return this.#getters.wait(`${this.#what} (take)`, options)
  }

  /** Takes the next item; undefined when the queue is empty. */
  tryTake(): Ticket<T> | undefined {
    const entry = firstOf(this.#lines, self)
    if (entry === undefined) return undefined
    this.#unlink(entry)
    this.#taken++
    this.#refill()
    return new Ticket(entry, this.#clock.now(), this.#finish)
  }

  /**
   * The items one after the other, until the queue is closed and empty. An item counts as finished
   * when the loop asks for the next one or is left, however it is left.
   *
   * *Cancellation*: the signal ends the loop with `HDL_CANCELLED`; the deadline is for each item.
   * *Fairness*: as `take()`.
   *
   * @example
   * for await (const item of queue.items({ signal })) await work(item)
   */
  async *items(options: WaitOptions = {}): AsyncGenerator<T, void, undefined> {
    for (;;) {
      let ticket: Ticket<T>
      try {
        ticket = await this.take(options)
      } catch (error) {
        if (isError(error, 'HDL_CLOSED')) return
        throw error
      }
      try {
        yield ticket.item
      } finally {
        ticket.done()
      }
    }
  }

  has(item: T): boolean {
    return this.#newest.has(item)
  }

  /**
   * Removes an item from the queue: it will never be taken. If several are equal, removes the one
   * put last, so that the others keep their turn. False when it is not queued.
   */
  remove(item: T): boolean {
    const entry = this.#newest.get(item)
    if (entry === undefined) return false
    this.#unlink(entry)
    this.#refill()
    this.#checkIdle()
    return true
  }

  /**
   * Gives a queued item another priority: it goes to the end of that line and keeps the time it has
   * waited. An item that is raised is never served later than it would have been. False when it is
   * not queued.
   */
  move(item: T, priority: number): boolean {
    checkPriority(priority)
    const entry = this.#newest.get(item)
    if (entry === undefined) return false
    const raised = priority < entry.line
    entry.priority = priority
    if (priority === entry.line) return true
    const place = this.#lastPlace(priority, entry.since)
    if (raised && before(entry, place)) return true
    this.#lines[entry.line]!.remove(entry)
    entry.line = priority
    entry.rank = place.rank
    entry.order = place.order
    this.#lines[priority]!.push(entry)
    return true
  }

  /** Takes everything out that is queued, and returns it in the order it would have been taken. */
  clear(): T[] {
    const items: T[] = []
    for (let entry = firstOf(this.#lines, self); entry; entry = firstOf(this.#lines, self)) {
      this.#unlink(entry)
      items.push(entry.item)
    }
    this.#refill()
    this.#checkIdle()
    return items
  }

  /**
   * No more puts. Waiting putters get `HDL_CLOSED` and have put nothing; waiting getters get it too.
   * Queued items can still be taken, or cleared.
   */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#putters.failAll(this.#closedError())
    this.#getters.failAll(this.#closedError())
  }

  /**
   * Waits until nothing is queued and everything that was taken is finished: asyncio's `join()`.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: every caller is woken at the first idle moment, in order of arrival.
   */
  waitIdle(options: WaitOptions = {}): Promise<void> {
    return this.#idle.waitUnless(this.#isIdle, undefined, `${this.#what} (idle)`, options)
  }

  stats(): QueueStats {
    const sizeByPriority = Array.from(
      { length: priorityCount },
      (_, line) => this.#lines[line]!.size,
    )
    return {
      capacity: this.#capacity,
      size: this.#size,
      sizeByPriority,
      taken: this.#taken,
      waitingPutters: this.#putters.size,
      waitingGetters: this.#getters.size,
      closed: this.#closed,
    }
  }

  get #isIdle(): boolean {
    return this.#size === 0 && this.#taken === 0
  }

  #closedError(): HeddleError<'HDL_CLOSED'> {
    return new HeddleError('HDL_CLOSED', { what: this.#what })
  }

  #offer(item: T, options: PriorityOptions): Offer<T> {
    const priority = checkPriority(options.priority)
    if (this.#closed) throw this.#closedError()
    return { item, priority, since: this.#clock.now() }
  }

  /** There is room. A getter that waits finds the queue empty (Q2), so the item is the next one. */
  #accept(offer: Offer<T>): void {
    if (this.#getters.size > 0) {
      const ticket = new Ticket(offer, this.#clock.now(), this.#finish)
      if (this.#getters.wakeFirst(ticket)) {
        this.#taken++
        return
      }
    }
    this.#link(offer)
  }

  /** At the end of a line. A line is sorted, so that looking at its head is enough. */
  #lastPlace(line: number, since: number): Ranked {
    const rank = rankOf(line, since, this.#aging)
    const order = this.#order++
    return { rank: Math.max(rank, this.#lines[line]!.last?.rank ?? -Infinity), order }
  }

  #link(offer: Offer<T>): void {
    const entry = new Entry(offer, this.#lastPlace(offer.priority, offer.since))
    this.#lines[offer.priority]!.push(entry)
    const older = this.#newest.get(offer.item)
    if (older !== undefined) {
      entry.older = older
      older.newer = entry
    }
    this.#newest.set(offer.item, entry)
    this.#size++
  }

  #unlink(entry: Entry<T>): void {
    this.#lines[entry.line]!.remove(entry)
    const { older, newer } = entry
    if (older !== undefined) older.newer = newer
    if (newer !== undefined) newer.older = older
    else if (older !== undefined) this.#newest.set(entry.item, older)
    else this.#newest.delete(entry.item)
    this.#size--
  }

  /** Lets waiting putters into slots that became free. */
  #refill(): void {
    while (this.#size < this.#capacity) {
      const putter = this.#putters.first
      if (putter === undefined) return
      if (putter.wake()) this.#link(putter.tag as Offer<T>)
    }
  }

  readonly #finish = (): void => {
    this.#taken--
    this.#checkIdle()
  }

  #checkIdle(): void {
    if (this.#isIdle) this.#idle.wakeAll()
  }
}
