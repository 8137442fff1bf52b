import type { JobContext } from '../graph/job.ts'
import type { Due } from '../kernel/deadlines.ts'
import type { ListItem } from '../kernel/linked-list.ts'

/** How often an entry is tried, and how long one attempt may take. */
export interface AttemptLimits {
  /** How often a failed attempt is tried again. */
  readonly retries: number
  /** Milliseconds one attempt may take; queueing, back-off and suspension do not count. */
  readonly timeout: number
}

/** Something that is tried until it has an outcome: a node of a graph, a stage of a served job. */
export interface Attemptable {
  readonly name: string
  readonly limits: AttemptLimits
  /** The number of the current attempt, or of the next one. Counts from 0. Owned by the runner. */
  attempt: number
  /** The attempt that runs or is suspended. Owned by the runner. */
  current: Attempt<Attemptable> | undefined
}

/**
 * The context as the parts of Heddle see it that run jobs.
 * Not for jobs: a job must not be able to make itself unstoppable.
 */
export interface RunnerContext extends JobContext {
  /**
   * From here on neither a timeout nor a cancel ends the attempt, only its own promise does: for the
   * moment in which the outcome of finished work is recorded. False when it has been aborted already.
   */
  shield(): boolean
  /** The work waits for something that is not its own, such as a thread: its timeout stops. */
  queued(): void
  /** The work runs now: its timeout starts. */
  started(): void
  /**
   * Gives back the permits and stops the timeout until {@link resume}. False when the attempt is not
   * running or is being stopped.
   */
  suspend(): boolean
  /**
   * Waits for the permits again, before entries of the same rank that have not started.
   *
   * *Cancellation*: rejects with the reason when the attempt is aborted.
   */
  resume(): Promise<void>
}

/** What attempts ask of their runner. */
export interface AttemptControl {
  log(attempt: Attempt<Attemptable>, text: string): void
  progress(attempt: Attempt<Attemptable>, fraction: number, text: string | undefined): void
  stopTimeout(attempt: Attempt<Attemptable>): void
  startTimeout(attempt: Attempt<Attemptable>): void
  suspend(attempt: Attempt<Attemptable>): boolean
  resume(attempt: Attempt<Attemptable>): Promise<void>
}

/** What is kept of an attempt while it holds no permits. */
export interface Suspension {
  /** Milliseconds of its timeout that were left. */
  readonly timeLeft: number
  /** Set once it waits for its permits again. */
  waiter: PromiseWithResolvers<void> | undefined
}

/**
 * One try of one entry.
 *
 * It is context, list entry and deadline entry in one object: a run of a million short nodes then
 * allocates one object per attempt here, and an AbortController only for those who ask.
 */
export class Attempt<out T extends Attemptable>
  implements RunnerContext, ListItem<Attempt<Attemptable>>, Due
{
  readonly entry: T
  readonly attempt: number
  readonly #control: AttemptControl
  #controller: AbortController | undefined
  #reason: unknown
  #isAborted = false
  #isShielded = false
  /** Its own timeout has aborted it. An abort from outside may have a timeout as its reason, too. */
  isTimedOut = false
  /** Ended by something else than its own promise: what that promise does later is ignored. */
  isAbandoned = false
  suspension: Suspension | undefined
  // In the list of running attempts.
  list: object | undefined
  previous: Attempt<Attemptable> | undefined
  next: Attempt<Attemptable> | undefined
  /** The turn in which it began is over. */
  isPastFirstTurn = false
  /** Its deadline was set or stopped by hand, so the end of its first turn sets none. */
  isTimedByHand = false
  // In the deadlines, once it has outlived the turn in which it began.
  heapIndex = -1
  dueAt = 0

  constructor(entry: T, control: AttemptControl) {
    this.entry = entry
    this.attempt = entry.attempt
    this.#control = control
  }

  get name(): string {
    return this.entry.name
  }

  get cancelled(): boolean {
    return this.#isAborted
  }

  get isShielded(): boolean {
    return this.#isShielded
  }

  get reason(): unknown {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  // Both can be taken out of the context (`{ log }`), like functions. Getters, because two closures per
  // attempt would cost more than the rest of it.
  get log(): (text: string) => void {
    return (text) => this.#control.log(this, text)
  }

  get progress(): (fraction: number, text?: string) => void {
    return (fraction, text) => this.#control.progress(this, fraction, text)
  }

  shield(): boolean {
    this.#isShielded = !this.#isAborted
    return this.#isShielded
  }

  queued(): void {
    this.#control.stopTimeout(this)
  }

  started(): void {
    this.#control.startTimeout(this)
  }

  suspend(): boolean {
    return this.#control.suspend(this)
  }

  resume(): Promise<void> {
    return this.#control.resume(this)
  }

  /** The first reason stays: a job cancelled after its timeout has timed out. Listeners run now. */
  abort(reason: unknown): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
