/**
 * Takes work from the door and starts it when its permits are free.
 *
 *   submit ─▶ queued ── permits free ─▶ running ── settles ─▶ ended (success, error)
 *               │                          │
 *               │ cancel, abort,           │ cancel, abort, runTimeout, deadline
 *               │ queueTimeout, deadline   ▼
 *               │                      stopping: the caller has been told, the signal has aborted, the
 *               ▼                          │     permits are still held
 *             ended                        ├─ settles ─▶ ended, value dropped
 *                                          └─ grace over ─▶ abandoned: permits given back
 *
 * Invariants, quoted by the tests:
 *  I1  Work waits in the queue, never in a slot: what holds permits is running or stopping.
 *  I2  A task has exactly one outcome, told once; a refusal is one too. submitted = tasks without an
 *      outcome + success + error + timeout + disconnected + superseded + cancelled + rejected.
 *  I3  Permits and seat come back exactly once, when the work has settled or its grace is over.
 *  I4  Every timeout names its stage: `queue`, or the stage of this dispatcher.
 *  I5  Nothing that can start waits: after every change the queue is looked at again.
 *  I6  A result that comes after the outcome is dropped.
 *  I7  Starting one thing after the other yields to I/O after `sliceBudget` milliseconds, so a queue
 *      of tiny work cannot hold up timers and sockets.
 *
 * Which clock counts what: `queueTimeout` runs from submit to start, `runTimeout` from start to the
 * end, `deadline` from submit to the end. All are on one timer.
 *
 * Why permits outlive the caller: work that ignores its signal still uses the machine. Giving its
 * slot away at once would run more than was configured; never giving it back would wedge the
 * service. The grace is the compromise, and `unresponsive` counts how often it was needed.
 */

import { HeddleError, reasonError } from '../errors.ts'
import type { Needs } from '../graph/job.ts'
import { followAbort, unfollowAbort, type AbortFollower } from '../kernel/abort.ts'
import { callAsync } from '../kernel/call.ts'
import { checkDuration, checkName, checkOptions, type OptionNames } from '../kernel/check.ts'
import { Deadlines, type Due } from '../kernel/deadlines.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { sliceBudget } from '../kernel/slices.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { checkPriority } from '../kernel/rank.ts'
import { noOutcomes, outcomeOf, type Outcome, type OutcomeCounts } from '../registry/outcomes.ts'
import { Pools, type Holding, type PoolOptions, type PoolStats } from './pools.ts'
import {
  AdmissionQueue,
  type AdmissionOptions,
  type AdmissionStats,
  type Admitted,
  type Seat,
  type Reservation,
  type ReserveOptions,
} from './queue.ts'

export interface DispatcherOptions extends AdmissionOptions {
  /** How much may run at a time, and how much of that is kept for priority 0. */
  readonly slots: number | PoolOptions
  /** Other permits that work may need, by name: scarce ones first. */
  readonly resources?: Readonly<Record<string, number | PoolOptions>> | undefined
  /** Names the running stage in timeouts. `run` when absent. */
  readonly stage?: string | undefined
  /** Milliseconds from submit to start. No limit when absent. */
  readonly queueTimeout?: number | undefined
  /** Milliseconds from start to the end. No limit when absent. */
  readonly runTimeout?: number | undefined
  /** Milliseconds that work may take to stop after its signal aborted. 5,000 when absent. */
  readonly grace?: number | undefined
}

export interface SubmitOptions extends ReserveOptions, WaitOptions {
  /** Named in errors. The dispatcher's name when absent. */
  readonly name?: string | undefined
  /** A seat taken earlier with {@link Dispatcher.reserve}: its priority and tenant count. */
  readonly reservation?: Seat | undefined
  /** Permits it takes while it runs. One `slot` when absent. */
  readonly needs?: Needs | undefined
  /** Instead of the dispatcher's. */
  readonly queueTimeout?: number | undefined
  /** Instead of the dispatcher's. */
  readonly runTimeout?: number | undefined
}

/** What running work is given. */
export interface WorkContext {
  readonly priority: number
  readonly tenant: string
  /** Aborts with the reason when the caller was told that it is over. Made on first use. */
  readonly signal: AbortSignal
  /** The same for code that never awaits. Check it before writing anything. */
  readonly cancelled: boolean
}

