import type { Transferable } from 'node:worker_threads'
import { followAbort, unfollowAbort, type AbortFollower } from '../kernel/abort.ts'
import type { Due } from '../kernel/deadlines.ts'
import type { ListItem } from '../kernel/linked-list.ts'
import { loadOf, wholeThread, type JobRecord } from './job-records.ts'
import type { Ticket } from './slots.ts'
import type { CarriedStreams } from './streams.ts'
import type { Thread } from './thread.ts'

class Follower implements AbortFollower {
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly onAbort: (reason: unknown) => void

  constructor(onAbort: (reason: unknown) => void) {
    this.onAbort = onAbort
  }
}

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

  /** Told what the job says. */
  onLog: ((text: string) => void) | undefined
  input: unknown
  transfer: readonly Transferable[] | undefined
  streams: CarriedStreams | undefined
  /** Milliseconds from the call, for the error. */
  deadline: number | undefined

  /** Where it is, when it was given to a thread. */
  thread: Thread | undefined
  ticket: Ticket = 0
  /** Its share of the thread's load, as it was when the thread got it. */
  load = 0
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

  #signal: AbortSignal | undefined
  #follower: Follower | undefined

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
    this.key = key
    this.name = name
    this.attempt = attempt
    this.resolve = resolve
    this.reject = reject
  }

  /** How errors call it. */
  get what(): string {
    return `Job "${this.name ?? this.record.name}"`
  }

  /** It can be sent once only, so it is sent when a thread is sure to start it. */
  get isPinned(): boolean {
    return this.transfer !== undefined || this.streams !== undefined
  }

  /** What it counts in a thread's load if it were given to one now. */
  currentLoad(): number {
    return this.isPinned || this.returns > 0 ? wholeThread : loadOf(this.record)
  }

  /** A listener that throws changes nothing here. */
  say(text: string): void {
    try {
      this.onLog?.(text)
    } catch {
      // It is the caller's own, and the caller is not on the stack.
    }
  }

  follow(signal: AbortSignal, onAbort: (reason: unknown) => void): void {
    this.#signal = signal
    this.#follower = new Follower(onAbort)
    followAbort(signal, this.#follower)
  }

  unfollow(): void {
    if (this.#signal !== undefined) unfollowAbort(this.#signal, this.#follower!)
  }
}
