/**
 * The waits of one attempt: steps that it waits for, sleeps, and waits for signals.
 *
 *   running ──the first wait begins──▶ suspended ──the last wait ends──▶ waits for permits ──▶ running
 *   a wait ──has lost a race (attendance.ts)──▶ left: the job continues without it ──listened to again──▶ a wait (G15)
 */
import { resumeAttempt, suspendAttempt } from '../attempts/attempt.ts'
import { reasonError } from '../errors.ts'
import type { Part } from '../scheduler/part.ts'
import type { Attendance } from './attendance.ts'
import type { AttemptContext } from './growth-host.ts'
import type { StepHost } from './step-host.ts'

/** A call of a step, while its promise has not settled. */
export interface Call {
  readonly attendance: Attendance
  wait?: Wait
}

export type Wait = {
  readonly call: Call
  readonly text: string
  /** Whether the job has continued without it: it has lost a race. It does not suspend the job then. */
  isLeft: boolean
  /** For a wait for a signal: while it is left, it takes none. */
  readonly leave?: () => void
  readonly rejoin?: () => void
  /** For programs, of a wait in which nothing of the job runs. */
  readonly waitsFor?: { readonly signal?: string; readonly until?: number }
  /** Set where the job waits for a step. Without it nothing of the job runs during this wait. */
  readonly step?: Part
  stop(reason: unknown): void
}

export class StepWaits {
  readonly #context: AttemptContext
  readonly #host: Pick<StepHost, 'growth' | 'clock' | 'endIdle'>
  readonly #waits = new Set<Wait>()
  #isWatching = false
  #isClosed = false

  constructor(context: AttemptContext, host: Pick<StepHost, 'growth' | 'clock' | 'endIdle'>) {
    this.#context = context
    this.#host = host
  }

  /** Whether the job waits for something. */
  get isWaiting(): boolean {
    for (const { isLeft } of this.#waits) if (!isLeft) return true
    return false
  }

  /** The steps among them. */
  get steps(): readonly Part[] {
    return [...this.#waits].flatMap(({ step }) => step ?? [])
  }

  /** For programs: the reason of the first wait during which nothing of the job runs. */
  get waitsFor(): Wait['waitsFor'] {
    return [...this.#waits].find(({ waitsFor }) => waitsFor !== undefined)?.waitsFor
  }

  describe(): string {
    const [first] = this.#waits
    if (first === undefined) return 'is suspended'
    const more = this.#waits.size - 1
    return more === 0 ? first.text : `${first.text} and ${more} more`
  }

  begin(wait: Wait): void {
    if (this.#waits.size === 0) this.#watchAbort()
    this.#waits.add(wait)
    wait.call.wait = wait
    if (!wait.isLeft) suspendAttempt(this.#context)
    if (this.#context.cancelled) wait.stop(this.reason())
  }

  /** Resolves when the job may continue: it has its permits, or waits for something else. */
  async end(wait: Wait): Promise<void> {
    this.#waits.delete(wait)
    delete wait.call.wait
    if (this.#isClosed) return
    if (this.isWaiting) return this.#onLessToWaitFor()
    await this.#takePermits()
  }

  /** G15: leaves waits that have lost a race, and takes the permits before the job continues. */
  leaveLosers(): Promise<void> | undefined {
    if (this.#isClosed || this.#waits.size === 0) return undefined
    let isChanged = false
    for (const wait of this.#waits) {
      if (wait.isLeft || wait.call.attendance.isAttended) continue
      wait.isLeft = true
      wait.leave?.()
      isChanged = true
    }
    return isChanged && !this.isWaiting ? this.#takePermits() : undefined
  }

  /** The job resumes a wait that it had left. */
  rejoin({ wait }: Call): void {
    if (wait === undefined || !wait.isLeft || this.#isClosed) return
    wait.isLeft = false
    suspendAttempt(this.#context)
    wait.rejoin?.()
  }

  /** The attempt has ended: waits that it has not awaited end too. */
  close(reason: unknown): void {
    this.#isClosed = true
    this.#stopAll(reason)
  }

  /** Why the attempt was aborted. */
  reason(): Error {
    return reasonError(this.#context.name, this.#context.signal.reason)
  }

  async #takePermits(): Promise<void> {
    await resumeAttempt(this.#context)
    // Another wait has begun meanwhile.
    if (this.isWaiting) suspendAttempt(this.#context)
  }

  /** The job may end now, or begin its next step, before the run checks whether it is idle. */
  #onLessToWaitFor(): void {
    if (this.#host.growth.refusal(this.#context) === undefined) return
    this.#host.clock.afterIo(() => this.#host.endIdle(this.#context))
  }

  /** When the attempt is aborted, so are its waits. */
  #watchAbort(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    const { signal } = this.#context
    signal.addEventListener('abort', () => this.#stopAll(this.reason()), { once: true })
  }

  #stopAll(reason: unknown): void {
    for (const wait of this.#waits) wait.stop(reason)
  }
}
