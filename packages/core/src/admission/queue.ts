/**
 * The door: work that will run later is admitted here, or refused at once.
 *
 *   reserve() ─▶ reserved ── fill(item) ─▶ queued ── take() ─▶ running ── finish() ─▶ finished
 *      │            │ release()              │ remove()
 *      ▼            ▼                        ▼
 *   refused      released                 removed          running ── park() ─▶ parked ── requeue() ─▶ queued
 *
 * A seat is reserved before the input is even read, so that a hundred requests that parse at the
 * same time cannot all find the same free seat. Everything that holds a seat counts: parsing,
 * queued, running and parked, which is work that waits for its next attempt.
 *
 * Invariants, quoted by the tests:
 *  I1  reserved + queued + running + parked never exceeds the capacity.
 *  I2  A seat is given back exactly once, whichever way its holder ends.
 *  I3  A refused caller gets an error with a time, and is counted; nothing that was admitted is dropped.
 *  I4  admitted = reserved + queued + running + parked + released + removed + finished.
 *  I5  The order is that of `tenant-line.ts`: FIFO inside a priority, aging, fair between tenants.
 *  I6  Refusing is O(1) and takes nothing.
 *  I7  Memory is one object per seat in use and per tenant that has one.
 *
 * Why capacity counts running work: otherwise a computation that skips the queue is invisible, and
 * the load reads "idle" while every core is busy.
 *
 * Known limit: a reservation has no deadline of its own. The handler that holds it has one, and
 * `using` gives it back.
 */

import { processCapacity, type Capacity } from '../capacity/capacity.ts'
import type { Lane } from '../capacity/lane.ts'
import type { PlacePermits } from '../capacity/lane-table.ts'
import { Lanes } from '../capacity/lanes.ts'
import type { Concurrency, Resources } from '../capacity/resources.ts'
import { describeShortage } from '../capacity/shortage.ts'
import { HeddleError, withoutStack } from '../errors.ts'
import type { Needs } from '../graph/job.ts'
import {
  checkCount,
  checkName,
  checkOptions,
  checkWord,
  type OptionNames,
} from '../kernel/check.ts'
import { Histogram, type HistogramSnapshot } from '../kernel/histogram.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import {
  checkAging,
  checkPriority,
  priorityCount,
  type AgingOptions,
  type PriorityOptions,
} from '../kernel/rank.ts'
import { DrainRate, RetryAfter, type RetryAfterOptions } from './drain-rate.ts'
import { Tenant, TenantLine, weigh, type TenantEntry } from './tenant-line.ts'
import { sixLevels, threeLevels, type Load, type LoadLevels } from './load-levels.ts'

/** Limits between the tenants of a queue. */
export interface TenantOptions {
  /** Seats one tenant may hold: reserved, queued and running. The whole capacity when absent. */
  readonly capacity?: number | undefined
  /** Entries of one tenant that may run at a time. No limit when absent. */
  readonly running?: number | undefined
  /** A tenant with weight 2 gets twice the share of one with weight 1. 1 for every tenant when absent. */
  readonly weight?: ((tenant: string) => number) | undefined
}

export interface AdmissionOptions extends AgingOptions {
  /** Named in errors. `Queue` when absent. */
  readonly name?: string | undefined
  readonly kernel?: Kernel | undefined
  /** Seats for reserved, queued and running work together. 32 when absent. */
  readonly capacity?: number | undefined
  /** Where the door closes. {@link threeLevels} when absent: above 75 %. */
  readonly levels?: LoadLevels | undefined
  /**
   * What closes the door for priority 0: `full` only when every seat is taken, so that other work, which is refused at
   * the level, never refuses interactive work; `level` as for all other work. `level` when absent.
   */
  readonly interactive?: 'full' | 'level' | undefined
  readonly tenants?: TenantOptions | undefined
  /** The permits of the process that its work takes. Those of this process when absent. */
  readonly permits?: Capacity | undefined
  /** How much of its work may run at a time, besides. No limit when absent. */
  readonly concurrency?: Concurrency | undefined
  /** Named resources of its work, in addition to those of the process. */
  readonly resources?: Resources | undefined
  /** Called when work that waited may be taken now: take() should be called soon. */
  readonly onRoom?: (() => void) | undefined
  readonly retryAfter?: RetryAfterOptions | undefined
}