export type Work<R> = (context: WorkContext) => R | PromiseLike<R>

/** Work that was admitted. */
export interface AdmittedTask<R> {
  readonly name: string
  readonly tenant: string
  readonly priority: number
  readonly state: 'queued' | 'running' | 'stopping' | 'ended'
  /** Undefined until the caller was told. */
  readonly outcome: Outcome | undefined
  /** The result. Its rejection needs no handler: `outcome` keeps it, so other awaits may come first. */
  readonly done: Promise<R>
  /** Ends it with `HDL_CANCELLED`, or with the given Heddle error. False when it had an outcome already. */
  cancel(reason?: unknown): boolean
  /** Gives queued work another priority, keeping the time it has waited. False when it is not queued any more. */
  move(priority: number): boolean
}

export interface DispatcherStats {
  readonly queue: AdmissionStats
  /** Permits by kind. */
  readonly pools: Readonly<Record<string, PoolStats>>
  /** Work whose caller was told, but which has not settled. */
  readonly stopping: number
  readonly submitted: number
  readonly outcomes: OutcomeCounts
  /** Work that did not settle within its grace. */
  readonly unresponsive: number
}

/** How a drain ended. */
export interface DrainResult {
  /** Whether everything that was admitted could end by itself. */
  readonly clean: boolean
  /** Tasks that were cancelled at the deadline. */
  readonly cancelled: number
}

const ignore = (): void => undefined

/** What a task may ask of its dispatcher. */
interface Core {
  stop(task: TaskNode, error: HeddleError): boolean
  move(task: TaskNode, priority: number): boolean
}

class TaskNode implements AdmittedTask<unknown>, WorkContext, Due, AbortFollower {
  heapIndex = -1
  dueAt = 0
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly name: string
  readonly work: Work<unknown>
  readonly submittedAt: number
  /** Durations, not times. */
  readonly queueTimeout: number
  readonly runTimeout: number
  readonly deadline: number
  readonly followed: AbortSignal | undefined
  readonly done: Promise<unknown>
  state: AdmittedTask<unknown>['state'] = 'queued'
  outcome: Outcome | undefined
  /** Set before anybody sees the task. */
  entry!: Admitted<TaskNode>
  holding: Holding | undefined
  /** What its next timeout will say. */
  limit = Infinity
  resolve!: (value: unknown) => void
  reject!: (error: unknown) => void
  readonly #core: Core
  #controller: AbortController | undefined
  #error: unknown

  constructor(core: Core, name: string, work: Work<unknown>, submittedAt: number, limits: Limits) {
    this.#core = core
    this.name = name
    this.work = work
    this.submittedAt = submittedAt
    this.queueTimeout = limits.queueTimeout
    this.runTimeout = limits.runTimeout
    this.deadline = limits.deadline
    this.followed = limits.signal
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  get priority(): number {
    return this.entry.priority
  }

  get tenant(): string {
    return this.entry.tenant
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.cancelled) this.#controller.abort(this.#error)
    }
    return this.#controller.signal
  }

  get cancelled(): boolean {
    return this.#error !== undefined
  }

  /** Tells the work that it is over. Listeners run now. */
  abort(error: HeddleError): void {
    this.#error = error
    this.#controller?.abort(error)
  }

  onAbort(reason: unknown): void {
    this.#core.stop(this, reasonError(this.name, reason))
  }

  cancel(reason?: unknown): boolean {
    return this.#core.stop(this, reasonError(this.name, reason ?? 'the task was cancelled'))
  }

  move(priority: number): boolean {
    return this.#core.move(this, priority)
  }
}

interface Limits {
  readonly queueTimeout: number
  readonly runTimeout: number
  readonly deadline: number
  readonly signal: AbortSignal | undefined
}

const optionNames = {
  name: 1,
  kernel: 1,
  capacity: 1,
  levels: 1,
  tenants: 1,
  retryAfter: 1,
  aging: 1,
  slots: 1,
  resources: 1,
  stage: 1,
  queueTimeout: 1,
  runTimeout: 1,
  grace: 1,
} satisfies OptionNames<DispatcherOptions>

