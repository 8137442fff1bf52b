import { randomUUID } from 'node:crypto'
import { HeddleError, reasonError } from '../errors.ts'
import { soon, type Clock } from '../kernel/clock.ts'
import { Deadlines, type Due } from '../kernel/deadlines.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { LinkedList } from '../kernel/linked-list.ts'
import { TurnBudget } from '../kernel/turn-budget.ts'
import {
  abortAttempt,
  keepSuspension,
  markAbandoned,
  markPastFirstTurn,
  markTimedByHand,
  markTimedOut,
  type Attempt,
  type AttemptControl,
  type Attemptable,
} from './attempt.ts'
import { backoff, isRetryable, requestedDelay } from './retry.ts'

/*
 * The attempt runner: the one place that takes permits, runs an entry, times each attempt, and tries again.
 * Graph runs and served jobs use it; it knows neither graphs nor requests.
 *
 * An entry:
 *
 *              ┌─────────── back-off over ─────────── retrying ◀──┐ failed, may be tried again
 *              ▼                                                  │
 *   enqueue ─▶ queued ─▶ running ─▶ settled ──────────────────────┤
 *                ▲        │  │  │                                 ├─▶ succeeded
 *                │        │  │  └─ abort, timeout ─▶ stopping ────┤
 *                │        │  │                          │         ├─▶ failed
 *                │     suspend                          │ grace   │
 *                │        ▼                             ▼         └─▶ cancelled
 *                └──── suspended                    abandoned: failed or cancelled without it
 *               resume
 *
 * `queued` holds no permit, `retrying` and `suspended` hold none either; `running` and `stopping` hold those
 * of the entry. An entry that is queued or retrying can be withdrawn, which ends it for the runner.
 *
 * Invariants, quoted by the tests:
 *  A1  Each entry that was enqueued and not withdrawn has exactly one end: onSucceeded, onFailed or
 *      onCancelled, called once.
 *  A2  At most one attempt of an entry is under way; the next one begins only when the last has settled
 *      or was abandoned, and an abandoned one is the last.
 *  A3  Permits are held from the pick to the end of the attempt, and not while it is suspended or its
 *      entry waits for its next attempt. They come back exactly once.
 *  A4  The timeout counts the time in which the attempt runs: not queueing, not waiting for its place, not
 *      back-off, not suspension. Each attempt has the whole of it. A job on the loop cannot stop it.
 *  A5  The abort decides: an aborted attempt ends as timed out or cancelled, whatever its promise does. The
 *      first reason stays.
 *  A6  An aborted attempt that does not settle within the grace is abandoned with HDL_UNRESPONSIVE (law 3).
 *  A7  A shielded attempt is ended by its own promise alone.
 *  A8  Nothing new starts while the host is closed: the check and the start are one step. A suspended
 *      attempt is not new: it continues.
 *  A9  An attempt that resumes continues before entries of its rank that have not started.
 *  A10 No uninterrupted stretch of starting is much longer than `sliceBudget`.
 *  A11 When nothing is queued, running or retrying, no timer is left after close() or releaseTimers().
 */

/** Where entries wait for their permits. Picking and taking the permits is one step. */
export interface WaitingRoom<T> {
  /** How many entries wait. */
  readonly size: number
  /** Whether it is worth calling pick(): false only when nothing could start. */
  readonly mayStart: boolean
  enqueue(entry: T): void
  /** Puts a resumed entry before those that have not started. */
  enqueueFirst(entry: T): void
  /** Takes an entry out without starting it. */
  remove(entry: T): void
  /** Takes the entry that starts next, with its permits. */
  pick(now: number): T | undefined
  /** Takes this entry, with its permits, if they are free. */
  tryPick(entry: T): boolean
  giveBack(entry: T): void
}

