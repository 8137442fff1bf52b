import type { Transferable } from 'node:worker_threads'
import { AbortCallback } from '../kernel/abort.ts'
import type { Due } from '../kernel/deadlines.ts'
import type { ListItem } from '../kernel/linked-list.ts'
import { loadOf, wholeThread, type JobRecord } from './job-records.ts'
import { bulkOf, type Bulk } from './large.ts'
import type { OnArtifact } from './artifact-flow.ts'
import type { Ticket } from './task-ownership.ts'
import type { CarriedStreams } from './streams.ts'
import type { Thread } from './thread.ts'

/** One call of `run()`, from its admission to its one outcome. */
export class Task implements ListItem<Task>, Due {
  // Owned by the pool's queue or by the tasks of a thread: it is in exactly one of them.
  list: object | undefined
  previous: Task | undefined
  next: Task | undefined
  // Owned by the pool's deadlines.
  heapIndex = -1
  dueAt = 0

  readonly record: JobRecord
  readonly key: string
  /** The node's name, when it is not the job's. */
  readonly name: string | undefined
  readonly attempt: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void

  /** Called with the log lines of the job. */
  onLog: ((text: string) => void) | undefined
  /** Called with the progress of the job. */
  onProgress: ((fraction: number, text?: string) => void) | undefined
  /** Writes its artifacts. */
  onArtifact: OnArtifact | undefined
  /** Called when nothing is in front of it in its thread any more. */
  onStart: (() => void) | undefined
  input: unknown
  transfer: readonly Transferable[] | undefined
  streams: CarriedStreams | undefined
  /** The part of the input that would hold up the loop if it were cloned in one go. */
  readonly bulk: Bulk | undefined
  /** Milliseconds from its abort to the end of its thread, where the caller has set a limit. */
  grace: number | undefined
  /** Milliseconds from the call, for the error. */
  deadline: number | undefined

  /** The thread that has the task, if any. */
  thread: Thread | undefined
  ticket: Ticket = 0
  /** Its share of the thread's load at the time when the thread got it. */
  load = 0
  idempotencyKey: string | undefined
  traceparent: string | undefined
  /** Whether the thread has been sent it. What was moved there cannot be sent again. */
  isPosted = false
  /** How often a thread ended before it started this task. */
  returns = 0

  /** Set while the job is being stopped: the error it will end with, whatever it does. */
  stopping: unknown
  isStopping = false
  /** The thread is being ended because of this task. */
  isKilling = false
  isSettled = false

  #followed: AbortCallback | undefined

  constructor(
    record: JobRecord,
    input: unknown,
    key: string,
    name: string | undefined,
    attempt: number,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.record = record
    this.input = input
    this.bulk = bulkOf(input)
    this.key = key
    this.name = name
    this.attempt = attempt
    this.resolve = resolve
    this.reject = reject
  }

  /** The name in errors. */
  get what(): string {
    return `Job "${this.name ?? this.record.name}"`
  }

  /** It can be sent once only, so it is sent when a thread is sure to start it. */
  get isPinned(): boolean {
    return this.transfer !== undefined || this.streams !== undefined
  }

  /** Its part of a thread's load if it were given to one now. */
  currentLoad(): number {
    const isAlone = this.isPinned || this.bulk !== undefined || this.returns > 0
    return isAlone ? wholeThread : loadOf(this.record)
  }

  say(text: string): void {
    this.#tell(() => this.onLog?.(text))
  }

  reportProgress(fraction: number, text: string | undefined): void {
    this.#tell(() => this.onProgress?.(fraction, text))
  }

  start(): void {
    if (this.onStart !== undefined) this.#tell(this.onStart)
  }

  /** A listener that throws changes nothing here: it is the caller's own, and the caller is not on the stack. */
  #tell(listener: () => void): void {
    try {
      listener()
    } catch {
      // See above.
    }
  }

  follow(signal: AbortSignal, onAbort: (reason: unknown) => void): void {
    this.#followed = new AbortCallback(signal, onAbort)
  }

  unfollow(): void {
    this.#followed?.[Symbol.dispose]()
  }
}