/**
 * Runs admitted work within slots and resources.
 *
 * @example
 * const inference = new Dispatcher({ name: 'inference', slots: { permits: 2, reserved: 1 }, runTimeout: 60_000 })
 * using reservation = inference.reserve({ priority: 0, tenant: 'ada' })   // before the body is read
 * const input = await Promise.resolve([3, 4])
 * const sum = await inference.run(() => input[0] + input[1], { reservation, signal })
 * sum // => 7
 */
export class Dispatcher {
  readonly name: string
  /** Milliseconds from submit to start, of work that brings no limit of its own. */
  readonly queueTimeout: number
  readonly #kernel: Kernel
  readonly #queue: AdmissionQueue<TaskNode>
  readonly #pools: Pools
  readonly #stage: string
  readonly #runTimeout: number
  readonly #grace: number
  readonly #deadlines: Deadlines<TaskNode>
  readonly #settled: WaiterList<void>
  /** Everything that holds a seat: queued, running or stopping. */
  readonly #tasks = new Set<TaskNode>()
  readonly #counts = noOutcomes()
  readonly #core: Core
  #submitted = 0
  #stopping = 0
  #unresponsive = 0
  #looking = false
  /** I7: when this turn of the loop began to start work, and whether it has used up its time. */
  #turnOpen = false
  #turnStarted = 0
  #yielding = false