/** One step of an entry, for owners that pass the steps on. */
export type AttemptReport =
  | { readonly type: 'queued' | 'started' | 'suspended' | 'resumed'; readonly attempt: number }
  | { readonly type: 'log'; readonly attempt: number; readonly text: string }
  | {
      readonly type: 'progress'
      readonly attempt: number
      /** The progress from 0 to 1. */
      readonly fraction: number
      readonly text: string | undefined
    }
  | {
      readonly type: 'retrying'
      /** The number of the next attempt. */
      readonly attempt: number
      readonly error: unknown
      /** Milliseconds. */
      readonly delay: number
    }
  | {
      readonly type: 'ended'
      readonly attempt: number
      readonly how: 'succeeded' | 'failed' | 'cancelled'
      readonly error?: unknown
    }

/** What the runner asks of its owner, and reports to it. Reports are made on the loop, in order. */
export interface AttemptHost<T extends Attemptable, A extends Attempt<T>> {
  /** Whether entries may start. Running and suspended attempts do not ask. */
  readonly isOpen: boolean
  /** Whether {@link prepare} has something to do. */
  readonly hasPreparing: boolean
  /** Work in slices that goes before the next start. True when it is done. */
  prepare(): boolean
  /** Makes the attempt of an entry that starts now. */
  begin(entry: T, now: number): A
  /** Runs the job at its place. A thrown error counts as a rejection. */
  call(attempt: A): unknown
  /**
   * Whether the entry runs somewhere else than on the loop. Only then does the place say when it waits and when it
   * runs; a job on the loop has the same context and must not be able to stop its own timeout.
   */
  isElsewhere(entry: T): boolean
  /** Whether an entry that failed may be tried again, as far as the owner is concerned. */
  mayRetry(entry: T): boolean
  /** The error that its timeout ends an attempt with. */
  timeoutError(entry: T): HeddleError
  /** The timeout has aborted the attempt of this entry, which has not settled yet. */
  onTimedOut(entry: T, error: HeddleError): void
  onSucceeded(entry: T, value: unknown, now: number): void
  /** `isThrown`: the job threw it; otherwise the runner made it. */
  onFailed(entry: T, error: unknown, now: number, isThrown: boolean): void
  onCancelled(entry: T, reason: unknown, now: number): void
  /** `entry.attempt` is the number of the next attempt. */
  onRetrying(entry: T, error: unknown, delay: number, now: number): void
  /** The back-off is over; the owner enqueues the entry. */
  onBackoffOver(entry: T, now: number): void
  onSuspended(attempt: A, now: number): void
  onResumed(attempt: A, now: number): void
  /** Why an attempt that has made durable steps and returned has failed all the same. Nothing does when absent. */
  objectionTo?(attempt: A): Error | undefined
  /** What names the work of an attempt for other systems. One for each entry when absent. */
  identify?(attempt: A): string | undefined
  /** The trace that an attempt is a part of. None when absent. */
  traceOf?(attempt: A): string | undefined
  onLog(attempt: A, text: string): void
  onProgress(attempt: A, fraction: number, text: string | undefined): void
  /** Everything that can start now has started. */
  onIdle(): void
}

export interface AttemptRunnerOptions {
  readonly kernel: Kernel
  /** Milliseconds: attempt n waits uniform(0, min(retryBaseDelay * 2^n, 60 s)). */
  readonly retryBaseDelay: number
  /** Milliseconds an aborted attempt has to settle before it is abandoned. */
  readonly abortGrace: number
}

/** The defaults of graph runs, served jobs and workers alike, in milliseconds. */
export const attemptDefaults = {
  timeout: 600_000,
  retryBaseDelay: 1_000,
  abortGrace: 2_000,
} as const

/** An entry in back-off. */
class Backoff<T> implements Due {
  heapIndex = -1
  dueAt = 0
  readonly entry: T

  constructor(entry: T) {
    this.entry = entry
  }
}

