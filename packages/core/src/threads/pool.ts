/**
 * A pool of threads that are kept busy and never in each other's way.
 *
 * A task:
 * ```
 *             ┌────────── taken back, or its thread ended first ──────────┐
 *             ▼                                                           │
 *   run() ─▶ queued ─▶ sent ─▶ claimed by its thread ─▶ settled           │
 *             │          │──────────────────────────────────────────────▶─┘
 *             │          │         │
 *             └──────────┴─────────┴─▶ settled by cancel, deadline, crash or stop()
 * ```
 *
 * Several tasks are sent to a thread while another one runs there, as long as they are known to be
 * short together; so a thread finds its next task without a round trip over the loop. Tasks that a thread
 * has not claimed can be taken back through shared memory (slots.ts), and is: when another thread
 * is idle, when the job in front runs longer than expected, when that job is being stopped.
 *
 * Invariants, quoted by the tests:
 *  P1  Each admitted task has exactly one outcome, and leaves nothing behind: no slot, no timer, no
 *      abort listener, no locked stream.
 *  P2  Tasks admitted and not settled are at most `threads + maxQueue`, and the queue holds at most
 *      `maxQueue`: while it holds any, each thread has at least one task.
 *  P3  A thread that ends fails at most the one task it had claimed. The others are sent again, in
 *      their order, before newer ones.
 *  P4  Tasks start in the order of run(), as far as threads are equally free. A task that needs a
 *      thread for itself is not overtaken by shorter ones.
 *  P5  An idle thread and a task that is waiting elsewhere do not exist together after a flush.
 *  P6  A thread is ended only for the task that it is running then.
 *
 * Prior art: piscina and tinypool (one task per thread), poolifier (work stealing by copying queues
 * over the loop), the stealing half of a victim's queue of Cilk and Go. Figures and rejected
 * designs: docs/decisions/0020 to 0023.
 *
 * Known limits: see docs/design/threads.md.
 */
import { availableParallelism } from 'node:os'
import type { ResourceLimits, Transferable } from 'node:worker_threads'
import { threadUnit, type Capacity } from '../capacity/capacity.ts'
import { SharedResource } from '../capacity/shared-resource.ts'
import { decodeSliced } from '../codec/sliced.ts'
import { HeddleError, reasonError } from '../errors.ts'
import {
  checkCount,
  checkDuration,
  checkName,
  checkOptions,
  type OptionNames,
} from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { Deadlines } from '../kernel/deadlines.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { LinkedList } from '../kernel/linked-list.ts'
import { Permits } from '../kernel/permits.ts'
import {
  Life,
  type RunningService,
  type ServiceState,
  type StopOptions,
} from '../kernel/service.ts'
import { threadFile } from '../kernel/thread-file.ts'
import { afterReactions } from '../kernel/turn.ts'
import { TurnBudget } from '../kernel/turn-budget.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import type { OnArtifact } from './artifact-flow.ts'
import { clause, decodeError, type ErrorWire } from './error-wire.ts'
import { parkedInThread } from './inside-thread.ts'
import { JobRecords, loadBudget, loadOf, observeRun, type JobRecord } from './job-records.ts'
import { outcome, type Outcome } from './thread-messages.ts'
import { Quarantine } from './quarantine.ts'
import { slotCount } from './task-ownership.ts'
import { Task } from './task.ts'
import { Thread, type ThreadHost } from './thread.ts'

/** What to run: a job, found by the module that defines it. */
export interface ThreadTask {
  /** `import.meta.url` of the module that defines the job. */
  readonly module: string
  /** The job's name. */
  readonly job: string
  /** Copied by structured clone when the task is sent to a thread: do not change it before the result is there. */
  readonly input: unknown
}

