import type { ArtifactContent, ArtifactInfo } from '../artifacts/artifact-store.ts'
import type { JobContext, LoopContext } from '../graph/job.ts'
import type { Due } from '../kernel/deadlines.ts'
import type { ListItem } from '../kernel/linked-list.ts'
import { progressText, toText } from '../kernel/to-text.ts'

/** How often an entry is tried, and how long one attempt may take. */
export interface AttemptLimits {
  /** How often a failed attempt is tried again. */
  readonly retries: number
  /** Milliseconds of the first back-off, where it is not that of the run. */
  readonly retryBaseDelay?: number
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
  /** Milliseconds it has to settle once its signal has aborted. Then it is abandoned. */
  readonly grace: number
  /** The work waits for something that is not its own, such as a thread: its timeout stops. `why` is asked by explain(). */
  queued(why?: () => string): void
  /** The work runs now: its timeout starts. */
  started(): void
}

/** The durable waits of a loop job: they are found again after a restart. */
export type DurableSteps = Pick<LoopContext, 'run' | 'sleep' | 'waitFor'>

/** The steps of one attempt. */
export interface AttemptSteps extends DurableSteps {
  /** The job has returned. Why it has failed all the same, if it has. */
  onReturned(): Error | undefined
}

/** What attempts ask of their runner. */
export interface AttemptControl {
  /** Milliseconds an aborted attempt has to settle before it is abandoned. */
  readonly abortGrace: number
  log(attempt: Attempt<Attemptable>, text: string): void
  /** @throws `HDL_NO_STEPS` where there are none. */
  stepsOf(attempt: Attempt<Attemptable>, step: string): DurableSteps
  /** What names its work for other systems. */
  identify(attempt: Attempt<Attemptable>): string
  /** The trace that it is a part of. */
  traceOf(attempt: Attempt<Attemptable>): string | undefined
  progress(attempt: Attempt<Attemptable>, fraction: number, text: string | undefined): void
  /** Rejects with `HDL_NO_ARTIFACTS` where nothing keeps them. */
  artifact(
    attempt: Attempt<Attemptable>,
    name: string,
    content: ArtifactContent,
  ): Promise<ArtifactInfo>
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

/** The state of the few attempts that are stopped, suspended or asked for their signal. */
interface Rare {
  controller: AbortController | undefined
  reason: unknown
  suspension: Suspension | undefined
  waitsFor: (() => string) | undefined
  redact: ((text: string) => string) | undefined
}

// What has happened to an attempt, as bits of one number: a field for each would cost 48 bytes and 12 stores.
/** The signal of the attempt has aborted. */
const aborted = 1
/** Only its own promise ends it. */
const shielded = 2
/** Its own timeout has aborted it. An abort from outside may have a timeout as its reason, too. */
const timedOut = 4
/** Ended by something else than its own promise: what that promise does later is ignored. */
const abandoned = 8
/** The turn in which it began is over. */
const pastFirstTurn = 16
/** Its deadline was set or stopped explicitly, so the end of its first turn sets none. */
const timedByHand = 32
/** The attempt holds no permits for now. */
const suspended = 64
/** The attempt has made durable steps, which are checked when it returns. */
const stepped = 128

// The following are functions and not methods: jobs get the attempt as their context, and must not be able to make
// themselves unstoppable, not even by a cast.

/** The runner of an attempt, in the attempt. A symbol: private names cost more to make than all other fields together. */
export const control: unique symbol = Symbol('control')

let addFlag: (attempt: Attempt<Attemptable>, flag: number) => void
let setSuspension: (attempt: Attempt<Attemptable>, suspension: Suspension | undefined) => void
let abort: (attempt: Attempt<Attemptable>, reason: unknown) => void
let setRedaction: (attempt: Attempt<Attemptable>, redact: (text: string) => string) => void

/**
 * From here on neither a timeout nor a cancel ends the attempt, only its own promise does: for the moment in
 * which the outcome of finished work is recorded. False when it has been aborted already.
 */
export function shield(context: RunnerContext): boolean {
  const attempt = context as Attempt<Attemptable>
  if (attempt.cancelled) return false
  addFlag(attempt, shielded)
  return true
}

/**
 * Gives back the permits and stops the timeout until {@link resumeAttempt}. False when the attempt is not running or is
 * being stopped.
 */
export function suspendAttempt(context: RunnerContext): boolean {
  const attempt = context as Attempt<Attemptable>
  return attempt[control].suspend(attempt)
}

/**
 * Waits for the permits again, before entries of the same rank that have not started.
 *
 * *Cancellation*: rejects with the reason when the attempt is aborted.
 */
export function resumeAttempt(context: RunnerContext): Promise<void> {
  const attempt = context as Attempt<Attemptable>
  return attempt[control].resume(attempt)
}

/** The first reason stays: a job cancelled after its timeout has timed out. Listeners run now. */
export function abortAttempt(attempt: Attempt<Attemptable>, reason: unknown): void {
  abort(attempt, reason)
}

/** From here on, logs and reports of the attempt go through `redact`. */
export function redactTexts(context: RunnerContext, redact: (text: string) => string): void {
  setRedaction(context as Attempt<Attemptable>, redact)
}

export function markTimedOut(attempt: Attempt<Attemptable>): void {
  addFlag(attempt, timedOut)
}

export function markAbandoned(attempt: Attempt<Attemptable>): void {
  addFlag(attempt, abandoned)
}

export function markPastFirstTurn(attempt: Attempt<Attemptable>): void {
  addFlag(attempt, pastFirstTurn)
}

export function markStepped(attempt: Attempt<Attemptable>): void {
  addFlag(attempt, stepped)
}

export function markTimedByHand(attempt: Attempt<Attemptable>): void {
  addFlag(attempt, timedByHand)
}

export function keepSuspension(
  attempt: Attempt<Attemptable>,
  suspension: Suspension | undefined,
): void {
  setSuspension(attempt, suspension)
}

/** Bits with which an attempt does not end as its promise says. */
const special = aborted | abandoned | suspended | stepped

/**
 * One try of one entry.
 *
 * It is context, list entry and deadline entry in one object: a run of a million short nodes then
 * allocates one object of ten fields per attempt here, and an AbortController only when the signal is used.
 */
export class Attempt<out T extends Attemptable>
  implements RunnerContext, ListItem<Attempt<Attemptable>>, Due
{
  readonly entry: T
  readonly attempt: number
  readonly [control]: AttemptControl
  #rare: Rare | undefined
  #flags = 0
  // The links in the list of running attempts.
  list: object | undefined
  previous: Attempt<Attemptable> | undefined
  next: Attempt<Attemptable> | undefined
  // In the deadlines, once it has outlived the turn in which it began.
  heapIndex = -1
  dueAt: number | undefined

  static {
    addFlag = (attempt, flag) => {
      attempt.#flags |= flag
    }
    setSuspension = (attempt, suspension) => {
      attempt.#made.suspension = suspension
      if (suspension === undefined) attempt.#flags &= ~suspended
      else attempt.#flags |= suspended
    }
    setRedaction = (attempt, redact) => {
      attempt.#made.redact = redact
    }
    abort = (attempt, reason) => {
      if (attempt.cancelled) return
      attempt.#flags |= aborted
      const rare = attempt.#made
      rare.reason = reason
      rare.controller?.abort(reason)
    }
  }

  constructor(entry: T, runner: AttemptControl) {
    this.entry = entry
    this.attempt = entry.attempt
    this[control] = runner
  }

  get name(): string {
    return this.entry.name
  }

  get cancelled(): boolean {
    return (this.#flags & aborted) !== 0
  }

  get isShielded(): boolean {
    return (this.#flags & shielded) !== 0
  }

  get isTimedOut(): boolean {
    return (this.#flags & timedOut) !== 0
  }

  get isAbandoned(): boolean {
    return (this.#flags & abandoned) !== 0
  }

  get isPastFirstTurn(): boolean {
    return (this.#flags & pastFirstTurn) !== 0
  }

  get isTimedByHand(): boolean {
    return (this.#flags & timedByHand) !== 0
  }

  /** Whether it ends otherwise than its promise says. */
  get isSpecial(): boolean {
    return (this.#flags & special) !== 0
  }

  get reason(): unknown {
    return this.#rare?.reason
  }

  /** Why its place has not started it, where the place says so. */
  get waitsFor(): (() => string) | undefined {
    return this.#rare?.waitsFor
  }

  get suspension(): Suspension | undefined {
    return this.#rare?.suspension
  }

  get signal(): AbortSignal {
    const rare = this.#made
    if (rare.controller === undefined) {
      rare.controller = new AbortController()
      if (this.cancelled) rare.controller.abort(rare.reason)
    }
    return rare.controller.signal
  }

  // Both can be taken out of the context (`{ log }`), like functions. Getters, because two closures per
  // attempt would cost more than the rest of it.
  get log(): (text: unknown) => void {
    return (text) => this[control].log(this, this.#textOf(text))
  }

  get progress(): (fraction: number, text?: string) => void {
    return (fraction, text) =>
      this[control].progress(
        this,
        fraction,
        // Cut afterwards: half of a secret is not found.
        text === undefined ? undefined : progressText(this.#textOf(text)),
      )
  }

  get artifact(): JobContext['artifact'] {
    return (name, content) => this[control].artifact(this, name, content)
  }

  get run(): DurableSteps['run'] {
    return this[control].stepsOf(this, 'run').run
  }

  get sleep(): DurableSteps['sleep'] {
    return this[control].stepsOf(this, 'sleep').sleep
  }

  get waitFor(): DurableSteps['waitFor'] {
    return this[control].stepsOf(this, 'waitFor').waitFor
  }

  get idempotencyKey(): string {
    return this[control].identify(this)
  }

  get traceparent(): string | undefined {
    return this[control].traceOf(this)
  }

  get grace(): number {
    return this[control].abortGrace
  }

  queued(why?: () => string): void {
    if (why !== undefined || this.#rare !== undefined) this.#made.waitsFor = why
    this[control].stopTimeout(this)
  }

  started(): void {
    if (this.#rare !== undefined) this.#rare.waitsFor = undefined
    this[control].startTimeout(this)
  }

  #textOf(value: unknown): string {
    const text = toText(value)
    return this.#rare?.redact?.(text) ?? text
  }

  get #made(): Rare {
    return (this.#rare ??= {
      controller: undefined,
      reason: undefined,
      suspension: undefined,
      waitsFor: undefined,
      redact: undefined,
    })
  }
}