export interface ReserveOptions extends PriorityOptions {
  /** Whose work it is. All without a tenant share one. */
  readonly tenant?: string | undefined
}

export interface FillOptions {
  /** Its permits while it runs, in addition to one permit of its place. */
  readonly needs?: Needs | undefined
  /** Which permits of the process it takes. One of the loop when absent. */
  readonly place?: PlacePermits | undefined
}

export interface AdmissionStats {
  readonly capacity: number
  readonly reserved: number
  readonly queued: number
  /** Queued entries by priority, 0 to 9. */
  readonly queuedByPriority: readonly number[]
  readonly running: number
  /** Entries between two attempts, or suspended. */
  readonly parked: number
  /** Tenants that hold a seat. */
  readonly tenants: number
  readonly admitted: number
  readonly released: number
  readonly removed: number
  readonly finished: number
  /** The number of all refusals. */
  readonly rejected: number
  readonly rejectedBy: Readonly<Record<Refusal, number>>
  readonly draining: boolean
  readonly load: Load
  /** Milliseconds from one completion to the next; undefined before the first. */
  readonly interval: number | undefined
  /** Milliseconds from fill to take. */
  readonly wait: HistogramSnapshot
  /** Milliseconds from take to finish. */
  readonly run: HistogramSnapshot
}

/** Why a caller was refused: full, over its tenant's limit, draining, or too many wait for room. */
export type Refusal = 'overload' | 'tenant' | 'draining' | 'waiters'

/** A seat that is held while the input is read. Use it with `using`. */
export interface Seat extends Disposable {
  readonly priority: number
  readonly tenant: string
  /** Whether the seat is still to be filled or released. */
  readonly held: boolean
  /** Gives the seat back. Harmless twice, and after it was filled. */
  release(): void
}

/** A seat in an {@link AdmissionQueue}. */
export interface Reservation<T> extends Seat {
  /**
   * Puts work into the seat.
   *
   * @throws `HDL_NOT_HELD` when the seat was filled or released before, `HDL_DRAINING` when the
   * queue was sealed meanwhile.
   */
  fill(item: T, options?: FillOptions): Admitted<T>
}

/** Work that was admitted. */
export interface Admitted<T> extends Disposable {
  readonly item: T
  readonly tenant: string
  readonly priority: number
  readonly state: 'queued' | 'running' | 'parked' | 'finished' | 'removed'
  /** When it was queued, on the clock's monotonic scale. */
  readonly since: number
  /** What it lacks, for people; undefined when it is only its turn, or not queued. */
  readonly waitsFor: string | undefined
  /** Takes it out of the queue. False when it is not queued any more. O(1). */
  remove(): boolean
  /** Gives it another priority, keeping the time it has waited. False when it is not queued any more. */
  move(priority: number): boolean
  /** Keeps the seat of work that was taken and does not run for now. */
  park(): void
  /** Queues parked work again: behind the others, or where it was before. */
  requeue(options?: { readonly keepsPlace?: boolean }): void
  /** Takes queued work out of the queue, which keeps its seat. */
  leaveQueue(): void
  /** Ends it. Only for work that was taken; harmless twice. */
  finish(): void
}

class Entry<T> implements Admitted<T>, TenantEntry<Entry<T>> {
  list: object | undefined
  previous: Entry<T> | undefined
  next: Entry<T> | undefined
  readyOrder = 0
  /** Admitted work is not part of a graph. */
  readonly depth = 0
  startedAt = 0
  state: Admitted<T>['state'] = 'queued'
  readonly item: T
  readonly owner: Tenant<Entry<T>>
  lane: Lane<Entry<T>>
  since: number
  readonly #core: Core<T>