export class AttemptRunner<T extends Attemptable, A extends Attempt<T>> implements AttemptControl {
  readonly #kernel: Kernel
  readonly #clock: Clock
  readonly #retryBaseDelay: number
  readonly abortGrace: number
  readonly #room: WaitingRoom<T>
  readonly #host: AttemptHost<T, A>
  readonly #turn: TurnBudget
  readonly #running = new LinkedList<Attempt<Attemptable>>()
  readonly #timeouts: Deadlines<A>
  readonly #backoffs: Deadlines<Backoff<T>>
  readonly #inBackoff = new Map<T, Backoff<T>>()
  /** Suspended attempts that wait for their permits again, in the order in which they resumed. */
  readonly #resuming = new Set<A>()
  /** Identities of entries whose owner has no name for their work. */
  readonly #identities = new WeakMap<Attemptable, string>()
  #suspended = 0
  #abandoned = 0
  #isPumping = false
  #isPumpPlanned = false

  constructor(room: WaitingRoom<T>, host: AttemptHost<T, A>, options: AttemptRunnerOptions) {
    this.#kernel = options.kernel
    this.#clock = options.kernel.clock
    this.#retryBaseDelay = options.retryBaseDelay
    this.abortGrace = options.abortGrace
    this.#room = room
    this.#host = host
    this.#turn = new TurnBudget(this.#clock, (wasSpent) => this.#endTurn(wasSpent))
    this.#timeouts = new Deadlines(this.#clock, (attempt) => this.#onDue(attempt))
    this.#backoffs = new Deadlines(this.#clock, (backingOff) => this.#onBackoffOver(backingOff))
  }

  // ── Looking at it ─────────────────────────────────────────────────────────────────────────────

  /** Attempts under way in the order of their start: running, stopping and suspended. */
  get attempts(): Iterable<A> {
    return this.#running as Iterable<unknown> as Iterable<A>
  }

  /** How many attempts hold permits. */
  get running(): number {
    return this.#running.size - this.#suspended
  }

  get suspended(): number {
    return this.#suspended
  }

  /** How many attempts did not settle within their grace. */
  get abandoned(): number {
    return this.#abandoned
  }

  get retrying(): number {
    return this.#inBackoff.size
  }

  /** When the back-off of an entry is over; undefined when it is in none. */
  retryAt(entry: T): number | undefined {
    return this.#inBackoff.get(entry)?.dueAt
  }

  /** The time. Reports of the host are dated with it, so that no report is dated before an earlier one. */
  now(): number {
    return this.#turn.now()
  }

  /** Whether this turn of the loop has used up its time: shared by starting and the host's own slices. */
  isTurnOver(now: number): boolean {
    return this.#turn.isOver(now)
  }

  // ── Starting ──────────────────────────────────────────────────────────────────────────────────

