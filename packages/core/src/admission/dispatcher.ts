/**
 * Admission in front of the attempt runner: seats, order between tenants, load, drain.
 *
 *   submit ─▶ queued ─▶ running ─┬─ settles ─▶ ended (success, error)
 *               │  ▲     │   │   └─ fails, retries left ─▶ retrying ─▶ queued
 *               │  └─────┼───┼────── resumes ── suspended
 *               │        │   └─ suspend() ───────┘
 *               │        │ cancel, abort, deadline
 *               │        ▼
 *               │     stopping: the caller has its error, the signal has aborted, the permits are still held
 *               ▼        │
 *             ended ◀────┴─ settles, or is abandoned after its grace: the value is dropped
 *
 * Permits, attempts, their timeout, back-off and grace are the runner's (attempts/runner.ts). Here a task has a
 * seat from submit to its end, so that overload is refused at the door, also while the task is in back-off.
 *
 * Invariants, quoted by the tests:
 *  I1  A task waits in the queue, never on permits: what holds permits is running or stopping.
 *  I2  A task has exactly one outcome, reported once; a refusal is one too. submitted = tasks without an
 *      outcome + success + error + timeout + disconnected + superseded + cancelled + rejected.
 *  I3  The seat comes back exactly once, when the last attempt has settled or was abandoned.
 *  I4  Every timeout names its stage: `queue`, or the stage of this dispatcher.
 *  I5  Nothing that can start waits: after every change the queue is checked again.
 *  I6  A result that comes after the outcome is dropped.
 *  I7  Starting one task after the other yields to I/O after `sliceBudget` milliseconds, so a queue
 *      of tiny tasks cannot hold up timers and sockets.
 *
 * Which clock counts what: `queueTimeout` runs from submit to the first start, `timeout` from the start of
 * each attempt to its end, `deadline` from submit to the end.
 *
 * Why permits outlive the caller: work that ignores its signal still uses the machine. Giving its
 * permits away at once would run more than was configured; never giving them back would wedge the
 * service. The grace is the compromise, and `unresponsive` counts how often it was needed.
 */

import { Attempt, type Attemptable, type RunnerContext } from '../attempts/attempt.ts'
import {
  AttemptRunner,
  attemptDefaults,
  type AttemptHost,
  type AttemptReport,
  type WaitingRoom,
} from '../attempts/runner.ts'
import { HeddleError, reasonError } from '../errors.ts'
import { followAbort, unfollowAbort, type AbortFollower } from '../kernel/abort.ts'
import {
  checkCount,
  checkDuration,
  checkName,
  checkOptions,
  checkTimeout,
  type OptionNames,
} from '../kernel/check.ts'
import { Deadlines, type Due } from '../kernel/deadlines.ts'
import type { Histogram } from '../kernel/histogram.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { checkPriority } from '../kernel/rank.ts'
import { noOutcomes, outcomeOf, type Outcome, type OutcomeCounts } from '../registry/outcomes.ts'
import {
  AdmissionQueue,
  type AdmissionOptions,
  type AdmissionStats,
  type Admitted,
  type FillOptions,
  type Seat,
  type Reservation,
  type ReserveOptions,
} from './queue.ts'

export interface DispatcherOptions extends Omit<AdmissionOptions, 'onRoom'> {
  /** Names the running stage in timeouts. `run` when absent. */
  readonly stage?: string | undefined
  /** Milliseconds from submit to start. No limit when absent. */
  readonly queueTimeout?: number | undefined
  /** Milliseconds one attempt may take. No limit when absent. */
  readonly timeout?: number | undefined
  /** Milliseconds: attempt n waits uniform(0, min(retryBaseDelay * 2^n, 60 s)). 1,000 when absent. */
  readonly retryBaseDelay?: number | undefined
  /** Milliseconds that work may take to stop after its signal aborted. 2,000 when absent. */
  readonly grace?: number | undefined
}