  constructor(
    core: Core<T>,
    item: T,
    owner: Tenant<Entry<T>>,
    lane: Lane<Entry<T>>,
    since: number,
  ) {
    this.#core = core
    this.item = item
    this.owner = owner
    this.lane = lane
    this.since = since
  }

  get priority(): number {
    return this.lane.priority
  }

  get tenant(): string {
    return this.owner.name
  }

  get waitsFor(): string | undefined {
    return this.#core.whyQueued(this)
  }

  remove(): boolean {
    return this.#core.remove(this)
  }

  move(priority: number): boolean {
    return this.#core.move(this, checkPriority(priority))
  }

  park(): void {
    this.#core.park(this)
  }

  requeue({ keepsPlace = false }: { readonly keepsPlace?: boolean } = {}): void {
    this.#core.requeue(this, keepsPlace)
  }

  leaveQueue(): void {
    this.#core.leaveQueue(this)
  }

  finish(): void {
    this.#core.finish(this)
  }

  [Symbol.dispose](): void {
    if (!this.remove()) this.finish()
  }
}

/** The calls that entries and reservations make to their queue. */
interface Core<T> {
  fill(seat: SeatNode<T>, item: T, options: FillOptions): Entry<T>
  release(seat: SeatNode<T>): void
  remove(entry: Entry<T>): boolean
  whyQueued(entry: Entry<T>): string | undefined
  move(entry: Entry<T>, priority: number): boolean
  park(entry: Entry<T>): void
  requeue(entry: Entry<T>, keepsPlace: boolean): void
  leaveQueue(entry: Entry<T>): void
  finish(entry: Entry<T>): void
}

class SeatNode<T> implements Reservation<T> {
  held = true
  readonly priority: number
  readonly owner: Tenant<Entry<T>>
  readonly core: Core<T>

  constructor(core: Core<T>, owner: Tenant<Entry<T>>, priority: number) {
    this.core = core
    this.owner = owner
    this.priority = priority
  }

  get tenant(): string {
    return this.owner.name
  }

  fill(item: T, options: FillOptions = {}): Entry<T> {
    return this.core.fill(this, item, options)
  }

