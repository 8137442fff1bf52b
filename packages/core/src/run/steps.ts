/**
 * Durable steps of one attempt: what `ctx.run`, `ctx.sleep` and `ctx.waitFor` do (docs/design/growing.md).
 *
 *   call ──recorded as succeeded──▶ its value          running ──first wait begins──▶ suspended
 *     └── not recorded ──▶ a wait ──▶ its end          suspended ──last wait ends──▶ waits for permits ──▶ running
 *
 * The attempt is suspended while at least one wait is under way (G4): were it to take its permits again when the first of
 * several steps has ended, it could hold the one that another step of it needs.
 */
import { resumeAttempt, suspendAttempt } from '../attempts/attempt.ts'
import { HeddleError, reasonError } from '../errors.ts'
import { final } from '../attempts/retry.ts'
import type { Job, LoopContext, SignalOptions, StepOptions } from '../graph/job.ts'
import { checkDuration, checkName, checkOptions } from '../kernel/check.ts'
import type { Due } from '../kernel/deadlines.ts'
import { isoTime } from '../kernel/iso-time.ts'
import { findPlace } from '../places/find-place.ts'
import type { PartDetail } from '../journal/journal.ts'
import { Part, type PartEnd } from '../scheduler/part.ts'
import { fromErrorRecord } from './error-record.ts'
import { fingerprintOf } from './fingerprint.ts'
import { beginPart, type AttemptContext, type GrowthHost } from './growth-host.ts'
import { answerOf, placement, runJob } from './placed.ts'
import type { Signals } from './signals.ts'
import type { PastStep, RememberedSteps, StepPast } from './step-past.ts'

/** What the steps of all attempts of a run share. */
export interface StepHost extends GrowthHost {
  readonly signals: Signals
  /** Wakes sleeps: one timer for all of them (G11). */
  wakeAt(item: Wake, milliseconds: number): void
  forgetWake(item: Wake): void
}

/** A sleep, or the deadline of a wait. */
export interface Wake extends Due {
  onWake(): void
}

/** What of the run is known to one attempt. */
export interface StepSource {
  readonly past: StepPast | undefined
  /** Where steps are kept for later attempts, when the journal does not. */
  readonly memory: RememberedSteps | undefined
}

type Wait = { readonly text: string; readonly isIdle: boolean; stop(reason: unknown): void }

export class Steps implements Pick<LoopContext, 'run' | 'sleep' | 'waitFor'> {
  readonly #context: AttemptContext
  readonly #host: StepHost
  readonly #source: StepSource
  /** The node, and what paths of its steps begin with. */
  readonly #node: string
  readonly #prefix: string
  readonly #counts = new Map<string, number>()
  readonly #keys = new Set<string>()
  readonly #waits = new Set<Wait>()
  #isClosed = false

  readonly #onClosed: () => void