export interface SubmitOptions extends ReserveOptions, FillOptions, WaitOptions {
  /** Named in errors. The dispatcher's name when absent. */
  readonly name?: string | undefined
  /** `ctx.idempotencyKey` of its attempts; one that is used once when absent. */
  readonly key?: string | undefined
  /** `ctx.traceparent` of the attempt that runs: asked when the attempt is given to its place. */
  readonly traceparent?: (() => string | undefined) | undefined
  /** A seat taken earlier with {@link Dispatcher.reserve}: its priority and tenant count. */
  readonly reservation?: Seat | undefined
  /** Instead of the dispatcher's. */
  readonly queueTimeout?: number | undefined
  /** Instead of the dispatcher's. */
  readonly timeout?: number | undefined
  /** How often a failed attempt is tried again. 0 when absent. */
  readonly retries?: number | undefined
  /** Milliseconds of the first back-off. That of the dispatcher when absent. */
  readonly retryBaseDelay?: number | undefined
  /** Called with each step of its attempts, on the loop and in order. It must not throw. */
  readonly onReport?: ((report: AttemptReport) => void) | undefined
  /** Makes the caller's error from the error of the last attempt. */
  readonly wrapFailure?: ((thrown: unknown) => unknown) | undefined
}

/** Called once for each attempt. */
export type Work<R> = (context: RunnerContext) => R | PromiseLike<R>

/** Work that was admitted. */
export interface AdmittedTask<R> {
  readonly name: string
  readonly tenant: string
  readonly priority: number
  readonly state: 'queued' | 'running' | 'retrying' | 'suspended' | 'stopping' | 'ended'
  /** The number of the current attempt, or of the next one. Counts from 0. */
  readonly attempt: number
  /** Undefined until the caller was notified. */
  readonly outcome: Outcome | undefined
  /** Why it does not run: the missing permits while it is queued, or the place's reason: `no worker is connected`. */
  readonly waitsFor: string | undefined
  /** The result. Its rejection needs no handler: `outcome` keeps it, so other awaits may come first. */
  readonly done: Promise<R>
  /** Ends it with `HDL_CANCELLED`, or with the given Heddle error. False when it had an outcome already. */
  cancel(reason?: unknown): boolean
  /** Gives queued work another priority, keeping the time it has waited. False when it is not queued any more. */
  move(priority: number): boolean
}

export interface DispatcherStats {
  readonly queue: AdmissionStats
  /** Work whose caller was notified, but which has not settled. */
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

/** The calls that a task makes to its dispatcher. */
interface Core {
  stop(task: TaskNode, error: HeddleError): boolean
  move(task: TaskNode, priority: number): boolean
  stateOf(task: TaskNode): AdmittedTask<unknown>['state']
}

interface TaskOptions {
  readonly name: string
  readonly key: string | undefined
  readonly traceparent: SubmitOptions['traceparent']
  readonly retries: number
  readonly retryBaseDelay?: number
  readonly timeout: number
  /** Durations, not times. */
  readonly queueTimeout: number
  readonly deadline: number
  readonly signal: AbortSignal | undefined
  readonly onReport: SubmitOptions['onReport']
  readonly wrapFailure: SubmitOptions['wrapFailure']
}

class TaskNode implements AdmittedTask<unknown>, Attemptable, Due, AbortFollower {
  heapIndex = -1
  dueAt = 0
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly work: Work<unknown>
  readonly wants: FillOptions
  readonly submittedAt: number
  readonly limits: TaskOptions
  readonly done: Promise<unknown>
  attempt = 0
  current: Attempt<TaskNode> | undefined
  outcome: Outcome | undefined
  isEnded = false
  /** Whether it had its outcome while an attempt was under way. */
  wasStopped = false
  /** Set before the task is visible. */
  entry!: Admitted<TaskNode>
  /** The limit that its next timeout will name. */
  limit = Infinity
  resolve!: (value: unknown) => void
  reject!: (error: unknown) => void
  readonly #core: Core