  /** Starts everything that can start now. */
  pump(): void {
    if (this.#isPumping || this.#turn.isSpent) return
    this.#isPumping = true
    try {
      // A job that throws before its first await ends its entry right here and may add to the host's work.
      while (this.#host.prepare()) {
        const now = this.#turn.about()
        const entry = this.#next(now)
        if (entry === undefined) break
        // oxlint-disable-next-line typescript/no-floating-promises -- it never rejects: what a job throws is its outcome, and the host keeps the attempt in its list
        void this.#occupy(entry, now)
      }
    } finally {
      this.#isPumping = false
    }
    this.#host.onIdle()
  }

  /** For calls from outside: jobs are not started from within them. */
  pumpSoon(): void {
    if (this.#isPumpPlanned) return
    this.#isPumpPlanned = true
    soon(this.#pumpPlan)
  }

  readonly #pumpPlan = (): void => {
    this.#isPumpPlanned = false
    this.pump()
  }

  // The common path of each attempt is kept short, and rare cases are in functions of their own: V8 inlines
  // functions up to a number of bytes.

  #next(now: number): T | undefined {
    if (this.#turn.isSpent) return undefined
    if (this.#resuming.size > 0) return this.#nextBesideResumed(now)
    if (!this.#host.isOpen || this.#room.size === 0 || this.#turn.isOver(now)) return undefined
    return this.#room.pick(now)
  }

  /** Lets attempts continue that are resumed, each when its turn comes. */
  #nextBesideResumed(now: number): T | undefined {
    if (!this.#host.isOpen) this.#continueAll(now)
    for (;;) {
      if (!this.#host.isOpen || this.#room.size === 0 || this.#turn.isOver(now)) return undefined
      const entry = this.#room.pick(now)
      if (entry?.current === undefined) return entry
      this.#continue(entry.current as A, now)
    }
  }

  #endTurn(wasSpent: boolean): void {
    this.#armTimeouts()
    if (wasSpent) this.pump()
  }

  /**
   * Attempts get their deadline when they outlive the turn in which they began: most short ones never
   * see the heap. The list of running attempts is in order of their start, so the new ones are last. A
   * turn is short enough to count as one moment.
   */
  #armTimeouts(): void {
    for (let last = this.#running.last; last?.isPastFirstTurn === false; last = last.previous) {
      markPastFirstTurn(last)
      const { timeout } = last.entry.limits
      // A shielded one has no deadline any more.
      if (timeout !== Infinity && !last.isTimedByHand && !last.isShielded) {
        this.#timeouts.set(last as A, this.#turn.startedAt + timeout)
      }
    }
  }

  /**
   * A chain of permits: runs one entry after the other until nothing can start. One async function for
   * each chain instead of one for each attempt saves two allocations and a microtask for each.
   */
  async #occupy(first: T, startedAt: number): Promise<void> {
    const host = this.#host
    let now = startedAt
    for (let entry: T | undefined = first; entry !== undefined; entry = this.#next(now)) {
      const attempt = host.begin(entry, now)
      entry.current = attempt
      this.#running.push(attempt)
      let threw = false
      let outcome: unknown
      try {
        const pending = host.call(attempt)
        if (this.#room.mayStart) this.pump()
        outcome = await pending
      } catch (error) {
        threw = true
        outcome = error
      }
      if (attempt.isAbandoned) return
      now = this.#turn.about()
      if (attempt.isSpecial) this.#endSpecial(attempt, threw, outcome, now)
      else this.#end(attempt, threw, outcome, now)
      if (host.hasPreparing) this.pump()
    }
    this.pump()
  }

  // ── Ending ────────────────────────────────────────────────────────────────────────────────────

  #end(attempt: A, threw: boolean, outcome: unknown, now: number): void {
    const { entry } = attempt
    this.#leave(attempt)
    this.#room.giveBack(entry)
    if (threw) this.#failOrRetry(entry, outcome, now, true)
    else this.#host.onSucceeded(entry, outcome, now)
  }

  /** A5: ends an attempt that was aborted, is suspended, or has made durable steps. */
  #endSpecial(attempt: A, threw: boolean, outcome: unknown, now: number): void {
    // A6: a place that gives up when the grace is over may do so before the runner's own timer.
    if (attempt.cancelled && now > attempt.dueAt!) return this.#abandon(attempt)
    const { entry } = attempt
    const objection = threw || attempt.cancelled ? undefined : this.#host.objectionTo?.(attempt)
    this.#leaveSpecial(attempt)
    if (attempt.isTimedOut) this.#failOrRetry(entry, attempt.reason, now, false)
    else if (attempt.cancelled) this.#host.onCancelled(entry, attempt.reason, now)
    else if (threw) this.#failOrRetry(entry, outcome, now, true)
    else if (objection !== undefined) this.#failOrRetry(entry, objection, now, false)
    else this.#host.onSucceeded(entry, outcome, now)
  }

  #leave(attempt: A): void {
    this.#running.remove(attempt)
    if (attempt.heapIndex >= 0) this.#timeouts.delete(attempt)
    attempt.entry.current = undefined
  }