  constructor(context: AttemptContext, host: StepHost, source: StepSource, onClosed: () => void) {
    this.#onClosed = onClosed
    this.#context = context
    this.#host = host
    this.#source = source
    const { entry } = context
    this.#node = entry instanceof Part ? entry.root.name : entry.name
    this.#prefix = entry instanceof Part ? `${entry.options.path}/` : ''
    host.growth.describe(context, () => this.#describe())
    host.growth.onAttemptEnd(context, () => this.#close())
  }

  readonly run = async <I, O>(
    job: Job<I, O>,
    ...[input, options = {}]: [input?: I, options?: StepOptions]
  ): Promise<O> => {
    this.#checkOpen('run')
    checkOptions(options, { key: 1 }, 'step')
    if (typeof job?.run !== 'function') {
      const expected = 'a job: job({ name }, function)'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'job', value: job, expected })
    }
    const path = this.#pathOf(job.name, options.key)
    const mark = fingerprintOf(input, this.#host.clock)
    const inputMark = typeof mark === 'string' ? mark : await mark
    const part: PartDetail = { path, job: job.name, input: inputMark }
    const past = await this.#find(path)
    if (past !== undefined) this.#checkSame(path, past, part)
    if (past?.state === 'succeeded') return past.value as O
    if (past?.state === 'failed') throw this.#standingFailure(past)
    const end = await this.#runPart(job as Job, input, part, past?.interruptions ?? 0)
    if (end.state === 'succeeded') {
      this.#source.memory?.add(path, { ...part, state: 'succeeded', value: end.value })
      return end.value as O
    }
    throw end.error
  }

  readonly sleep = async (milliseconds: number): Promise<void> => {
    this.#checkOpen('sleep')
    checkDuration('milliseconds', milliseconds)
    const path = this.#numbered('sleep')
    const past = await this.#find(path)
    if (past?.state === 'succeeded') return
    const until = past?.until ?? this.#host.clock.wallTime() + milliseconds
    if (past === undefined) this.#note('suspended', { path, until })
    const text = `sleeps until ${isoTime(until).replace('T', ' ').slice(0, 19)}`
    await this.#idle(text, (finish) => {
      const wake: Wake = { heapIndex: -1, dueAt: undefined, onWake: () => finish(undefined) }
      this.#host.wakeAt(wake, Math.max(0, until - this.#host.clock.wallTime()))
      return () => this.#host.forgetWake(wake)
    })
    this.#note('succeeded', { path })
    this.#source.memory?.add(path, { state: 'succeeded' })
  }

  readonly waitFor = async <T>(signal: string, options: SignalOptions = {}): Promise<T> => {
    this.#checkOpen('waitFor')
    checkName('signal', signal)
    checkOptions(options, { deadline: 1 }, 'wait')
    const { deadline = Infinity } = options
    checkDuration('deadline', deadline)
    const path = this.#numbered(`wait:${encodeURIComponent(signal)}`)
    const past = await this.#find(path)
    if (past?.state === 'succeeded') return past.value as T
    if (past?.state === 'failed') throw this.#standingFailure(past)
    const { clock } = this.#host
    const limit = deadline === Infinity ? undefined : clock.wallTime() + deadline
    const until = past === undefined ? limit : past.until
    if (past === undefined) {
      this.#note('suspended', { path, ...(until !== undefined && { until }) })
    }
    return (await this.#waitForSignal(signal, path, until, deadline)) as T
  }

  /** G9: the row and the removal of the signal are written together. */
  async #waitForSignal(
    name: string,
    path: string,
    until: number | undefined,
    limit: number,
  ): Promise<unknown> {
    const { signals, clock } = this.#host
    const kept = signals.takeKept(name)
    const taken =
      kept === undefined
        ? await this.#idle<Promise<unknown> | undefined>(
            `waits for the signal "${name}"`,
            (finish) => {
              const onSignal: Parameters<Signals['wait']>[1] = (signal) =>
                finish(this.#takeSignal(path, signal))
              signals.wait(name, onSignal)
              if (until === undefined) return () => signals.forget(name, onSignal)
              const wake: Wake = {
                heapIndex: -1,
                dueAt: undefined,
                onWake: () => finish(undefined),
              }
              this.#host.wakeAt(wake, Math.max(0, until - clock.wallTime()))
              return () => {
                signals.forget(name, onSignal)
                this.#host.forgetWake(wake)
              }
            },
          )
        : { value: this.#takeSignal(path, kept) }
    if (taken.value !== undefined) return taken.value
    const error = new HeddleError('HDL_TIMEOUT', { what: `The signal "${name}"`, limit })
    this.#note('failed', { path }, error)
    throw error
  }

  async #takeSignal(
    path: string,
    { value, take }: { readonly value: unknown; readonly take: () => void },
  ): Promise<unknown> {
    take()
    await this.#host.session?.recorder.partSucceeded(
      this.#node,
      this.#context.attempt,
      { path },
      value,
    )
    this.#source.memory?.add(path, { state: 'succeeded', value })
    return value
  }

  async #runPart(
    job: Job,
    input: unknown,
    part: PartDetail,
    interruptions: number,
  ): Promise<PartEnd> {
    const { growth, places } = this.#host
    const place = findPlace(this.#node, job.place, places)
    const needs = job.needs === undefined ? undefined : answerOf(job.needs, input)
    const { promise, resolve } = Promise.withResolvers<PartEnd>()
    const { retries, retryBaseDelay, timeout, priority } = job
    const step = growth.startPart(this.#context, {
      path: part.path,
      needs,
      ...placement(place, job),
      retries,
      retryBaseDelay,
      timeout,
      priority,
      drains: true,
      call: (attempt) => {
        const call = (): unknown => runJob(job, input, place, attempt)
        const outcome = beginPart(this.#host, attempt, interruptions, call)
        return this.#host.record(attempt, outcome, this.#node, part)
      },
      onEnd: resolve,
    })
    const text = `waits for the step "${part.path}"`
    const wait: Wait = { text, isIdle: false, stop: (reason) => growth.stopPart(step, reason) }
    this.#begin(wait)
    const end = await promise
    await this.#end(wait)
    return end
  }

  /** A wait in which nothing of the job runs anywhere. */
  async #idle<T>(
    text: string,
    start: (finish: (value: T) => void) => () => void,
  ): Promise<{ readonly value: T }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly value: T }>()
    const refusal = this.#host.growth.refusal(this.#context)
    const stop = start((value) => resolve({ value }))
    const wait: Wait = { text, isIdle: true, stop: reject }
    this.#begin(wait)
    // A run that is being cancelled does not wait for a sleep.
    if (refusal !== undefined) this.#host.growth.cancelNode(this.#context, refusal)
    try {
      return await promise
    } finally {
      stop()
      await this.#end(wait)
    }
  }

  /** The run begins to drain: a job that only sleeps or waits for signals ends now. */
  onDrain(): void {
    const isIdle = [...this.#waits].every((wait) => wait.isIdle)
    const refusal = this.#host.growth.refusal(this.#context)
    if (this.#waits.size === 0 || !isIdle || refusal === undefined) return
    this.#host.growth.cancelNode(this.#context, refusal)
  }

  #begin(wait: Wait): void {
    if (this.#waits.size === 0) this.#watch()
    this.#waits.add(wait)
    suspendAttempt(this.#context)
    if (this.#context.cancelled) wait.stop(this.#reason())
  }

  async #end(wait: Wait): Promise<void> {
    this.#waits.delete(wait)
    if (this.#waits.size > 0 || this.#isClosed) return
    await resumeAttempt(this.#context)
    // Another one has begun meanwhile.
    if (this.#waits.size > 0) suspendAttempt(this.#context)
  }

  #isWatching = false

  /** When the attempt is aborted, so are its waits. */
  #watch(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    const { signal } = this.#context
    signal.addEventListener('abort', () => this.#stopAll(this.#reason()), { once: true })
  }

  #reason(): Error {
    return reasonError(this.#context.name, this.#context.signal.reason)
  }

  #stopAll(reason: unknown): void {
    for (const wait of this.#waits) wait.stop(reason)
  }

  /** The attempt has ended: what it has not waited for ends too. */
  #close(): void {
    this.#isClosed = true
    this.#onClosed()
    this.#source.memory?.dropFailures()
    const node = this.#context.name
    this.#stopAll(new HeddleError('HDL_NO_STEPS', { node, step: 'run' }))
  }

  #find(path: string): PastStep | undefined | Promise<PastStep | undefined> {
    return this.#source.memory?.find(path) ?? this.#source.past?.find(path)
  }

  /** A failure of the attempt that was interrupted. When this attempt ends badly it does not stand any more. */
  #standingFailure({ error }: PastStep): Error {
    this.#host.session?.recorder.noteFailedParts(this.#node)
    return fromErrorRecord(error!)
  }

  /** G8. */
  #checkSame(path: string, past: PastStep, now: PartDetail): void {
    if (past.job === undefined) return
    const isSameInput = past.input === undefined || past.input === now.input
    if (past.job === now.job && isSameInput) return
    const details = {
      node: this.#node,
      step: path,
      was: past.job === now.job ? 'another input' : `the job "${past.job}"`,
      now: past.job === now.job ? 'this one' : `"${now.job}"`,
    }
    throw final(new HeddleError('HDL_STEP_CHANGED', details))
  }

  #pathOf(job: string, key: string | undefined): string {
    if (key === undefined) return this.#numbered(`run:${encodeURIComponent(job)}`)
    checkName('key', key)
    if (this.#keys.has(key)) {
      const expected = 'a key that no other step of this attempt has'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'key', value: key, expected })
    }
    this.#keys.add(key)
    return `${this.#prefix}key:${encodeURIComponent(key)}`
  }

  #numbered(kind: string): string {
    const number = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, number + 1)
    return `${this.#prefix}${kind}#${number}`
  }

  #note(state: 'suspended' | 'succeeded' | 'failed', part: PartDetail, error?: unknown): void {
    this.#host.session?.recorder.part(this.#node, this.#context.attempt, state, part, error)
  }

  #checkOpen(step: string): void {
    const node = this.#context.name
    if (this.#isClosed) throw new HeddleError('HDL_NO_STEPS', { node, step })
    if (this.#context.cancelled) throw this.#reason()
  }

  #describe(): string {
    const [first] = this.#waits
    if (first === undefined) return 'is suspended'
    const more = this.#waits.size - 1
    return more === 0 ? first.text : `${first.text} and ${more} more`
  }
}
