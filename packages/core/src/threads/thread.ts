/**
 * The loop's side of one thread: which tasks it has been given, its mail, its end.
 *
 * ```
 *   starting ──▶ ready ──▶ ending ──▶ ended
 *       └──────────┴─────────────────▶ ended   (it crashed)
 * ```
 *
 * Invariants, quoted by the tests:
 *  T1  A task is in `tasks` from give() until its result arrives, it is taken back, or the thread
 *      has ended; its ticket is out for exactly that time.
 *  T2  `tasks` is the order in which the thread runs them, so the next result is that of the first.
 *  T3  An idle thread does not keep the process alive; one with tasks does, and one whose output has
 *      not arrived yet.
 */
import {
  MessageChannel,
  Worker,
  receiveMessageOnPort,
  type MessagePort,
  type ResourceLimits,
  type Transferable,
} from 'node:worker_threads'
import { HeddleError } from '../errors.ts'
import type { Clock } from '../kernel/clock.ts'
import { LinkedList } from '../kernel/linked-list.ts'
import { threadFile } from '../kernel/thread-file.ts'
import { ArtifactReader } from './artifact-flow.ts'
import { clause, decodeError, encodeError } from './error-wire.ts'
import { loadBudget, observeLoop, wholeThread, type JobRecord } from './job-records.ts'
import { carryInput, type Bulk, type CarriedInput } from './large.ts'
import { LogReader } from './log-flow.ts'
import type { Notice, Outcome, ResultMessage, TaskBatch, ThreadData } from './thread-messages.ts'
import { Slots, slotCount, slotOf } from './task-ownership.ts'
import { carryStreams } from './streams.ts'
import type { Task } from './task.ts'

/** The events that a thread reports to its pool. Everything is called on the loop. */
export interface ThreadHost {
  readonly clock: Clock
  /** The task has left the thread with an outcome. */
  onResult(task: Task, how: Outcome, ran: number, value: unknown): void
  /** The result of the task has arrived and cannot be read. */
  onUnreadable(task: Task, error: unknown): void
  /** The task has left the thread because its input cannot be sent. */
  onRefused(task: Task, error: unknown): void
  /** The task has left the thread unsent: it must be the only one there. */
  onReturned(task: Task): void
  /** All mail is read. */
  onMail(thread: Thread): void
  /** The thread is gone. Its unfinished tasks are still in `tasks`. */
  onEnded(thread: Thread): void
}

export interface ThreadOptions {
  readonly id: number
  readonly loadLimit: number
  readonly resourceLimits: ResourceLimits | undefined
}

export class Thread {
  readonly id: number
  readonly tasks = new LinkedList<Task>()
  #front: Task | undefined
  state: 'starting' | 'ready' | 'ending' | 'ended' = 'starting'
  /** Takes no more tasks: it is ending, or ends after the job that runs. */
  isRetiring = false
  /** The job in front runs longer than expected. Ends with its result. */
  isLate = false
  /** Milliseconds of work given to it, see `loadBudget`. */
  load = 0
  /** When the job in front started, as far as the loop knows. */
  progressAt: number
  /** Jobs it has finished. */
  finished = 0
  /** Why it ended, as far as known. */
  fault: unknown
  exitCode: number | undefined
  readonly #host: ThreadHost
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #slots = new Slots()
  readonly #log: LogReader
  readonly #artifacts: ArtifactReader
  readonly #bySlot: (Task | undefined)[] = Array.from({ length: slotCount })
  readonly #knownJobs = new Set<number>()
  #outbox: Task[] = []
  #isHoldingProcess = false
  /** The output of its jobs is still in flight. */
  #isWriting = false