  /** A3: an attempt that is suspended holds nothing. */
  #leaveSpecial(attempt: A): void {
    this.#leave(attempt)
    if (attempt.suspension === undefined) this.#room.giveBack(attempt.entry)
    else this.#endSuspension(attempt)
  }

  #failOrRetry(entry: T, error: unknown, now: number, isThrown: boolean): void {
    const mayRetry =
      entry.attempt < entry.limits.retries && this.#host.mayRetry(entry) && isRetryable(error)
    if (!mayRetry) return this.#host.onFailed(entry, error, now, isThrown)
    const delay =
      requestedDelay(error) ??
      backoff(
        entry.attempt,
        entry.limits.retryBaseDelay ?? this.#retryBaseDelay,
        this.#kernel.random,
      )
    entry.attempt++
    const backingOff = new Backoff(entry)
    this.#inBackoff.set(entry, backingOff)
    this.#backoffs.set(backingOff, now + delay)
    this.#host.onRetrying(entry, error, delay, now)
  }

  #onBackoffOver({ entry }: Backoff<T>): void {
    this.#inBackoff.delete(entry)
    this.#host.onBackoffOver(entry, this.now())
    this.pump()
  }

  // ── Stopping ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Ends the back-off of an entry, which is then not tried again. False when it is in none.
   */
  withdrawBackoff(entry: T): boolean {
    const backingOff = this.#inBackoff.get(entry)
    if (backingOff === undefined) return false
    this.#inBackoff.delete(entry)
    this.#backoffs.delete(backingOff)
    return true
  }

  /** Stops an attempt from outside. False when it is being stopped already, is shielded or has ended. */
  abort(attempt: A, reason: unknown): boolean {
    if (attempt.cancelled || attempt.isShielded || attempt.list === undefined) return false
    // Before abort(): its listeners are user code and may end the attempt on the spot.
    this.#timeouts.set(attempt, this.#clock.now() + this.abortGrace)
    markTimedByHand(attempt)
    abortAttempt(attempt, reason)
    this.#rejectResuming(attempt, reason)
    return true
  }

  /** First the timeout, then, once aborted, the time it had to settle. */
  #onDue(attempt: A): void {
    if (attempt.cancelled) return this.#abandon(attempt)
    if (attempt.isShielded) return
    markTimedOut(attempt)
    const error = this.#host.timeoutError(attempt.entry)
    this.abort(attempt, error)
    this.#host.onTimedOut(attempt.entry, error)
  }

  /** A6: the job does not react to its signal, so its entry ends without it. */
  #abandon(attempt: A): void {
    const { entry, reason } = attempt
    const now = this.now()
    markAbandoned(attempt)
    this.#abandoned++
    this.#leaveSpecial(attempt)
    const error = new HeddleError(
      'HDL_UNRESPONSIVE',
      { what: `"${entry.name}"`, grace: this.abortGrace },
      { cause: reason },
    )
    if (attempt.isTimedOut) this.#host.onFailed(entry, error, now, false)
    else this.#host.onCancelled(entry, error, now)
    this.pump()
  }

  /** Drops all timers: nothing is running or retrying any more. */
  close(): void {
    this.#timeouts.close()
    this.#backoffs.close()
  }

  /** Stops the timers that nothing waits for, so that the process may end. */
  releaseTimers(): void {
    this.#timeouts.releaseTimer()
    this.#backoffs.releaseTimer()
  }

  // ── What attempts ask for ─────────────────────────────────────────────────────────────────────

  stepsOf({ name: node }: Attempt<Attemptable>, step: string): never {
    throw new HeddleError('HDL_NO_STEPS', { node, step })
  }

  artifact({ name: node }: Attempt<Attemptable>, artifact: string): Promise<never> {
    return Promise.reject(new HeddleError('HDL_NO_ARTIFACTS', { node, artifact }))
  }

  identify(attempt: Attempt<Attemptable>): string {
    const named = this.#host.identify?.(attempt as A)
    if (named !== undefined) return named
    let key = this.#identities.get(attempt.entry)
    if (key === undefined) this.#identities.set(attempt.entry, (key = randomUUID()))
    return key
  }

  traceOf(attempt: Attempt<Attemptable>): string | undefined {
    return this.#host.traceOf?.(attempt as A)
  }

  log(attempt: Attempt<Attemptable>, text: string): void {
    this.#host.onLog(attempt as A, text)
  }

  progress(attempt: Attempt<Attemptable>, fraction: number, text: string | undefined): void {
    if (attempt.list === undefined) return
    this.#host.onProgress(attempt as A, fraction > 0 ? Math.min(fraction, 1) : 0, text)
  }

  stopTimeout(attempt: Attempt<Attemptable>): void {
    if (this.#host.isElsewhere(attempt.entry as T)) this.#stopTimeout(attempt)
  }

  #stopTimeout(attempt: Attempt<Attemptable>): void {
    markTimedByHand(attempt)
    if (!attempt.cancelled) this.#timeouts.delete(attempt as A)
  }

  startTimeout(attempt: Attempt<Attemptable>): void {
    if (!this.#host.isElsewhere(attempt.entry as T)) return
    const { timeout } = attempt.entry.limits
    markTimedByHand(attempt)
    if (timeout === Infinity || attempt.list === undefined || attempt.cancelled) return
    this.#timeouts.set(attempt as A, this.#clock.now() + timeout)
  }

  suspend(attempt: Attempt<Attemptable>): boolean {
    if (attempt.list === undefined || attempt.suspension !== undefined) return false
    if (attempt.cancelled || attempt.isShielded) return false
    const now = this.now()
    const { timeout } = attempt.entry.limits
    // The deadline is not armed yet: the attempt began in this turn.
    const timeLeft = attempt.heapIndex >= 0 ? attempt.dueAt! - now : timeout
    this.#stopTimeout(attempt)
    keepSuspension(attempt, { timeLeft, waiter: undefined })
    this.#suspended++
    this.#room.giveBack(attempt.entry as T)
    this.#host.onSuspended(attempt as A, now)
    this.pumpSoon()
    return true
  }

  resume(attempt: Attempt<Attemptable>): Promise<void> {
    const { suspension } = attempt
    if (suspension === undefined) return Promise.resolve()
    if (attempt.cancelled) return Promise.reject(reasonError(attempt.name, attempt.reason))
    if (suspension.waiter === undefined) {
      suspension.waiter = Promise.withResolvers()
      // A job may have stopped waiting for it: that it was refused is then no one's error.
      suspension.waiter.promise.catch(() => undefined)
      this.#resuming.add(attempt as A)
      this.#room.enqueueFirst(attempt.entry as T)
      this.pumpSoon()
    }
    return suspension.waiter.promise
  }

  /** A8: while the host is closed, suspended entries still continue. */
  #continueAll(now: number): void {
    for (const attempt of this.#resuming) {
      if (this.#room.tryPick(attempt.entry)) this.#continue(attempt, now)
    }
  }

  /** Continues an attempt that has its permits again. */
  #continue(attempt: A, now: number): void {
    const { timeLeft, waiter } = attempt.suspension!
    keepSuspension(attempt, undefined)
    this.#suspended--
    this.#resuming.delete(attempt)
    if (timeLeft !== Infinity) this.#timeouts.set(attempt, now + timeLeft)
    this.#host.onResumed(attempt, now)
    waiter!.resolve()
  }

  #endSuspension(attempt: A): void {
    this.#rejectResuming(attempt, new Error(`${attempt.name} has ended`))
    keepSuspension(attempt, undefined)
    this.#suspended--
  }

  #rejectResuming(attempt: A, reason: unknown): void {
    if (!this.#resuming.delete(attempt)) return
    this.#room.remove(attempt.entry)
    attempt.suspension!.waiter!.reject(reasonError(attempt.name, reason))
  }
}