  constructor(options: DispatcherOptions) {
    checkOptions(options, optionNames)
    this.name = checkName('name', options.name ?? 'Dispatcher')
    this.#kernel = options.kernel ?? systemKernel
    // The rest is for the queue.
    const { slots, resources = {}, stage, queueTimeout, runTimeout, grace, ...admission } = options
    this.#queue = new AdmissionQueue({ ...admission, name: this.name })
    this.#pools = new Pools(slots, resources)
    this.#stage = checkName('stage', stage ?? 'run')
    this.queueTimeout = checkDuration('queueTimeout', queueTimeout ?? Infinity)
    this.#runTimeout = checkDuration('runTimeout', runTimeout ?? Infinity)
    this.#grace = checkDuration('grace', grace ?? 5_000)
    this.#deadlines = new Deadlines(this.#kernel.clock, (task) => this.#onDue(task))
    this.#settled = new WaiterList(this.#kernel.clock)
    this.#core = {
      stop: (task, error) => this.#stop(task, error),
      move: (task, priority) => {
        this.#pools.check(task.name, task.entry.needs, checkPriority(priority))
        const moved = task.entry.move(priority)
        // The new priority may have a reserved permit.
        if (moved) this.#look()
        return moved
      },
    }
  }

  /** How many tasks wait. */
  get size(): number {
    return this.#queue.size
  }

  /**
   * Takes a seat before the input is known. Hand it to {@link submit}, or give it back; `using`
   * does that on every path.
   *
   * @throws `HDL_OVERLOADED` with `retryAfter`, or `HDL_DRAINING`.
   */
  reserve(options: ReserveOptions = {}): Seat {
    return this.#counted(() => this.#queue.reserve(options))
  }

  /**
   * As {@link reserve}, but waits for room: for work that follows from work that was admitted.
   *
   * *Cancellation*: leaves no seat taken.
   * *Fairness*: first come, first served, except that a tenant at its limit does not hold up others.
   */
  waitRoom(options: ReserveOptions & WaitOptions = {}): Promise<Seat> {
    return this.#queue.waitRoom(options)
  }

  /**
   * Runs work when its turn comes, and waits for its result.
   *
   * *Cancellation*: while queued it is removed and never starts; while running its signal aborts and
   * the caller is told at once, the permits come back when the work has settled.
   *
   * *Fairness*: priority 0 first, with aging; fair between tenants; inside both first come, first
   * served. Work whose permits are busy does not hold up work that needs others.
   *
   * @throws `HDL_OVERLOADED`, `HDL_DRAINING`, `HDL_TIMEOUT` with `stage`, `HDL_CANCELLED`,
   * `HDL_WOULD_DEADLOCK`, what the work threw.
   */
  async run<R>(work: Work<R>, options: SubmitOptions = {}): Promise<R> {
    return (await this.#submit(work, options).done) as R
  }

  /**
   * {@link run} for who needs to move or cancel the task, or has something else to await first.
   *
   * @throws at once when the work is refused or could never start.
   */
  submit<R>(work: Work<R>, options: SubmitOptions = {}): AdmittedTask<R> {
    const task = this.#submit(work, options)
    task.done.catch(ignore)
    return task as AdmittedTask<unknown> as AdmittedTask<R>
  }

  /**
   * Ends every task that has no outcome. Returns how many.
   * Work that runs keeps its permits until it has settled.
   */
  cancelAll(reason: unknown = 'all tasks were cancelled'): number {
    // Those of now: a listener may submit more.
    const tasks = [...this.#tasks]
    return tasks.filter((task) => task.cancel(reason)).length
  }

  /**
   * Closes the door, waits until everything admitted has ended, and at `deadline` ends the rest with
   * `HDL_DRAINING`, so that every caller is told. Work that runs has its grace to settle.
   *
   * *Cancellation*: `signal` ends the waiting; the door stays closed until {@link resume}.
   * *Fairness*: does not apply.
   */
  async drain(
    options: WaitOptions & { retryAfter?: number | undefined } = {},
  ): Promise<DrainResult> {
    const { signal, deadline = Infinity, retryAfter } = options
    this.#queue.drain({ retryAfter })
    const clean = await this.#emptyWithin(signal, deadline)
    if (clean) return { clean, cancelled: 0 }
    this.#queue.seal()
    const cancelled = this.cancelAll(
      new HeddleError('HDL_DRAINING', { what: this.name, retryAfter }),
    )
    if (this.#tasks.size > 0) await this.#settled.wait(`${this.name} settled`, { signal })
    return { clean, cancelled }
  }

  /** Opens the door again after a drain. */
  resume(): void {
    this.#queue.resume()
  }

  /** The load by seats in use; see {@link AdmissionQueue.load}. */
  load(): AdmissionStats['load'] {
    return this.#queue.load()
  }

  stats(): DispatcherStats {
    return {
      queue: this.#queue.stats(),
      pools: this.#pools.stats(),
      stopping: this.#stopping,
      submitted: this.#submitted,
      outcomes: { ...this.#counts },
      unresponsive: this.#unresponsive,
    }
  }

  async #emptyWithin(signal: AbortSignal | undefined, deadline: number): Promise<boolean> {
    try {
      await this.#queue.waitEmpty({ signal, deadline })
      return true
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'HDL_TIMEOUT') return false
      throw error
    }
  }

  /** I2: who is refused by the queue has an outcome too. */
  #counted<R>(ask: () => R): R {
    try {
      return ask()
    } catch (error) {
      if (outcomeOf(error) === 'rejected') {
        this.#submitted++
        this.#counts.rejected++
      }
      throw error
    }
  }

  #seatFor(options: SubmitOptions): Reservation<TaskNode> {
    const { reservation } = options
    if (reservation === undefined) return this.#counted(() => this.#queue.reserve(options))
    if (this.#queue.owns(reservation)) return reservation
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'reservation',
      value: 'a seat somewhere else',
      expected: `a seat in ${this.name}`,
    })
  }

  #submit(work: Work<unknown>, options: SubmitOptions): TaskNode {
    const { signal, needs } = options
    const name = options.name ?? this.name
    // What could never start must not take a seat; a seat that was brought is given back by its owner.
    const priority = options.reservation?.priority ?? checkPriority(options.priority)
    if (needs !== undefined) this.#pools.check(name, needs, priority)
    const task = new TaskNode(this.#core, name, work, this.#kernel.clock.now(), {
      queueTimeout: checkDuration('queueTimeout', options.queueTimeout ?? this.queueTimeout),
      runTimeout: checkDuration('runTimeout', options.runTimeout ?? this.#runTimeout),
      deadline: checkDuration('deadline', options.deadline ?? Infinity),
      signal,
    })
    this.#admit(task, this.#seatFor(options), needs)
    if (signal?.aborted) task.onAbort(signal.reason)
    else if (task.deadline === 0) this.#onLate(task, 0)
    else {
      if (signal !== undefined) followAbort(signal, task)
      this.#limit(task, task.queueTimeout, task.deadline)
      this.#look()
    }
    return task
  }

  #admit(task: TaskNode, seat: Reservation<TaskNode>, needs: Needs | undefined): void {
    task.entry = this.#counted(() => seat.fill(task, { needs }))
    this.#submitted++
    this.#tasks.add(task)
  }

  /** I5. Work that starts may submit or end other work: the loop looks again after every start. */
  #look(): void {
    if (this.#looking) return
    this.#looking = true
    while (this.#queue.size > 0 && !this.#sliceIsOver()) {
      this.#pools.beginRound()
      const next = this.#queue.take(({ item, needs, priority }) => {
        item.holding = this.#pools.tryTake(needs, priority)
        return item.holding !== undefined
      })
      if (next === undefined) break
      this.#start(next.item)
    }
    this.#looking = false
  }

  #sliceIsOver(): boolean {
    const now = this.#kernel.clock.now()
    if (!this.#turnOpen) {
      this.#turnOpen = true
      this.#turnStarted = now
      this.#kernel.clock.afterIo(this.#endTurn)
    }
    this.#yielding = now - this.#turnStarted >= sliceBudget
    return this.#yielding
  }

  readonly #endTurn = (): void => {
    this.#turnOpen = false
    if (!this.#yielding) return
    this.#yielding = false
    this.#look()
  }

  #start(task: TaskNode): void {
    task.state = 'running'
    const { followed } = task
    if (followed?.aborted) {
      // Its abort is being told right now, and an earlier listener made room for it.
      this.#conclude(task, reasonError(task.name, followed.reason))
      this.#free(task)
      return
    }
    const elapsed = this.#kernel.clock.now() - task.submittedAt
    this.#limit(task, task.runTimeout, task.deadline - elapsed)
    callAsync(() => task.work(task)).then(
      (value) => this.#onSettled(task, value, undefined),
      (error: unknown) => this.#onSettled(task, undefined, { error }),
    )
  }

  /** Both limits on one timer: the earlier one is remembered for the error. */
  #limit(task: TaskNode, stageLimit: number, untilDeadline: number): void {
    task.limit = untilDeadline <= stageLimit ? task.deadline : stageLimit
    this.#setDue(task, Math.min(stageLimit, untilDeadline))
  }

  #setDue(task: TaskNode, delay: number): void {
    if (delay === Infinity) this.#deadlines.delete(task)
    else this.#deadlines.set(task, this.#kernel.clock.now() + delay)
  }

  #onDue(task: TaskNode): void {
    if (task.state !== 'stopping') {
      this.#onLate(task, task.limit)
      return
    }
    this.#unresponsive++
    this.#free(task)
    this.#look()
  }

  /** I4. */
  #onLate(task: TaskNode, limit: number): void {
    const stage = task.state === 'queued' ? 'queue' : this.#stage
    this.#stop(task, new HeddleError('HDL_TIMEOUT', { what: task.name, limit, stage }))
  }

  /** Ends a task that has no outcome yet. */
  #stop(task: TaskNode, error: HeddleError): boolean {
    if (task.outcome !== undefined) return false
    if (task.state === 'queued') {
      this.#conclude(task, error)
      this.#free(task)
    } else {
      task.state = 'stopping'
      this.#stopping++
      this.#conclude(task, error)
      this.#setDue(task, this.#grace)
      task.abort(error)
    }
    // What it held back, or what its listeners have ended, may leave room.
    this.#look()
    return true
  }

  #conclude(task: TaskNode, error: unknown): void {
    task.outcome = outcomeOf(error)
    this.#counts[task.outcome]++
    this.#unfollow(task)
    task.reject(error)
  }

  #unfollow(task: TaskNode): void {
    if (task.followed !== undefined) unfollowAbort(task.followed, task)
  }

  #onSettled(task: TaskNode, value: unknown, failure: { error: unknown } | undefined): void {
    if (task.state === 'running') {
      if (failure !== undefined) this.#conclude(task, failure.error)
      else {
        task.outcome = 'success'
        this.#counts.success++
        this.#unfollow(task)
        task.resolve(value)
      }
    }
    this.#free(task)
    this.#look()
  }

  /** I3: the only way permits and seat come back. Abandoned work that settles later finds nothing to give. */
  #free(task: TaskNode): void {
    if (task.state === 'stopping') this.#stopping--
    task.state = 'ended'
    this.#deadlines.delete(task)
    this.#tasks.delete(task)
    if (task.holding !== undefined) this.#pools.giveBack(task.holding)
    task.holding = undefined
    task.entry[Symbol.dispose]()
    if (this.#tasks.size > 0) return
    this.#deadlines.releaseTimer()
    this.#settled.wakeAll()
  }
}