  constructor(host: ThreadHost, options: ThreadOptions) {
    this.#host = host
    this.id = options.id
    this.progressAt = host.clock.now()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#log = new LogReader(host.clock)
    this.#artifacts = new ArtifactReader((control) => this.#port.postMessage(control))
    const { loadLimit, resourceLimits } = options
    const data: ThreadData = {
      port: port2,
      words: this.#slots.words,
      logWords: this.#log.words,
      loadLimit,
    }
    this.#worker = new Worker(threadFile('jobs'), {
      name: `heddle-${options.id}`,
      workerData: { ...data, role: 'jobs' },
      transferList: [port2],
      // A main program that is loaded for its jobs finds the arguments it was started with.
      argv: process.argv.slice(2),
      ...(resourceLimits !== undefined && { resourceLimits }),
    })
    this.#worker.unref()
    this.#worker.on('error', (error) => {
      this.fault ??= error
    })
    this.#worker.on('exit', (code) => this.#onExit(code))
    this.#port.on('message', (message: ResultMessage | Notice) => {
      this.#read(message)
      this.#host.onMail(this)
    })
    this.#port.on('messageerror', (error) => {
      this.#onUnreadable(error)
      this.#host.onMail(this)
    })
    this.#port.unref()
  }

  get status(): 'starting' | 'ready' | 'retiring' | 'ending' {
    if (this.state === 'ending' || this.state === 'ended') return 'ending'
    return this.isRetiring ? 'retiring' : this.state
  }

  get isIdle(): boolean {
    return this.tasks.size === 0
  }

  /** Whether a task of this load may be given to it now. */
  accepts(load: number): boolean {
    if (this.isRetiring) return false
    const first = this.tasks.first
    if (first === undefined) return true
    // Behind a job that is late, or is being stopped and may take the whole grace, nothing is put.
    if (this.isLate || first.isStopping) return false
    return this.load + load <= loadBudget && this.tasks.size < slotCount
  }

  /** The task is sent by the next flush(). */
  give(task: Task): void {
    if (this.tasks.size === 0) this.progressAt = this.#host.clock.now()
    if (!this.#isHoldingProcess) {
      this.#isHoldingProcess = true
      this.#worker.ref()
    }
    task.thread = this
    task.isPosted = false
    task.load = task.currentLoad()
    task.ticket = this.#slots.publish()
    this.#bySlot[slotOf(task.ticket)] = task
    this.load += task.load
    this.tasks.push(task)
    this.#outbox.push(task)
    this.#noteFront()
  }

  /** Takes a task back. False when the thread has started it, or when it can be sent only once. */
  takeBack(task: Task): boolean {
    if (task.isPosted && task.isPinned) return false
    return this.revoke(task)
  }

  /** Takes a task back for good: it will not be sent again. False when the thread has started it. */
  revoke(task: Task): boolean {
    if (!this.#slots.revoke(task.ticket)) return false
    const waiting = task.isPosted ? -1 : this.#outbox.indexOf(task)
    if (waiting >= 0) this.#outbox.splice(waiting, 1)
    this.#forget(task)
    return true
  }

  isClaimed(task: Task): boolean {
    return this.#slots.isClaimed(task.ticket)
  }

  /** Tells a running job to stop. */
  cancel(task: Task, reason: unknown): void {
    // The reason first: when the job sees the word, the mail is there (see ThreadContext.signal).
    this.#port.postMessage({ type: 'cancel', ticket: task.ticket, reason: encodeError(reason) })
    this.#slots.cancel(task.ticket)
  }

  /** Ends the thread now, whatever it is doing. */
  end(): void {
    if (this.state === 'ending' || this.state === 'ended') return
    this.state = 'ending'
    this.isRetiring = true
    // The promise is that of the exit event.
    // oxlint-disable-next-line typescript/no-floating-promises -- the exit event says the same
    void this.#worker.terminate()
  }

  /** T3. Here and not when a task leaves: most often the next one is given right after. */
  #letProcessEnd(): void {
    if (!this.#isHoldingProcess || this.#isWriting || this.state === 'ending') return
    // It ends by itself right away, and the thread that replaces it may have jobs to run.
    if (this.isRetiring) return
    this.#isHoldingProcess = false
    this.#worker.unref()
  }

  /** The thread does not end: lets the process exit without it, and hears nothing of it any more. */
  abandon(): void {
    this.#worker.unref()
    this.#port.close()
    for (const task of this.tasks) this.#withdraw(task)
  }

  /** Sends the tasks given since the last flush. */
  flush(): void {
    if (this.tasks.size === 0) this.#letProcessEnd()
    const waiting = this.#outbox.length
    // While the thread has more to do than is waiting here, sending can wait too: the next result
    // comes back here, and a message costs the loop as much as ten tasks in it.
    if (waiting === 0 || waiting < this.tasks.size - waiting) return
    const startedAt = this.#host.clock.now()
    const tasks = this.#outbox
    this.#outbox = []
    const batch: TaskBatch = []
    for (const task of tasks) {
      this.#introduce(task.record)
      // A task that must be alone in its message is also alone in its thread.
      if (task.isPinned) return this.#sendAlone(task)
      if (task.bulk !== undefined) return this.#carry(task, task.bulk)
      const { ticket, record, name, attempt, input, idempotencyKey, traceparent } = task
      batch.push(ticket, record.id, name, attempt, input, idempotencyKey, traceparent)
    }
    if (!this.#trySend(batch)) for (const task of tasks) this.#sendAlone(task)
    else for (const task of tasks) task.isPosted = true
    observeLoop(tasks[0]!.record, (this.#host.clock.now() - startedAt) / waiting)
  }

  /** Reads the mail that has arrived. */
  drain(): void {
    this.#read()
  }

  /** Reads a message that Node has delivered, and the others that have arrived with it. */
  #read(first?: ResultMessage | Notice): void {
    const startedAt = this.#host.clock.now()
    let record = first === undefined ? undefined : this.#accept(first)
    let received = 1
    for (;;) {
      let mail: { message: unknown } | undefined
      try {
        mail = receiveMessageOnPort(this.#port)
      } catch (error) {
        if (this.tasks.size === 0) return
        this.#onUnreadable(error)
        continue
      }
      if (mail === undefined) break
      received++
      record = this.#accept(mail.message as ResultMessage | Notice) ?? record
    }
    if (record === undefined) return
    this.progressAt = startedAt
    observeLoop(record, (this.#host.clock.now() - startedAt) / received)
  }

  #introduce(record: JobRecord): void {
    if (this.#knownJobs.has(record.id)) return
    this.#knownJobs.add(record.id)
    const { id, module, name } = record
    this.#port.postMessage({ type: 'job', id, module, name })
  }

  #trySend(batch: TaskBatch): boolean {
    try {
      this.#port.postMessage(batch)
      return true
    } catch {
      return false
    }
  }

  #sendAlone(task: Task): void {
    try {
      this.#post(task)
    } catch (error) {
      this.#retryWithStreams(task, error)
    }
  }

  /**
   * Sends a large input without holding up the loop. Until then the task is the only one here, unsent:
   * it can be taken back.
   */
  #carry(task: Task, bulk: Bulk): void {
    const { ticket } = task
    const isOver = (): boolean => task.thread !== this || task.ticket !== ticket
    const send = (carried: CarriedInput | undefined): void => {
      if (isOver()) return
      if (carried === undefined) return this.#sendAlone(task)
      try {
        if (carried.isEncoded) this.#port.postMessage({ type: 'encoded', ticket })
        this.#port.postMessage(fieldsOf(task, carried.input), carried.transfer)
        task.isPosted = true
      } catch {
        // Something else in it cannot be cloned as it is.
        this.#sendAlone(task)
      }
    }
    carryInput(task.what, task.input, bulk, this.#host.clock, isOver).then(send, () =>
      send(undefined),
    )
  }

  #post(task: Task): void {
    const transfer: Transferable[] = []
    if (task.transfer !== undefined) transfer.push(...task.transfer)
    if (task.streams !== undefined) transfer.push(...task.streams.transfer)
    this.#port.postMessage(fieldsOf(task, task.input), transfer)
    task.isPosted = true
    // Held no longer than needed: it may be large, and transferred memory is empty.
    if (task.isPinned) task.input = undefined
  }

  /** Only an input that was refused is searched for streams: searching each would cost more than a task. */
  #retryWithStreams(task: Task, refused: unknown): void {
    let error = refused
    if (task.streams === undefined) {
      try {
        task.streams = carryStreams(task.input)
        if (task.streams !== undefined) {
          task.input = task.streams.input
          if (this.tasks.size > 1) {
            this.#withdraw(task)
            this.#host.onReturned(task)
            return
          }
          this.load += wholeThread - task.load
          task.load = wholeThread
          this.#post(task)
          return
        }
      } catch (thrown) {
        error = thrown
      }
    }
    this.#withdraw(task)
    this.#host.onRefused(task, error)
  }

  /** The ticket is not visible anywhere else. */
  #withdraw(task: Task): void {
    this.#slots.release(task.ticket)
    this.#forget(task)
  }

  /** T2: the first of the tasks is the one that runs, or is next to. */
  #noteFront(): void {
    const { first } = this.tasks
    if (first === this.#front) return
    this.#front = first
    first?.start()
  }

  #forget(task: Task): void {
    if (!this.#artifacts.isIdle) this.#artifacts.drop(task.ticket, leftJob(task))
    this.#bySlot[slotOf(task.ticket)] = undefined
    this.tasks.remove(task)
    task.thread = undefined
    this.load -= task.load
    this.#noteFront()
    if (this.tasks.size > 0) return
    // Sums of fractions drift.
    this.load = 0
  }

  /** The record of the job whose result it is. */
  #accept(message: ResultMessage | Notice): JobRecord | undefined {
    if (!Array.isArray(message)) {
      this.#onNotice(message as Notice)
      return undefined
    }
    const [ticket, how, ran, value] = message as ResultMessage
    const task = this.#bySlot[slotOf(ticket)]
    if (task === undefined || task.ticket !== ticket) return undefined
    this.#leave(task)
    this.#host.onResult(task, how, ran, value)
    return task.record
  }

  #onNotice(notice: Notice): void {
    switch (notice.type) {
      case 'ready':
        if (this.state === 'starting') this.state = 'ready'
        break
      case 'log':
        this.#log.read(notice.lines, (ticket, fraction, text) => {
          const task = this.#bySlot[slotOf(ticket)]
          if (task?.ticket !== ticket) return
          if (fraction === undefined) task.say(text ?? '')
          else task.reportProgress(fraction, text)
        })
        break
      case 'artifact': {
        const task = this.#bySlot[slotOf(notice.ticket)]
        const isCurrent = task?.ticket === notice.ticket
        this.#artifacts.accept(notice, isCurrent ? task.onArtifact : undefined)
        break
      }
      case 'writing':
        this.#isWriting = notice.isWriting
        break
      case 'fault':
        this.fault = decodeError(notice.error)
        this.isRetiring = true
    }
  }

  #leave(task: Task): void {
    this.#slots.release(task.ticket)
    this.#forget(task)
    this.isLate = false
    this.finished++
  }

  #onUnreadable(error: unknown): void {
    // T2: results come in order.
    const task = this.tasks.first
    if (task === undefined) return
    this.#leave(task)
    this.#host.onUnreadable(task, error)
  }

  #onExit(code: number): void {
    // Results that were posted before the end count.
    this.drain()
    this.state = 'ended'
    this.isRetiring = true
    this.exitCode = code
    this.#port.close()
    const what = 'The thread of the job that wrote the artifact'
    this.#artifacts.drop(undefined, new HeddleError('HDL_CLOSED', { what }))
    this.#host.onEnded(this)
  }

  /** In words, for the error of the job that ended it. */
  get endedBecause(): string {
    if (this.fault !== undefined) return clause(this.fault)
    return `it exited with code ${this.exitCode ?? 'unknown'}`
  }
}

/** The message of a task that is sent alone. */
function fieldsOf(task: Task, input: unknown): TaskBatch {
  const { ticket, record, name, attempt, idempotencyKey, traceparent } = task
  return [ticket, record.id, name, attempt, input, idempotencyKey, traceparent]
}

/** Why an artifact was not written to its end. */
function leftJob(task: Task): HeddleError {
  return new HeddleError('HDL_CLOSED', { what: `${task.what}, which wrote the artifact,` })
}