  constructor(
    core: Core,
    work: Work<unknown>,
    wants: FillOptions,
    submittedAt: number,
    limits: TaskOptions,
  ) {
    this.#core = core
    this.work = work
    this.wants = wants
    this.submittedAt = submittedAt
    this.limits = limits
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  get name(): string {
    return this.limits.name
  }

  get priority(): number {
    return this.entry.priority
  }

  get tenant(): string {
    return this.entry.tenant
  }

  get waitsFor(): string | undefined {
    return this.current === undefined ? this.entry.waitsFor : this.current.waitsFor?.()
  }

  get state(): AdmittedTask<unknown>['state'] {
    return this.#core.stateOf(this)
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

  report(report: AttemptReport): void {
    this.limits.onReport?.(report)
  }
}

const optionNames = {
  name: 1,
  kernel: 1,
  capacity: 1,
  levels: 1,
  interactive: 1,
  tenants: 1,
  retryAfter: 1,
  aging: 1,
  permits: 1,
  concurrency: 1,
  resources: 1,
  stage: 1,
  queueTimeout: 1,
  timeout: 1,
  retryBaseDelay: 1,
  grace: 1,
} satisfies OptionNames<DispatcherOptions>

/**
 * Runs admitted work within the permits of the process and its own limits.
 *
 * @example
 * const inference = new Dispatcher({ name: 'inference', concurrency: 2, timeout: 60_000 })
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
  readonly #stage: string
  readonly #timeout: number
  readonly #runner: AttemptRunner<TaskNode, Attempt<TaskNode>>
  readonly #deadlines: Deadlines<TaskNode>
  readonly #settled: WaiterList<void>
  /** Everything that holds a seat: queued, running or stopping. */
  readonly #tasks = new Set<TaskNode>()
  readonly #counts = noOutcomes()
  readonly #core: Core
  #submitted = 0
  #stopping = 0

  constructor(options: DispatcherOptions) {
    checkOptions(options, optionNames)
    this.name = checkName('name', options.name ?? 'Dispatcher')
    this.#kernel = options.kernel ?? systemKernel
    // The rest is for the queue.
    const {
      stage,
      queueTimeout,
      timeout,
      retryBaseDelay = attemptDefaults.retryBaseDelay,
      grace = attemptDefaults.abortGrace,
      ...admission
    } = options
    this.#queue = new AdmissionQueue({
      ...admission,
      name: this.name,
      onRoom: () => this.#runner.pumpSoon(),
    })
    this.#stage = checkName('stage', stage ?? 'run')
    this.queueTimeout = checkDuration('queueTimeout', queueTimeout ?? Infinity)
    this.#timeout = checkTimeout('timeout', timeout ?? Infinity)
    this.#runner = new AttemptRunner(this.#room(), this.#host(), {
      kernel: this.#kernel,
      abortGrace: checkDuration('grace', grace),
      retryBaseDelay: checkDuration('retryBaseDelay', retryBaseDelay),
    })
    this.#deadlines = new Deadlines(this.#kernel.clock, (task) => this.#onLate(task, task.limit))
    this.#settled = new WaiterList(this.#kernel.clock)
    this.#core = {
      stop: (task, error) => this.#stop(task, error),
      stateOf: (task) => this.#stateOf(task),
      move: (task, priority) => {
        this.#queue.check(task.wants, checkPriority(priority))
        const moved = task.entry.move(priority)
        // The new priority may have a reserved permit.
        if (moved) this.#runner.pump()
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
   * Like {@link reserve}, but waits for room: for work that follows from admitted work.
   *
   * *Cancellation*: leaves no seat taken.
   * *Fairness*: first come, first served, except that a tenant at its limit does not hold up
   * others.
   */
  waitRoom(options: ReserveOptions & WaitOptions = {}): Promise<Seat> {
    return this.#queue.waitRoom(options)
  }

  /**
   * Runs work when its turn comes, and waits for its result.
   *
   * *Cancellation*: while queued or in back-off it is removed and never starts again; while running its
   * signal aborts and the caller is notified at once, the permits come back when the work has settled.
   *
   * *Fairness*: priority 0 first, with aging; fair between tenants; inside both first come, first
   * served. Work whose permits are busy does not hold up work that needs others.
   *
   * @throws `HDL_OVERLOADED`, `HDL_DRAINING`, `HDL_TIMEOUT` with `stage`, `HDL_CANCELLED`,
   * `HDL_WOULD_DEADLOCK`, the error of the work.
   */
  async run<R>(work: Work<R>, options: SubmitOptions = {}): Promise<R> {
    return (await this.#submit(work, options).done) as R
  }

  /**
   * {@link run} for callers that move or cancel the task, or await something else first.
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
    // The current tasks: a listener may submit more.
    const tasks = [...this.#tasks]
    return tasks.filter((task) => task.cancel(reason)).length
  }

  /**
   * Closes the door, waits until everything admitted has ended, and at `deadline` ends the rest with
   * `HDL_DRAINING`, so that every caller is notified. Work that runs has its grace to settle.
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

  /** Milliseconds after which a caller that is refused now should come back: by the measured rate, with jitter. */
  retryAfter(): number {
    return this.#queue.retryAfter()
  }

  /** How long work waited and ran, for reports by fixed buckets. */
  get timings(): { readonly wait: Histogram; readonly run: Histogram } {
    return this.#queue.timings
  }

  stats(): DispatcherStats {
    return {
      queue: this.#queue.stats(),
      stopping: this.#stopping,
      submitted: this.#submitted,
      outcomes: { ...this.#counts },
      unresponsive: this.#runner.abandoned,
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

  /** I2: work that the queue refuses has an outcome too. */
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
    const { signal, needs, place } = options
    const wants = { needs, place }
    const name = options.name ?? this.name
    // Work that could never start must not take a seat; a reserved seat is released by its owner.
    const priority = options.reservation?.priority ?? checkPriority(options.priority)
    this.#queue.check(wants, priority)
    const task = new TaskNode(this.#core, work, wants, this.#kernel.clock.now(), {
      name,
      key: options.key,
      traceparent: options.traceparent,
      retries: checkCount('retries', options.retries ?? 0, 0, true),
      ...(options.retryBaseDelay !== undefined && {
        retryBaseDelay: checkDuration('retryBaseDelay', options.retryBaseDelay),
      }),
      timeout: checkTimeout('timeout', options.timeout ?? this.#timeout),
      queueTimeout: checkDuration('queueTimeout', options.queueTimeout ?? this.queueTimeout),
      deadline: checkDuration('deadline', options.deadline ?? Infinity),
      signal,
      onReport: options.onReport,
      wrapFailure: options.wrapFailure,
    })
    this.#admit(task, this.#seatFor(options))
    if (signal?.aborted) task.onAbort(signal.reason)
    else if (task.limits.deadline === 0) this.#onLate(task, 0)
    else {
      if (signal !== undefined) followAbort(signal, task)
      const { queueTimeout, deadline } = task.limits
      task.limit = Math.min(queueTimeout, deadline)
      if (task.limit < Infinity) this.#deadlines.set(task, task.submittedAt + task.limit)
      task.report({ type: 'queued', attempt: 0 })
      this.#runner.pump()
    }
    return task
  }

  #admit(task: TaskNode, seat: Reservation<TaskNode>): void {
    task.entry = this.#counted(() => seat.fill(task, task.wants))
    this.#submitted++
    this.#tasks.add(task)
  }

  #stateOf({ isEnded, outcome, current, entry }: TaskNode): AdmittedTask<unknown>['state'] {
    if (isEnded) return 'ended'
    if (outcome !== undefined) return 'stopping'
    if (current?.suspension !== undefined) return 'suspended'
    if (current !== undefined) return 'running'
    return entry.state === 'queued' ? 'queued' : 'retrying'
  }

  // ---- what the runner asks for

  #room(): WaitingRoom<TaskNode> {
    const queue = this.#queue
    const giveBack = (task: TaskNode): void => task.entry.park()
    return {
      get size() {
        return queue.size
      },
      get mayStart() {
        return queue.mayStart
      },
      enqueue: (task) => task.entry.requeue(),
      enqueueFirst: (task) => task.entry.requeue({ keepsPlace: true }),
      remove: (task) => task.entry.leaveQueue(),
      pick: () => {
        for (;;) {
          const task = queue.take()?.item
          if (!task?.limits.signal?.aborted || task.outcome !== undefined) return task
          // Its abort is being reported right now, and an earlier listener made room for it.
          giveBack(task)
          this.#conclude(task, reasonError(task.name, task.limits.signal.reason))
          this.#free(task)
        }
      },
      tryPick: (task) => queue.takeThis(task.entry),
      giveBack,
    }
  }

  #host(): AttemptHost<TaskNode, Attempt<TaskNode>> {
    return {
      isOpen: true,
      hasPreparing: false,
      prepare: () => true,
      begin: (task) => {
        if (task.attempt === 0) this.#onFirstStart(task)
        task.report({ type: 'started', attempt: task.attempt })
        return new Attempt(task, this.#runner)
      },
      call: (attempt) => attempt.entry.work(attempt),
      identify: ({ entry }) => entry.limits.key,
      traceOf: ({ entry }) => entry.limits.traceparent?.(),
      isElsewhere: ({ wants: { place } }) => place !== undefined && place.place !== 'loop',
      mayRetry: (task) => task.outcome === undefined,
      timeoutError: (task) => this.#timeoutError(task, this.#stage, task.limits.timeout),
      // The caller does not wait for the job to stop, unless the job is tried again.
      onTimedOut: (task, error) => {
        if (task.attempt >= task.limits.retries) this.#concludeEarly(task, error)
      },
      onSucceeded: (task, value) => {
        task.report({ type: 'ended', attempt: task.attempt, how: 'succeeded' })
        if (task.outcome === undefined) {
          task.outcome = 'success'
          this.#counts.success++
          task.resolve(value)
        }
        this.#free(task)
      },
      onFailed: (task, failure, _now, isThrown) => {
        const { wrapFailure } = task.limits
        const error = isThrown && wrapFailure !== undefined ? wrapFailure(failure) : failure
        task.report({ type: 'ended', attempt: task.attempt, how: 'failed', error })
        this.#conclude(task, error)
        this.#free(task)
      },
      onCancelled: (task, error) => {
        task.report({ type: 'ended', attempt: task.attempt, how: 'cancelled', error })
        this.#conclude(task, error)
        this.#free(task)
      },
      onRetrying: (task, error, delay) =>
        task.report({ type: 'retrying', attempt: task.attempt, error, delay }),
      onBackoffOver: (task) => {
        task.entry.requeue()
        task.report({ type: 'queued', attempt: task.attempt })
      },
      onSuspended: ({ entry, attempt }) => entry.report({ type: 'suspended', attempt }),
      onResumed: ({ entry, attempt }) => entry.report({ type: 'resumed', attempt }),
      onLog: ({ entry, attempt }, text) => entry.report({ type: 'log', attempt, text }),
      onProgress: ({ entry, attempt }, fraction, text) =>
        entry.report({ type: 'progress', attempt, fraction, text }),
      onIdle: () => undefined,
    }
  }

  /** Only the deadline counts from now on. */
  #onFirstStart(task: TaskNode): void {
    const { deadline } = task.limits
    task.limit = deadline
    if (deadline === Infinity) this.#deadlines.delete(task)
    else this.#deadlines.set(task, task.submittedAt + deadline)
  }

  // ---- ends

  /** I4. */
  #onLate(task: TaskNode, limit: number): void {
    const isQueued = task.current === undefined && task.attempt === 0
    this.#stop(task, this.#timeoutError(task, isQueued ? 'queue' : this.#stage, limit))
  }

  #timeoutError({ name }: TaskNode, stage: string, limit: number): HeddleError {
    return new HeddleError('HDL_TIMEOUT', { what: name, limit, stage })
  }

  /** Ends a task that has no outcome yet. */
  #stop(task: TaskNode, error: HeddleError): boolean {
    if (task.outcome !== undefined) return false
    this.#deadlines.delete(task)
    if (task.current === undefined) {
      this.#runner.withdrawBackoff(task)
      this.#conclude(task, error)
      task.report({ type: 'ended', attempt: task.attempt, how: 'cancelled', error })
      this.#free(task)
    } else {
      this.#concludeEarly(task, error)
      this.#runner.abort(task.current, error)
    }
    // Work that it held back, or that its listeners have ended, may leave room.
    this.#runner.pump()
    return true
  }

  /** The caller gets its error while an attempt is under way. */
  #concludeEarly(task: TaskNode, error: HeddleError): void {
    if (task.outcome !== undefined) return
    this.#stopping++
    task.wasStopped = true
    this.#deadlines.delete(task)
    this.#unfollow(task)
    this.#conclude(task, error)
  }

  /** Reports the outcome, unless the caller has one. */
  #conclude(task: TaskNode, error: unknown): void {
    if (task.outcome !== undefined) return
    task.outcome = outcomeOf(error)
    this.#counts[task.outcome]++
    task.reject(error)
  }

  #unfollow(task: TaskNode): void {
    const { signal } = task.limits
    if (signal !== undefined) unfollowAbort(signal, task)
  }

  /** I3: the only way in which a seat comes back. */
  #free(task: TaskNode): void {
    this.#unfollow(task)
    if (task.wasStopped) this.#stopping--
    task.isEnded = true
    this.#deadlines.delete(task)
    this.#tasks.delete(task)
    task.entry[Symbol.dispose]()
    if (this.#tasks.size > 0) return
    this.#deadlines.releaseTimer()
    this.#runner.releaseTimers()
    this.#settled.wakeAll()
  }
}