export interface ThreadRunOptions {
  /** Stops the job: at once while it waits, else by `ctx.signal` and `ctx.cancelled`, then by ending its thread. */
  readonly signal?: AbortSignal | undefined
  /**
   * Milliseconds after which the caller stops waiting for a job whose signal has aborted. The job has half of
   * them to stop by itself, its thread the other half to end. The pool's own limits when absent.
   */
  readonly grace?: number | undefined
  /** `ctx.name` in the job and its name in errors. The job's name when absent. */
  readonly name?: string | undefined
  /** `ctx.attempt`; 0 when absent. */
  readonly attempt?: number | undefined
  /** `ctx.idempotencyKey`; one that is used once when absent. */
  readonly idempotencyKey?: string | undefined
  /** `ctx.traceparent`. */
  readonly traceparent?: string | undefined
  /** Called with each line of `ctx.log()`, in order and before the result. Its errors are ignored. */
  readonly onLog?: ((text: string) => void) | undefined
  /** Called for each `ctx.progress()`, in order and before the result. Its errors are ignored. */
  readonly onProgress?: ((fraction: number, text?: string) => void) | undefined
  /** Writes the artifacts of the job. `ctx.artifact()` throws `HDL_NO_ARTIFACTS` when absent. */
  readonly onArtifact?: OnArtifact | undefined
  /** Called when nothing is in front of the job in its thread any more, and again when it changes threads before that. */
  readonly onStart?: (() => void) | undefined
  /** The key that is put in quarantine when it keeps ending threads. The job's name when absent. */
  readonly key?: string | undefined
  /** Moved into the thread instead of copied; empty for the caller afterwards. */
  readonly transfer?: readonly Transferable[] | undefined
  /** Milliseconds from the call, waiting included, after which the job is stopped with `HDL_TIMEOUT`. */
  readonly deadline?: number | undefined
}

export interface ThreadPoolOptions {
  /** Threads at most, each started when it is needed. As many as the machine runs at a time when absent. */
  readonly threads?: number | undefined
  /** Instead of `threads`: as many as this capacity has for threads, reserved ones included. */
  readonly capacity?: Capacity | undefined
  /** Tasks that wait for a thread, at most; 1024 when absent. */
  readonly maxQueue?: number | undefined
  /** Milliseconds a job has to stop after its signal aborted, before its thread is ended; 1000 when absent. */
  readonly grace?: number | undefined
  /** Threads a key may end in a row before it is put in quarantine; 3 when absent. */
  readonly crashLimit?: number | undefined
  /** Milliseconds after which a module that is still being evaluated counts as loaded; 5000 when absent. */
  readonly loadLimit?: number | undefined
  /** Memory limits of each thread. Exceeding them ends the thread and fails its job. */
  readonly resourceLimits?: ResourceLimits | undefined
  readonly kernel?: Kernel | undefined
}

export interface ThreadStats {
  readonly id: number
  /** `retiring`: ends after the job that runs, because of an error that an earlier one left behind. */
  readonly state: 'starting' | 'ready' | 'retiring' | 'ending'
  /** Whether it has a task. */
  readonly busy: boolean
  /** Tasks sent to it and not settled, the running one included. */
  readonly inFlight: number
  /** Jobs it has finished. */
  readonly finished: number
}

export interface ThreadJobStats {
  readonly module: string
  readonly job: string
  readonly runs: number
  /** Moving mean of its run time in milliseconds. */
  readonly meanRunTime: number
  /** Tasks of this job that are sent to one thread at a time. */
  readonly window: number
}

export interface ThreadPoolStats {
  readonly state: ServiceState
  readonly threads: readonly ThreadStats[]
  /** Tasks no thread has been sent yet. */
  readonly queued: number
  /** Tasks sent to a thread and not settled. */
  readonly inFlight: number
  /** Moving mean of the run time of all jobs in milliseconds. */
  readonly meanRunTime: number
  readonly completed: number
  readonly failed: number
  /** Stopped by signal, deadline or stop(). */
  readonly cancelled: number
  /** Threads that ended by themselves. */
  readonly crashed: number
  /** Threads the pool ended because a job did not stop. */
  readonly killed: number
  /** Tasks refused because the queue was full. */
  readonly refused: number
  /** Tasks taken back from a busy thread and given to another. */
  readonly takenBack: number
  /** Keys in quarantine. */
  readonly quarantined: readonly string[]
  readonly jobs: readonly ThreadJobStats[]
}

/** Times a task is sent again after threads that ended before they started it. */
const mostReturns = 3

/** Milliseconds a thread has to end. JavaScript ends within a few; native code may never. */
const endLimit = 2000

/**
 * Milliseconds of a turn of the event loop that the pool uses before timers and sockets have theirs. Node delivers
 * up to 1000 messages before it reads them, and each message leads to new tasks that lead to new messages: a pool
 * that always sends at once holds up everything else for 200 ms.
 */
const turnBudget = 2

/** The retry time before anything was measured, in milliseconds. */
const unmeasuredRetryAfter = 1000