  release(): void {
    if (this.held) this.core.release(this)
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

const optionNames = {
  name: 1,
  kernel: 1,
  capacity: 1,
  levels: 1,
  interactive: 1,
  tenants: 1,
  permits: 1,
  concurrency: 1,
  resources: 1,
  onRoom: 1,
  retryAfter: 1,
  aging: 1,
} satisfies OptionNames<AdmissionOptions>

/**
 * A bounded priority queue with a door.
 *
 * @example
 * const queue = new AdmissionQueue<string>({ name: 'inference', capacity: 32 })
 * {
 *   using seat = queue.reserve({ priority: 0, tenant: 'ada' })   // HDL_OVERLOADED: 503 and Retry-After
 *   const input = await Promise.resolve('parsed')
 *   seat.fill(input)
 * }
 * const next = queue.take()
 * next?.item // => 'parsed'
 * next?.finish()
 * queue.used // => 0
 */
export class AdmissionQueue<T> {
  readonly name: string
  readonly capacity: number
  readonly #kernel: Kernel
  readonly #levels: LoadLevels
  readonly #isInteractiveToFull: boolean
  readonly #tenantCapacity: number
  readonly #weight: (tenant: string) => number
  readonly #tenants = new Map<string, Tenant<Entry<T>>>()
  readonly #lanes: Lanes<Entry<T>>
  readonly #rate: DrainRate
  readonly #retryAfter: RetryAfter
  readonly #room: WaiterList<SeatNode<T>>
  readonly #empty: WaiterList<void>
  readonly #wait = new Histogram()
  readonly #run = new Histogram()
  readonly #queuedByPriority: number[] = Array.from({ length: priorityCount }, () => 0)
  readonly #rejectedBy: Record<Refusal, number> = {
    overload: 0,
    tenant: 0,
    draining: 0,
    waiters: 0,
  }
  readonly #core: Core<T>
  #reserved = 0
  #queued = 0
  #running = 0
  #parked = 0
  #admitted = 0
  #released = 0
  #removed = 0
  #finished = 0
  #draining = false
  #sealed = false
  #drainRetryAfter: number | undefined
  /** While room is offered, released permits are offered by the same loop. */
  #offering = false

  constructor(options: AdmissionOptions = {}) {
    checkOptions(options, optionNames)
    const { tenants = {} } = options
    this.name = checkName('name', options.name ?? 'Queue')
    this.capacity = checkCount('capacity', options.capacity ?? 32)
    this.#kernel = options.kernel ?? systemKernel
    this.#levels = options.levels ?? threeLevels
    checkWord('interactive', options.interactive ?? 'level', ['full', 'level'])
    this.#isInteractiveToFull = options.interactive === 'full'
    this.#tenantCapacity = checkCount('tenants.capacity', tenants.capacity ?? Infinity, 1, true)
    this.#weight = tenants.weight ?? (() => 1)
    const maxRunning = checkCount('tenants.running', tenants.running ?? Infinity, 1, true)
    this.#lanes = new Lanes<Entry<T>>({
      capacity: options.permits ?? processCapacity(),
      clock: this.#kernel.clock,
      concurrency: options.concurrency ?? Infinity,
      resources: options.resources ?? {},
      aging: checkAging(options.aging),
      sinceOf: ({ since }) => since,
      onRoom: () => options.onRoom?.(),
      newLine: () => new TenantLine(maxRunning),
      sweep: true,
    })
    this.#rate = new DrainRate(this.#kernel.clock)
    this.#retryAfter = new RetryAfter(options.retryAfter ?? {}, this.#kernel.random)
    this.#room = new WaiterList(this.#kernel.clock)
    this.#empty = new WaiterList(this.#kernel.clock)
    this.#core = {
      fill: (seat, item, how) => this.#fill(seat, item, how),
      release: (seat) => this.#release(seat),
      remove: (entry) => this.#remove(entry),
      whyQueued: (entry) => this.#whyQueued(entry),
      move: (entry, priority) => this.#move(entry, priority),
      park: (entry) => this.#park(entry),
      requeue: (entry, keepsPlace) => this.#requeue(entry, keepsPlace),
      leaveQueue: (entry) => this.#leaveQueue(entry),
      finish: (entry) => this.#finish(entry),
    }
  }

  /** How many entries are queued. */
  get size(): number {
    return this.#queued
  }

  /** Whether it is worth calling {@link take}: false only when nothing could start. */
  get mayStart(): boolean {
    return this.#lanes.mayStart
  }

  /** Seats in use: reserved, queued, running and parked. */
  get used(): number {
    return this.#reserved + this.#queued + this.#running + this.#parked
  }

  get draining(): boolean {
    return this.#draining
  }

  /**
   * Takes a seat, or refuses at once.
   *
   * @throws `HDL_OVERLOADED` or `HDL_TOO_MANY_REQUESTS` with `retryAfter`, or `HDL_DRAINING`.
   */
  reserve(options: ReserveOptions = {}): Reservation<T> {
    const priority = checkPriority(options.priority)
    const tenant = options.tenant ?? ''
    const refusal = this.#refusal(tenant, priority)
    if (refusal !== undefined) throw this.#refuse(refusal, tenant)
    return this.#grant(tenant, priority)
  }

  /** Like {@link reserve}, with undefined instead of an error. */
  tryReserve(options: ReserveOptions = {}): Reservation<T> | undefined {
    const priority = checkPriority(options.priority)
    const tenant = options.tenant ?? ''
    const refusal = this.#refusal(tenant, priority)
    if (refusal === undefined) return this.#grant(tenant, priority)
    this.#rejectedBy[refusal]++
    return undefined
  }

  /**
   * Waits until there is room, then takes the seat. For work that follows from work that was
   * admitted, which should wait instead of being refused. As many may wait as there are seats.
   *
   * *Cancellation*: leaves no seat taken.
   *
   * *Fairness*: first come, first served, except that a tenant at its limit does not hold up others.
   * Waiting callers come before callers of {@link reserve}.
   *
   * @throws `HDL_DRAINING`, at once or when draining begins; `HDL_TOO_MANY_WAITERS`.
   */
  waitRoom(options: ReserveOptions & WaitOptions = {}): Promise<Reservation<T>> {
    const tenant = options.tenant ?? ''
    let priority: number
    try {
      priority = checkPriority(options.priority)
    } catch (error) {
      return Promise.reject(error)
    }
    const refusal = this.#refusal(tenant, priority)
    if (refusal === undefined && !options.signal?.aborted) {
      return Promise.resolve(this.#grant(tenant, priority))
    }
    if (refusal === 'draining') return Promise.reject(this.#refuse(refusal, tenant))
    const what = `Room in ${this.name}`
    if (this.#room.size >= this.capacity) {
      this.#rejectedBy.waiters++
      return Promise.reject(new HeddleError('HDL_TOO_MANY_WAITERS', { what, limit: this.capacity }))
    }
    return this.#room.wait(what, options, 1, { tenant, priority })
  }

  /**
   * Takes the next entry that lacks nothing, with its permits. The entry then runs until its `finish()`, or
   * until its `park()`.
   */
  take(): Admitted<T> | undefined {
    const entry = this.#lanes.pick()
    if (entry !== undefined) this.#start(entry)
    return entry
  }

  /** Takes this entry, with its permits, if they are free, before others that wait. */
  takeThis(entry: Admitted<T>): boolean {
    if (!(entry instanceof Entry) || !this.#lanes.tryPick(entry as Entry<T>)) return false
    this.#start(entry as Entry<T>)
    return true
  }

  /**
   * Whether work with these needs could ever start.
   * @throws `HDL_BAD_OPTION` for what does not exist, `HDL_WOULD_DEADLOCK` for more than there will ever be.
   */
  check({ needs, place }: FillOptions, priority: number): void {
    this.#lanes.check(needs, priority, place)
  }

  /** How long work waited and ran, for reports by fixed buckets; {@link stats} has their quantiles. */
  get timings(): { readonly wait: Histogram; readonly run: Histogram } {
    return { wait: this.#wait, run: this.#run }
  }

  /** The load by seats in use. */
  load(): Load {
    const utilisation = this.used / this.capacity
    return {
      utilisation,
      level: this.#levels.of(utilisation),
      label: sixLevels.of(utilisation),
      refusing: this.#draining || this.#full(),
    }
  }

  /** Milliseconds after which a caller that is refused now should come back, with jitter. */
  retryAfter(): number {
    // A closed door opens when everything has ended and the process has started again.
    const target = this.#draining ? 0 : Math.floor(this.#levels.resumeAt * this.capacity)
    return this.#retryAfter.after(Math.max(1, this.used - target), this.#rate.interval)
  }

  /**
   * Closes the door: from now on every caller is refused with `HDL_DRAINING`. Admitted work, also
   * reserved work, continues.
   */
  drain(options: { retryAfter?: number | undefined } = {}): void {
    this.#draining = true
    this.#drainRetryAfter = options.retryAfter
    for (let remaining = this.#room.size; remaining > 0; remaining--) {
      this.#room.first?.fail(this.#refuse('draining', ''))
    }
  }

  /** After {@link drain}: reserved work is refused as well, when it comes to be filled. */
  seal(): void {
    this.#sealed = true
  }

  /** Opens the door again. */
  resume(): void {
    this.#draining = false
    this.#sealed = false
  }

  /** Whether this seat is one of this queue. */
  owns(seat: Seat): seat is Reservation<T> {
    return seat instanceof SeatNode && seat.core === this.#core
  }

  /**
   * Waits until no seat is in use.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: all waiting callers are notified at once.
   */
  waitEmpty(options: WaitOptions = {}): Promise<void> {
    return this.#empty.waitUnless(this.used === 0, undefined, `${this.name} empty`, options)
  }

  stats(): AdmissionStats {
    const { overload, tenant, draining, waiters } = this.#rejectedBy
    return {
      capacity: this.capacity,
      reserved: this.#reserved,
      queued: this.#queued,
      queuedByPriority: [...this.#queuedByPriority],
      running: this.#running,
      parked: this.#parked,
      tenants: this.#tenants.size,
      admitted: this.#admitted,
      released: this.#released,
      removed: this.#removed,
      finished: this.#finished,
      rejected: overload + tenant + draining + waiters,
      rejectedBy: { ...this.#rejectedBy },
      draining: this.#draining,
      load: this.load(),
      interval: this.#rate.interval,
      wait: this.#wait.snapshot(),
      run: this.#run.snapshot(),
    }
  }

  #full(): boolean {
    return this.used >= this.capacity || this.#levels.refuses(this.used / this.capacity)
  }

  #refusal(tenant: string, priority: number): Refusal | undefined {
    if (this.#draining) return 'draining'
    const isFull =
      priority === 0 && this.#isInteractiveToFull ? this.used >= this.capacity : this.#full()
    if (isFull) return 'overload'
    const admitted = this.#tenants.get(tenant)?.admitted ?? 0
    return admitted >= this.#tenantCapacity ? 'tenant' : undefined
  }

  /** I6: a stack would be most of a refusal's cost, and adds nothing to the name. */
  #refuse(refusal: Refusal, tenant: string): HeddleError {
    this.#rejectedBy[refusal]++
    return withoutStack(() => this.#refusalError(refusal, tenant))
  }

  #refusalError(refusal: Refusal, tenant: string): HeddleError {
    const what = this.name
    if (refusal === 'draining') {
      const retryAfter = this.#drainRetryAfter ?? this.retryAfter()
      return new HeddleError('HDL_DRAINING', { what, retryAfter })
    }
    if (refusal === 'overload') {
      return new HeddleError('HDL_OVERLOADED', { what, retryAfter: this.retryAfter() })
    }
    // On average, one of this many completions is its own.
    const completions = this.used / this.#tenants.get(tenant)!.admitted
    return new HeddleError('HDL_TOO_MANY_REQUESTS', {
      what: `Tenant "${tenant}" in ${what}`,
      retryAfter: this.#retryAfter.after(completions, this.#rate.interval),
    })
  }

  #grant(name: string, priority: number): SeatNode<T> {
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = new Tenant(name, this.#checkWeight(name))
      this.#tenants.set(name, tenant)
    }
    tenant.admitted++
    this.#reserved++
    this.#admitted++
    return new SeatNode(this.#core, tenant, priority)
  }

  #checkWeight(tenant: string): number {
    const weight = this.#weight(tenant)
    if (weight > 0 && weight < Infinity) return weight
    throw new HeddleError('HDL_BAD_OPTION', {
      option: `tenants.weight(${JSON.stringify(tenant)})`,
      value: weight,
      expected: 'a number greater than 0',
    })
  }

  #fill(seat: SeatNode<T>, item: T, { needs, place }: FillOptions): Entry<T> {
    if (!seat.held) throw new HeddleError('HDL_NOT_HELD', { what: `The seat in ${this.name}` })
    if (this.#sealed) throw this.#refuse('draining', seat.tenant)
    const { owner, priority } = seat
    const lane = this.#lanes.laneFor(needs, priority, place)
    seat.held = false
    const entry = new Entry(this.#core, item, owner, lane, this.#kernel.clock.now())
    this.#reserved--
    this.#queued++
    this.#queuedByPriority[priority]!++
    this.#lanes.enqueue(entry)
    return entry
  }

  #release(seat: SeatNode<T>): void {
    seat.held = false
    this.#reserved--
    this.#released++
    this.#vacate(seat.owner)
  }

  #remove(entry: Entry<T>): boolean {
    if (entry.state !== 'queued') return false
    entry.state = 'removed'
    this.#lanes.remove(entry)
    this.#queued--
    this.#queuedByPriority[entry.priority]!--
    this.#removed++
    this.#vacate(entry.owner)
    return true
  }

  #whyQueued(entry: Entry<T>): string | undefined {
    const shortage = entry.state === 'queued' ? this.#lanes.shortageOf(entry) : undefined
    return shortage && describeShortage(shortage)
  }

  #move(entry: Entry<T>, priority: number): boolean {
    if (entry.state !== 'queued') return false
    if (entry.priority === priority) return true
    const { needs, at } = entry.lane
    const lane = this.#lanes.laneFor(needs, priority, at)
    this.#queuedByPriority[entry.priority]!--
    this.#queuedByPriority[priority]!++
    this.#lanes.remove(entry)
    entry.lane = lane
    // Sorted in by its arrival: it keeps the time it has waited.
    this.#lanes.enqueueFirst(entry)
    return true
  }

  #start(entry: Entry<T>): void {
    entry.state = 'running'
    this.#queued--
    this.#queuedByPriority[entry.priority]!--
    this.#running++
    entry.owner.running++
    const { line } = entry.lane
    if (line instanceof TenantLine) line.serve(entry.owner)
    weigh(entry.owner, this.#lanes)
    entry.startedAt = this.#kernel.clock.now()
    this.#wait.record(entry.startedAt - entry.since)
    this.#rate.started()
  }

  #park(entry: Entry<T>): void {
    if (entry.state !== 'running') return
    this.#lanes.giveBack(entry)
    this.#stopRunning(entry)
    this.#parked++
    entry.state = 'parked'
  }

  #stopRunning({ owner, startedAt }: Entry<T>): void {
    this.#running--
    owner.running--
    weigh(owner, this.#lanes)
    this.#run.record(this.#kernel.clock.now() - startedAt)
    this.#rate.stopped()
  }

  #requeue(entry: Entry<T>, keepsPlace: boolean): void {
    if (entry.state !== 'parked') return
    entry.state = 'queued'
    this.#parked--
    this.#queued++
    this.#queuedByPriority[entry.priority]!++
    if (!keepsPlace) entry.since = this.#kernel.clock.now()
    if (keepsPlace) this.#lanes.enqueueFirst(entry)
    else this.#lanes.enqueue(entry)
  }

  #leaveQueue(entry: Entry<T>): void {
    if (entry.state !== 'queued') return
    entry.state = 'parked'
    this.#lanes.remove(entry)
    this.#queued--
    this.#queuedByPriority[entry.priority]!--
    this.#parked++
  }

  #finish(entry: Entry<T>): void {
    if (entry.state === 'running') this.#park(entry)
    if (entry.state !== 'parked') return
    entry.state = 'finished'
    this.#parked--
    this.#finished++
    this.#rate.completed()
    this.#vacate(entry.owner)
  }

  /** I2: the only way a seat becomes free. */
  #vacate(tenant: Tenant<Entry<T>>): void {
    if (--tenant.admitted === 0) this.#tenants.delete(tenant.name)
    if (this.#room.size > 0 && !this.#offering) this.#offerRoom()
    if (this.used === 0) this.#empty.wakeAll()
  }

  #offerRoom(): void {
    this.#offering = true
    for (const waiter of this.#room) {
      if (this.used >= this.capacity) break
      const { tenant, priority } = waiter.tag as { tenant: string; priority: number }
      if (this.#refusal(tenant, priority) !== undefined) continue
      const seat = this.#grant(tenant, priority)
      // It may have aborted in this very step: then the seat is for the next.
      if (!waiter.wake(seat)) seat.release()
    }
    this.#offering = false
  }
}