/** Weight of the newest run in the mean of all. */
const newest = 0.05

const optionNames = {
  threads: 1,
  capacity: 1,
  maxQueue: 1,
  grace: 1,
  crashLimit: 1,
  loadLimit: 1,
  resourceLimits: 1,
  kernel: 1,
} satisfies OptionNames<ThreadPoolOptions>

/**
 * Runs jobs in threads of this process.
 *
 * No thread is started before there is work, and idle threads do not keep the process alive.
 *
 * @example
 * const module = import.meta.url
 * job({ name: 'square', place: 'thread', module }, (n: number) => n * n)
 * await using pool = new ThreadPool({ threads: 2 })
 * await pool.run({ module, job: 'square', input: 3 }) // => 9
 */
export class ThreadPool implements RunningService, AsyncDisposable {
  /** What its jobs take; undefined when they take those of the capacity it was made with. */
  readonly permits: SharedResource | undefined
  readonly #limit: number
  readonly #maxQueue: number
  readonly #grace: number
  readonly #loadLimit: number
  readonly #resourceLimits: ResourceLimits | undefined
  readonly #clock: Clock
  readonly #records = new JobRecords()
  readonly #quarantine: Quarantine
  readonly #queue = new LinkedList<Task>()
  readonly #threads: Thread[] = []
  /** Threads that are ending: they do not count any more. */
  readonly #ending = new Set<Thread>()
  /** Tasks whose large result is being read. */
  readonly #decoding = new Set<Task>()
  readonly #deadlines: Deadlines<Task>
  readonly #roomWaiters: WaiterList<void>
  readonly #idleWaiters: WaiterList<void>
  readonly #host: ThreadHost
  readonly #turn: TurnBudget
  #unsettled = 0
  #threadsStarted = 0
  #isFlushPlanned = false
  #nextFlushed = 0
  readonly #life: Life
  /** Called when the last thread has ended. */
  #onEmpty: (() => void) | undefined
  #runs = 0
  #meanRun = 0
  #completed = 0
  #failed = 0
  #cancelled = 0
  #crashed = 0
  #killed = 0
  #refused = 0
  #takenBack = 0

  constructor(options: ThreadPoolOptions = {}) {
    checkOptions(options, optionNames)
    const { clock } = options.kernel ?? systemKernel
    const threads = options.capacity?.permitsOf('thread') ?? Infinity
    this.#limit = checkCount(
      'threads',
      options.threads ?? (threads < Infinity ? threads : availableParallelism()),
    )
    if (options.capacity === undefined) {
      const permits = new Permits(this.#limit * threadUnit)
      this.permits = new SharedResource('thread', permits, {
        clock,
        aging: 30_000,
        unit: threadUnit,
      })
    }
    this.#maxQueue = checkCount('maxQueue', options.maxQueue ?? 1024, 0)
    this.#grace = checkDuration('grace', options.grace ?? 1000)
    this.#loadLimit = checkDuration('loadLimit', options.loadLimit ?? 5000)
    this.#quarantine = new Quarantine(checkCount('crashLimit', options.crashLimit ?? 3))
    this.#resourceLimits = options.resourceLimits
    this.#clock = clock
    this.#life = new Life({
      what: 'The thread pool',
      clock,
      deadline: this.#grace,
      stop: (enough) => this.#endAll(enough),
    })
    this.#deadlines = new Deadlines(clock, (task) => this.#onDue(task))
    this.#turn = new TurnBudget(clock, (wasSpent) => wasSpent && this.#flush(), {
      budget: turnBudget,
      isApart: true,
    })
    this.#roomWaiters = new WaiterList(clock)
    this.#idleWaiters = new WaiterList(clock)
    this.#host = {
      clock,
      onResult: (task, how, ran, value) => this.#onResult(task, how, ran, value),
      onUnreadable: (task, error) =>
        this.#fail(task, notCloneable(`The result of ${task.what}`, clause(error), error)),
      onRefused: (task, error) =>
        this.#fail(task, notCloneable(`The input of ${task.what}`, clause(error), error)),
      onReturned: (task) => {
        this.#queue.unshift(task)
        this.#planFlush()
      },
      onMail: (thread) => this.#onMail(thread),
      onEnded: (thread) => this.#onEnded(thread),
    }
  }

  /**
   * Runs a job in a thread.
   *
   * Called by a main program that a thread has loaded for its jobs, it never settles: see
   * `parkedInThread()`.
   *
   * @throws (rejects) what the job throws, with message, name, stack, `code`, cause and the fields
   *   that can be copied; `HDL_OVERLOADED` when the queue is full, `HDL_QUARANTINED`,
   *   `HDL_THREAD_CRASHED`, `HDL_THREAD_FILE`, `HDL_NOT_CLONEABLE`, `HDL_THREAD_IMPORT`, `HDL_JOB_NOT_FOUND`,
   *   `HDL_TIMEOUT`, `HDL_CANCELLED`, `HDL_CLOSED`; `HDL_UNRESPONSIVE` when its thread is in
   *   native code and cannot be ended.
   *
   * *Cancellation*: a waiting task leaves at once and never starts. A running job sees it by
   * `ctx.cancelled` and `ctx.signal`; the promise settles when it has stopped, or when its thread
   * has been ended after `grace`. Its result is discarded. If the reason is a Heddle error,
   * the promise rejects with it.
   *
   * *Fairness*: first come, first started.
   */
  run<O = unknown>(task: ThreadTask, options: ThreadRunOptions = {}): Promise<O> {
    if (parkedInThread()) return new Promise<O>(() => {})
    checkName('module', task.module)
    checkName('job', task.job)
    const {
      signal,
      deadline,
      key = task.job,
      name,
      grace,
      attempt = 0,
      idempotencyKey,
      traceparent,
      transfer,
      onLog,
      onProgress,
      onArtifact,
      onStart,
    } = options
    const what = `Job "${name ?? task.job}"`
    if (grace !== undefined) checkDuration('grace', grace)
    if (!this.#life.isRunning) return Promise.reject(this.#life.closed())
    try {
      threadFile('jobs')
    } catch (error) {
      return Promise.reject(error)
    }
    if (signal?.aborted) return Promise.reject(reasonError(what, signal.reason))
    if (deadline !== undefined && !(checkDuration('deadline', deadline) > 0)) {
      return Promise.reject(new HeddleError('HDL_TIMEOUT', { what, limit: deadline }))
    }
    const crashes = this.#quarantine.crashesOf(key)
    if (crashes !== undefined) {
      return Promise.reject(new HeddleError('HDL_QUARANTINED', { job: name ?? task.job, crashes }))
    }
    if (!this.hasRoom) {
      this.#refused++
      const retryAfter = this.#retryAfter()
      return Promise.reject(
        new HeddleError('HDL_OVERLOADED', { what: 'The thread pool', retryAfter }),
      )
    }
    return new Promise<O>((resolve, reject) => {
      const record = this.#records.get(task.module, task.job)
      const admitted = new Task(
        record,
        task.input,
        key,
        name === task.job ? undefined : name,
        attempt,
        resolve as (value: unknown) => void,
        reject,
      )
      admitted.idempotencyKey = idempotencyKey
      admitted.traceparent = traceparent
      admitted.onLog = onLog
      admitted.onProgress = onProgress
      admitted.onArtifact = onArtifact
      admitted.onStart = onStart
      if (transfer !== undefined && transfer.length > 0) admitted.transfer = transfer
      admitted.grace = grace
      if (deadline !== undefined && deadline !== Infinity) {
        admitted.deadline = deadline
        this.#deadlines.set(admitted, this.#clock.now() + deadline)
      }
      if (signal !== undefined) {
        admitted.follow(signal, (reason) => this.#stop(admitted, reasonError(what, reason)))
      }
      this.#unsettled++
      this.#place(admitted)
    })
  }

  /**
   * Which part of a thread a job of this name takes now, in parts of `threadUnit`. Jobs that are known to be short
   * share a thread, so that it finds its next job without a round trip over the loop; all others have it for
   * themselves.
   */
  shareOf(module: string, job: string): number {
    return Math.ceil(threadUnit / windowOf(this.#records.get(module, job)))
  }

  /** Whether run() would be accepted now: the signal to slow down when it is false. */
  get hasRoom(): boolean {
    return this.#life.isRunning && this.#unsettled < this.#limit + this.#maxQueue
  }

  /**
   * Waits until the pool takes another task.
   *
   * The room is not kept for the caller. Call run() right after it, without an await between.
   *
   * *Cancellation*: by signal or deadline; nothing is left behind.
   *
   * *Fairness*: callers are woken in order, one for each place that becomes free; a
   * caller that calls run() without waiting may be faster.
   */
  waitRoom(options: WaitOptions = {}): Promise<void> {
    if (!this.#life.isRunning) return Promise.reject(this.#life.closed())
    const isNext = this.hasRoom && this.#roomWaiters.size === 0
    return this.#roomWaiters.waitUnless(isNext, undefined, 'Room in the thread pool', options)
  }

  /**
   * Waits until every task has settled.
   *
   * *Cancellation*: by signal or deadline; the tasks continue.
   *
   * *Fairness*: every caller that waits is woken at the same time.
   */
  waitIdle(options: WaitOptions = {}): Promise<void> {
    if (!this.#life.isRunning) return Promise.reject(this.#life.closed())
    const what = 'The thread pool to become idle'
    return this.#idleWaiters.waitUnless(this.#unsettled === 0, undefined, what, options)
  }

  /** Lets a key in quarantine start again. False when it had not ended a thread. */
  release(key: string): boolean {
    return this.#quarantine.release(key)
  }

  stats(): ThreadPoolStats {
    return {
      state: this.#life.state,
      threads: [...this.#threads, ...this.#ending].map((thread) => ({
        id: thread.id,
        state: thread.status,
        busy: !thread.isIdle,
        inFlight: thread.tasks.size,
        finished: thread.finished,
      })),
      queued: this.#queue.size,
      inFlight: this.#unsettled - this.#queue.size,
      meanRunTime: this.#meanRun,
      completed: this.#completed,
      failed: this.#failed,
      cancelled: this.#cancelled,
      crashed: this.#crashed,
      killed: this.#killed,
      refused: this.#refused,
      takenBack: this.#takenBack,
      quarantined: this.#quarantine.keys(),
      jobs: [...this.#records].map((record) => ({
        module: record.module,
        job: record.name,
        runs: record.runs,
        meanRunTime: record.meanRun,
        window: windowOf(record),
      })),
    }
  }

  /**
   * Ends all threads. Tasks that wait fail with `HDL_CLOSED` at once; running jobs are asked to stop
   * and have `deadline` milliseconds (`grace` when absent) until their threads are ended. To let
   * work finish, call waitIdle() first.
   *
   * *Cancellation*: none; it takes no longer than the deadline, and two seconds more for a thread
   * that is in native code.
   *
   * *Fairness*: every caller that waits for anything here is notified.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #endAll(enough: AbortSignal): Promise<void> {
    const closed = this.#life.closed()
    for (const thread of this.#threads) this.#takeBackAll(thread)
    for (let task = this.#queue.first; task !== undefined; task = this.#queue.first) {
      this.#stop(task, closed)
    }
    for (const task of this.#decoding) this.#stop(task, closed)
    for (const thread of this.#threads.slice()) {
      const { first } = thread.tasks
      if (first !== undefined) this.#stopWithoutGrace(first, closed)
      if (thread.isIdle) this.#endThread(thread)
    }
    this.#roomWaiters.failAll(closed)
    this.#idleWaiters.failAll(closed)
    const kill = (): void => this.#killAll()
    if (enough.aborted) kill()
    else enough.addEventListener('abort', kill, { once: true })
    if (this.#threads.length + this.#ending.size > 0) {
      await new Promise<void>((resolve) => (this.#onEmpty = resolve))
    }
    enough.removeEventListener('abort', kill)
    this.#deadlines.close()
  }

  // ── Giving tasks to threads ────────────────────────────────────────────────────────────────

  #place(task: Task): void {
    this.#queue.push(task)
    this.#dispatch()
    this.#planFlush()
  }

  /** P4: only ever the first of the queue. */
  #dispatch(): void {
    for (let task = this.#queue.first; task !== undefined; task = this.#queue.first) {
      let thread: Thread | undefined
      try {
        thread = this.#choose(task)
      } catch (error) {
        // Node refuses to make a thread, for instance because of the resource limits.
        this.#queue.remove(task)
        const job = task.name ?? task.record.name
        const details = { job, cause: `it could not be started: ${clause(error)}` }
        this.#fail(task, new HeddleError('HDL_THREAD_CRASHED', details, { cause: error }))
        continue
      }
      if (thread === undefined) return
      this.#queue.remove(task)
      thread.give(task)
    }
  }

  /**
   * The best thread for a task: one that is ready and idle; else the one with the least work that
   * takes it behind that; else one that is still starting. When none is idle another is started,
   * which then takes over tasks that wait behind others.
   */
  #choose(task: Task): Thread | undefined {
    const load = task.currentLoad()
    let behind: Thread | undefined
    let starting: Thread | undefined
    for (const thread of this.#threads) {
      if (!thread.accepts(load)) continue
      if (!thread.isIdle) {
        if (behind === undefined || thread.load < behind.load) behind = thread
      } else if (thread.state === 'ready') return thread
      else starting ??= thread
    }
    if (starting === undefined && this.#threads.length < this.#limit) starting = this.#start()
    return behind ?? starting
  }

  #start(): Thread {
    const thread = new Thread(this.#host, {
      id: ++this.#threadsStarted,
      loadLimit: this.#loadLimit,
      resourceLimits: this.#resourceLimits,
    })
    this.#threads.push(thread)
    return thread
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    afterReactions(() => this.#flush())
  }

  #flush(): void {
    const now = this.#clock.now()
    // The flush stays planned: the end of the turn does it.
    if (this.#turn.isOver(now)) return
    this.#isFlushPlanned = false
    this.#takeBackLate(now)
    this.#dispatch()
    this.#feedIdle()
    this.#flushThreads()
  }

  #flushThreads(): void {
    for (let left = this.#threads.length; left > 0; left--) {
      this.#nextFlushed = (this.#nextFlushed + 1) % this.#threads.length
      this.#threads[this.#nextFlushed]!.flush()
      // Copying large inputs takes its time: the other threads are served first in the next turn.
      if (left > 1 && this.#turn.isOver(this.#clock.now())) {
        this.#isFlushPlanned = true
        return
      }
    }
  }

  /** The job in front runs much longer than expected: jobs behind it need not wait for it. */
  #takeBackLate(now: number): void {
    for (const thread of this.#threads) {
      const { first } = thread.tasks
      if (first === undefined || thread.tasks.size < 2) continue
      if (now - thread.progressAt <= 1 + 2 * loadOf(first.record)) continue
      thread.isLate = true
      this.#takeBackAll(thread)
    }
  }

  /** Puts tasks at the front of the queue, in their order. */
  #takeBackAll(thread: Thread): void {
    for (let task = thread.tasks.last; task !== undefined;) {
      const { previous } = task
      if (thread.takeBack(task)) {
        this.#takenBack++
        this.#queue.unshift(task)
      }
      task = previous
    }
  }

  /** P5: an idle thread takes over half of the tasks that wait in the thread with the most work. */
  #feedIdle(): void {
    for (const idle of this.#threads) {
      if (!idle.isIdle || idle.isRetiring || idle.state !== 'ready') continue
      const victim = this.#busiest()
      if (victim === undefined) return
      this.#moveHalf(victim, idle)
    }
  }

  #busiest(): Thread | undefined {
    let busiest: Thread | undefined
    for (const thread of this.#threads) {
      const { first } = thread.tasks
      // A value moved into a thread stays there, and its task is alone there.
      if (first === undefined || (first.isPosted && first.isPinned)) continue
      // A thread that is still starting runs nothing: even its only task waits.
      const waiting = thread.tasks.size - (thread.state === 'ready' ? 1 : 0)
      if (waiting > 0 && (busiest === undefined || thread.tasks.size > busiest.tasks.size)) {
        busiest = thread
      }
    }
    return busiest
  }

  #moveHalf(victim: Thread, idle: Thread): void {
    let wanted = Math.ceil((victim.tasks.size - (victim.state === 'ready' ? 1 : 0)) / 2)
    const moved: Task[] = []
    for (let task = victim.tasks.last; task !== undefined && wanted > 0; wanted--) {
      const { previous } = task
      if (victim.takeBack(task)) moved.push(task)
      task = previous
    }
    this.#takenBack += moved.length
    for (const task of moved.toReversed()) {
      if (idle.accepts(task.currentLoad())) idle.give(task)
      else this.#queue.unshift(task)
    }
  }

  // ── What threads tell ──────────────────────────────────────────────────────────────────────

  #onResult(task: Task, how: Outcome, ran: number, value: unknown): void {
    observeRun(task.record, ran)
    this.#meanRun += (ran - this.#meanRun) * (this.#runs++ === 0 ? 1 : newest)
    this.#quarantine.survived(task.key)
    if (task.isStopping) this.#settleStopped(task)
    else if (how === outcome.value) this.#complete(task, value)
    else if (how === outcome.encoded) this.#decode(task, value as Uint8Array<ArrayBuffer>)
    else if (how === outcome.error) this.#fail(task, decodeError(value as ErrorWire))
    else this.#fail(task, notCloneable(`The result of ${task.what}`, value as string))
  }

  #complete(task: Task, value: unknown): void {
    this.#completed++
    this.#settle(task)
    task.resolve(value)
  }

  /** A large result is read in slices. The task has left its thread and can still be stopped. */
  #decode(task: Task, body: Uint8Array<ArrayBuffer>): void {
    this.#decoding.add(task)
    // Arrays with buffers of their own, as a clone has them.
    decodeSliced(body, this.#clock, () => task.isSettled, false).then(
      (decoded) => {
        if (this.#decoding.delete(task)) this.#complete(task, decoded!.value)
      },
      (error: unknown) => {
        if (this.#decoding.delete(task)) this.#fail(task, error)
      },
    )
  }

  #onMail(thread: Thread): void {
    if (thread.isRetiring && thread.state !== 'ending') this.#takeBackAll(thread)
    if (this.#life.state === 'stopping' && thread.isIdle) this.#endThread(thread)
    this.#planFlush()
  }

  #onEnded(thread: Thread): void {
    const index = this.#threads.indexOf(thread)
    if (index >= 0) {
      this.#threads.splice(index, 1)
      this.#crashed++
    }
    this.#ending.delete(thread)
    const waiting: Task[] = []
    let poison: string | undefined
    for (const task of thread.tasks) {
      if (!thread.isClaimed(task)) waiting.push(task)
      else if (this.#onVictim(thread, task)) poison = task.key
    }
    for (const task of waiting.toReversed()) this.#onSurvivor(thread, task)
    if (poison !== undefined) this.#failQuarantined(poison)
    this.#noteEmpty()
    this.#dispatch()
    this.#planFlush()
  }

  /** The job that ran when the thread ended. True when that puts its key in quarantine. */
  #onVictim(thread: Thread, task: Task): boolean {
    thread.tasks.remove(task)
    const isCrash = !task.isStopping
    this.#fail(task, this.#crashError(thread, task))
    return isCrash && this.#quarantine.crashed(task.key)
  }

  /** P3: a task the thread had not started. */
  #onSurvivor(thread: Thread, task: Task): void {
    thread.tasks.remove(task)
    task.returns++
    if ((task.isPosted && task.isPinned) || task.returns > mostReturns) {
      this.#fail(task, this.#crashError(thread, task))
      return
    }
    task.thread = undefined
    this.#queue.unshift(task)
  }

  #crashError(thread: Thread, task: Task): HeddleError {
    return new HeddleError(
      'HDL_THREAD_CRASHED',
      { job: task.name ?? task.record.name, cause: thread.endedBecause },
      { cause: thread.fault },
    )
  }

  #failQuarantined(key: string): void {
    const crashes = this.#quarantine.crashesOf(key)!
    const refuse = (task: Task): void => {
      if (task.key !== key || task.isStopping) return
      if (task.thread?.revoke(task) ?? this.#queue.remove(task)) {
        this.#fail(
          task,
          new HeddleError('HDL_QUARANTINED', { job: task.name ?? task.record.name, crashes }),
        )
      }
    }
    for (const task of this.#queue) refuse(task)
    for (const thread of this.#threads) for (const task of thread.tasks) refuse(task)
  }

  // ── Stopping ───────────────────────────────────────────────────────────────────────────────

  #onDue(task: Task): void {
    if (task.isKilling) this.#abandon(task)
    else if (task.isStopping) this.#kill(task)
    else {
      const { what, deadline } = task
      const hasStarted = this.#decoding.has(task) || task.thread?.isClaimed(task)
      const stage = hasStarted ? 'running' : 'waiting for a thread'
      this.#stop(task, new HeddleError('HDL_TIMEOUT', { what, limit: deadline!, stage }))
    }
  }

  #stop(task: Task, error: unknown): void {
    if (task.isSettled || task.isStopping) return
    task.isStopping = true
    task.stopping = error
    const { thread } = task
    if (this.#decoding.delete(task)) return this.#settleStopped(task)
    if (thread?.revoke(task) ?? this.#queue.remove(task)) return this.#settleStopped(task)
    thread!.cancel(task, error)
    this.#deadlines.set(task, this.#clock.now() + this.#stopLimitOf(task))
    this.#takeBackAll(thread!)
    this.#planFlush()
  }

  /** For stop(): the job may run until the deadline of stop(). One that was being stopped already keeps its own grace. */
  #stopWithoutGrace(task: Task, error: HeddleError): void {
    if (task.isStopping) return
    this.#stop(task, error)
    if (!task.isSettled) this.#deadlines.delete(task)
  }

  /** The deadline of stop() has passed. */
  #killAll(): void {
    for (const thread of this.#threads.slice()) {
      const { first } = thread.tasks
      if (first?.isStopping === true && !first.isKilling) this.#kill(first)
    }
  }

  /** The grace is over. */
  #kill(task: Task): void {
    const thread = task.thread!
    // P6: a thread posts a result before it claims the next task. So with nothing left to claim
    // and all mail read, a task that has no result is the one that runs.
    this.#takeBackAll(thread)
    thread.drain()
    if (task.isSettled) return this.#onMail(thread)
    task.isKilling = true
    this.#killed++
    this.#endThread(thread)
    this.#deadlines.set(task, this.#clock.now() + endLimitOf(task))
    this.#dispatch()
    this.#planFlush()
  }

  /** The thread is in native code that cannot be interrupted. */
  #abandon(task: Task): void {
    const { what, stopping: cause } = task
    const thread = task.thread!
    thread.abandon()
    this.#ending.delete(thread)
    this.#cancelled++
    this.#settle(task)
    const grace = this.#stopLimitOf(task) + endLimitOf(task)
    task.reject(new HeddleError('HDL_UNRESPONSIVE', { what, grace }, { cause }))
    this.#noteEmpty()
  }

  /** Milliseconds a job has to stop before its thread is ended. */
  #stopLimitOf({ grace }: Task): number {
    return grace === undefined ? this.#grace : grace / 2
  }

  #endThread(thread: Thread): void {
    const index = this.#threads.indexOf(thread)
    if (index < 0) return
    this.#threads.splice(index, 1)
    this.#ending.add(thread)
    thread.end()
  }

  #noteEmpty(): void {
    if (this.#threads.length + this.#ending.size === 0) this.#onEmpty?.()
  }

  // ── Settling ───────────────────────────────────────────────────────────────────────────────

  #fail(task: Task, error: unknown): void {
    if (task.isStopping) return this.#settleStopped(task)
    this.#failed++
    this.#settle(task)
    task.reject(error)
  }

  #settleStopped(task: Task): void {
    this.#cancelled++
    this.#settle(task)
    task.reject(task.stopping)
  }

  /** P1: everything a task holds is given back here. The caller resolves or rejects. */
  #settle(task: Task): void {
    task.isSettled = true
    task.unfollow()
    if (task.heapIndex >= 0) this.#deadlines.delete(task)
    task.streams?.end(task.stopping)
    task.input = undefined
    this.#unsettled--
    // Its callers may be idle now.
    this.#planFlush()
    if (this.#unsettled === 0) {
      this.#deadlines.releaseTimer()
      this.#idleWaiters.wakeAll()
    }
    if (this.#roomWaiters.size > 0) this.#offerRoom()
  }

  /** Wakes one caller; the next when that one did not take the room. */
  #offerRoom(): void {
    if (!this.hasRoom || !this.#roomWaiters.wakeFirst()) return
    afterReactions(() => this.#offerRoom())
  }

  /** The time in which the admitted work will be done, from the measured run times. */
  #retryAfter(): number {
    if (this.#runs === 0) return unmeasuredRetryAfter
    return Math.max(1, Math.ceil((this.#unsettled * this.#meanRun) / this.#limit))
  }
}

/** Milliseconds the thread of a job has to end that did not stop. */
function endLimitOf({ grace }: Task): number {
  return grace === undefined ? endLimit : grace / 2
}

/** Tasks of a job that are sent to one thread at a time. */
function windowOf(record: JobRecord): number {
  return Math.max(1, Math.min(slotCount, Math.floor(loadBudget / loadOf(record))))
}

function notCloneable(what: string, cause: string, error?: unknown): HeddleError {
  return new HeddleError('HDL_NOT_CLONEABLE', { what, cause }, { cause: error })
}
