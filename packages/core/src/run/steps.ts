/**
 * Durable steps of one attempt: what `ctx.run`, `ctx.sleep` and `ctx.waitFor` do (docs/design/growing.md).
 *
 *   call ──recorded as succeeded──▶ its value          running ──first wait begins──▶ suspended
 *     └── not recorded ──▶ a wait ──▶ its end          suspended ──last wait ends──▶ waits for permits ──▶ running
 *
 * The attempt is suspended while the job waits for at least one of its waits (G4, G15): were it to take its permits again when the first of
 * several steps has ended, it could hold the one that another step of it needs.
 *
 *   a wait ──has lost a race (attendance.ts)──▶ left: the job continues without it ──listened to again──▶ a wait (G15)
 *   the run drains ──nothing of the job runs: it sleeps, waits for signals, or for steps of which the same is true──▶ cancelled (G12)
 *   the job returns ──each step was listened to──▶ waits under way are dropped: they never settle (G13)
 *        └── a step that nothing listens to ──▶ HDL_STEP_NOT_AWAITED
 */
import type { AttemptSteps } from '../attempts/attempt.ts'
import { keyedStepPath, numberedPath, stepKind, stepPrefix } from '../attempts/part-path.ts'
import { HeddleError, describe } from '../errors.ts'
import { final } from '../attempts/retry.ts'
import type { Job, Needs, SignalOptions, StepOptions } from '../graph/job.ts'
import { isThenable } from '../kernel/call.ts'
import { checkDuration, checkName, checkOptions } from '../kernel/check.ts'
import { isoTime, latestTime } from '../kernel/iso-time.ts'
import { findPlace } from '../places/find-place.ts'
import type { PartDetail } from '../journal/journal.ts'
import { Part, type PartEnd } from '../scheduler/part.ts'
import { Attendance, Races, type Settlement } from './attendance.ts'
import { fromErrorRecord } from './error-record.ts'
import { fingerprintOf } from './fingerprint.ts'
import { beginPart, type AttemptContext } from './growth-host.ts'
import { runJob } from './job-input.ts'
import { neededFor, placement } from './node-limits.ts'
import type { ReceivedSignal, Signals } from './signals.ts'
import type { PastStep, RememberedSteps, StepPast } from './step-past.ts'
import type { StepHost, Wake } from './step-host.ts'
import { StepPromise } from './step-promise.ts'
import { findStepWithin, runAsStep } from './step-scope.ts'
import { StepWaits, type Call, type Wait } from './step-waits.ts'

/** A wait for a signal. */
interface SignalWait {
  readonly call: Call
  readonly signal: string
  readonly path: string
  /** When it ends, in milliseconds since 1970, and how long it may take. */
  readonly until: number | undefined
  readonly limit: number
  /** Whether the job does not wait for it when it begins. */
  readonly isLeft: boolean
}

/** The part of the run that one attempt knows. */
export interface StepSource {
  readonly past: StepPast | undefined
  /** Where steps are kept for later attempts, when the journal does not. */
  readonly memory: RememberedSteps | undefined
}

export class Steps implements AttemptSteps {
  readonly #context: AttemptContext
  readonly #host: StepHost
  readonly #source: StepSource
  /** The node, and what paths of its steps begin with. */
  readonly #node: string
  readonly #prefix: string
  readonly #counts = new Map<string, number>()
  readonly #keys = new Set<string>()
  readonly #waits: StepWaits
  readonly #races = new Races()
  /** Calls that nothing listens to. */
  readonly #unheard = new Map<
    StepPromise<unknown>,
    { readonly step: string; readonly job: string | undefined }
  >()
  #hasReturned = false
  #isClosed: boolean

  readonly #onClosed: () => void

  constructor(context: AttemptContext, host: StepHost, source: StepSource, onClosed: () => void) {
    this.#onClosed = onClosed
    this.#context = context
    this.#host = host
    this.#source = source
    this.#waits = new StepWaits(context, host)
    const { entry } = context
    this.#node = entry instanceof Part ? entry.root.name : entry.name
    this.#prefix = entry instanceof Part ? stepPrefix(entry.options.path) : ''
    // A job may ask for its first step after its end.
    this.#isClosed = context.list === undefined
    if (this.#isClosed) return
    host.growth.describe(
      context,
      () => this.#waits.describe(),
      () => this.#waits.waitsFor,
    )
    host.growth.onAttemptEnd(context, () => this.#close())
  }

  readonly run = <I, O, V>(
    job: Job<I, O, V>,
    ...[input, options = {}]: [input?: I, options?: StepOptions]
  ): Promise<O> => this.#call('run', (call) => this.#run(call, job, input, options), job?.name)

  readonly sleep = (milliseconds: number): Promise<void> =>
    this.#call('sleep', (call) => this.#sleep(call, milliseconds))

  readonly waitFor = <T>(signal: string, options: SignalOptions = {}): Promise<T> =>
    this.#call('waitFor', (call) => this.#waitFor<T>(call, signal, options))

  /** The job has returned. Steps that it must not leave unfinished make it fail (G13). */
  onReturned(): Error | undefined {
    this.#hasReturned = true
    const [forgotten] = this.#unheard.values()
    if (forgotten === undefined) return undefined
    const details = { node: this.#context.name, ...forgotten }
    return final(new HeddleError('HDL_STEP_NOT_AWAITED', details))
  }

  /** G13: a call that nothing listens to does not end the process, whatever its outcome. */
  #call<T>(step: string, start: (call: Call) => Promise<T>, job?: string): Promise<T> {
    const refusal = this.#refusal(step)
    if (refusal !== undefined) {
      const refused = Promise.reject<T>(refusal)
      refused.catch(() => undefined)
      return refused
    }
    const attendance = new Attendance(this.#races, () => this.#waits.rejoin(call))
    const call: Call = { attendance }
    const called: StepPromise<T> = StepPromise.ofCall(start(call), {
      attendance,
      mayContinue: () => !this.#isClosed,
      onHeard: () => this.#unheard.delete(called),
      onSettling: this.#onSettling,
    })
    this.#unheard.set(called, { step, job })
    return called
  }

  #refusal(step: string): Error | undefined {
    if (this.#isClosed) return new HeddleError('HDL_NO_STEPS', { node: this.#context.name, step })
    const within = findStepWithin(this.#context)
    if (within === undefined) return undefined
    const { path } = within.options
    return final(new HeddleError('HDL_STEP_OF_OUTER_JOB', { node: this.#node, path, step }))
  }

  async #run<I, O, V>(
    call: Call,
    job: Job<I, O, V>,
    input: I | undefined,
    options: StepOptions,
  ): Promise<O> {
    this.#checkOpen()
    checkOptions(options, { key: 1 }, 'step')
    if (typeof job?.run !== 'function') {
      const expected = 'a job: job({ name }, function)'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'job', value: job, expected })
    }
    const path = this.#pathOf(job.name, options.key)
    const made = fingerprintOf(input, this.#host.clock)
    const fingerprint = typeof made === 'string' ? made : await made
    const { name, version } = job
    const own = version === undefined ? undefined : { version }
    const part: PartDetail = { path, job: name, input: fingerprint, ...own }
    const past = await this.#find(path)
    if (past !== undefined) this.#checkSame(past, part, input)
    if (past?.state === 'succeeded') return past.value as O
    if (past?.state === 'failed') throw this.#standingFailure(past)
    const interruptions = past?.interruptions ?? 0
    const end = await this.#runPart(call, job as unknown as Job, input, part, interruptions)
    if (end.state === 'succeeded') {
      this.#source.memory?.add(path, { ...part, state: 'succeeded', value: end.value })
      return end.value as O
    }
    throw end.error
  }

  async #sleep(call: Call, milliseconds: number): Promise<void> {
    this.#checkOpen()
    checkDuration('milliseconds', milliseconds)
    if (this.#host.clock.wallTime() + milliseconds > latestTime) {
      const expected = 'a number of milliseconds that ends before the year 275760'
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'milliseconds',
        value: milliseconds,
        expected,
      })
    }
    const path = this.#numbered(stepKind.sleep())
    const past = await this.#find(path)
    if (past?.state === 'succeeded') return
    const until = past?.until ?? this.#host.clock.wallTime() + milliseconds
    if (past === undefined) this.#note('suspended', { path, until })
    const text = `sleeps until ${isoTime(until).replace('T', ' ').slice(0, 19)}`
    await this.#idle({ call, text, waitsFor: { until } }, (finish) => {
      const wake: Wake = { heapIndex: -1, dueAt: undefined, onWake: () => finish(undefined) }
      this.#host.wakeAt(wake, Math.max(0, until - this.#host.clock.wallTime()))
      return { stop: () => this.#host.forgetWake(wake) }
    })
    this.#note('succeeded', { path })
    this.#source.memory?.add(path, { state: 'succeeded' })
  }

  async #waitFor<T>(call: Call, signal: string, options: SignalOptions): Promise<T> {
    this.#checkOpen()
    checkName('signal', signal)
    checkOptions(options, { deadline: 1 }, 'wait')
    const { deadline = Infinity } = options
    checkDuration('deadline', deadline)
    const path = this.#numbered(stepKind.waitFor(signal))
    const past = await this.#find(path)
    if (past?.state === 'succeeded') return past.value as T
    if (past?.state === 'failed') throw this.#standingFailure(past)
    const { clock } = this.#host
    const end = clock.wallTime() + deadline
    const limit = end > latestTime ? undefined : end
    const until = past === undefined ? limit : past.until
    if (past === undefined) {
      this.#note('suspended', { path, ...(until !== undefined && { until }) })
    }
    // The winner of a race in an earlier process wins it again, before a newer signal is taken.
    if (past !== undefined && call.attendance.isRaced) {
      await new Promise<void>((resume) => clock.afterIo(resume))
    }
    const isLeft = !call.attendance.isAttended || (past?.isLeft === true && call.attendance.isRaced)
    const wait: SignalWait = { call, signal, path, until, limit: deadline, isLeft }
    return (await this.#waitForSignal(wait)) as T
  }

  /** G9: the row and the removal of the signal are written together. */
  async #waitForSignal({
    call,
    signal: name,
    path,
    until,
    limit,
    isLeft,
  }: SignalWait): Promise<unknown> {
    const { signals, clock } = this.#host
    const kept = isLeft ? undefined : signals.takeKept(name)
    const waitsFor = { signal: name, ...(until !== undefined && { until }) }
    const what = { call, text: `waits for the signal "${name}"`, waitsFor, isLeft }
    const taken =
      kept === undefined
        ? await this.#idle<Promise<unknown> | undefined>(what, (finish) => {
            const onSignal: Parameters<Signals['wait']>[1] = (signal) =>
              finish(this.#takeSignal(path, signal))
            const wake: Wake = { heapIndex: -1, dueAt: undefined, onWake: () => finish(undefined) }
            if (!isLeft) signals.wait(name, onSignal)
            if (until !== undefined) {
              this.#host.wakeAt(wake, Math.max(0, until - clock.wallTime()))
            }
            return {
              stop: () => {
                signals.forget(name, onSignal)
                if (until !== undefined) this.#host.forgetWake(wake)
              },
              leave: () => {
                signals.forget(name, onSignal)
                const end = until === undefined ? undefined : { until }
                this.#note('suspended', { path, ...end, isLeft: true })
              },
              rejoin: () => {
                const next = signals.takeKept(name)
                if (next === undefined) signals.wait(name, onSignal)
                else onSignal(next)
              },
            }
          })
        : { value: this.#takeSignal(path, kept) }
    if (taken.value !== undefined) return taken.value
    const error = new HeddleError('HDL_TIMEOUT', {
      what: `The wait for the signal "${name}"`,
      limit,
    })
    this.#note('failed', { path }, error)
    throw error
  }

  async #takeSignal(path: string, { value, mail }: ReceivedSignal): Promise<unknown> {
    const { attempt } = this.#context
    const part = { path }
    const { journal } = this.#host
    await journal?.recorder.partSucceeded(this.#node, attempt, part, value, undefined, mail)
    this.#source.memory?.add(path, { state: 'succeeded', value })
    return value
  }

  async #runPart(
    call: Call,
    job: Job,
    input: unknown,
    part: PartDetail,
    interruptions: number,
  ): Promise<PartEnd> {
    const { growth, places } = this.#host
    const place = findPlace(this.#node, job.place, places)
    const asked = neededFor(this.#node, job, job.needs, input)
    const needs = (isThenable(asked) ? await asked : asked) as Needs | undefined
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
      kind: 'step',
      onRetrying: () => this.#host.endIdle(this.#context),
      call: (attempt) => {
        const begin = (): unknown =>
          runAsStep(attempt, job, () => runJob(job, input, place, attempt))
        const outcome = beginPart(this.#host, attempt, interruptions, begin)
        return this.#host.record(attempt, outcome, this.#node, part)
      },
      onEnd: resolve,
    })
    const text = `waits for the step "${part.path}"`
    const wait: Wait = {
      call,
      text,
      isLeft: !call.attendance.isAttended,
      step,
      stop: (reason) => growth.stopPart(step, reason),
    }
    this.#waits.begin(wait)
    const end = await promise
    await this.#waits.end(wait)
    return end
  }

  /** A wait in which nothing of the job runs anywhere. */
  async #idle<T>(
    what: Pick<Wait, 'call' | 'text' | 'waitsFor'> & { readonly isLeft?: boolean },
    start: (finish: (value: T) => void) => Pick<Wait, 'leave' | 'rejoin'> & {
      readonly stop: () => void
    },
  ): Promise<{ readonly value: T }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly value: T }>()
    const { stop, leave, rejoin } = start((value) => resolve({ value }))
    const { isLeft = !what.call.attendance.isAttended } = what
    const wait: Wait = {
      ...what,
      isLeft,
      stop: reject,
      ...(leave !== undefined && { leave }),
      ...(rejoin !== undefined && { rejoin }),
    }
    this.#waits.begin(wait)
    // A run that is being cancelled does not wait for a sleep.
    this.#host.endIdle(this.#context)
    try {
      return await promise
    } finally {
      stop()
      await this.#waits.end(wait)
    }
  }

  /** The steps that the job waits for; none while it sleeps or waits for signals, undefined while it runs itself. */
  get awaited(): readonly Part[] | undefined {
    return this.#waits.isWaiting && !this.#hasReturned ? this.#waits.steps : undefined
  }

  /** G12, of a job that is not itself a step. */
  endIf(isIdle: (steps: Steps) => boolean): void {
    const refusal = this.#host.growth.refusal(this.#context)
    if (refusal !== undefined && isIdle(this)) {
      this.#host.growth.cancelNode(this.#context, refusal)
    }
  }

  /** G15: the job has its permits before it continues. */
  readonly #onSettling = (attendance: Attendance, how: Settlement): Promise<void> | undefined => {
    attendance.settle(how)
    return this.#waits.leaveLosers()
  }

  /** The attempt has ended: steps that it has not awaited end too. */
  #close(): void {
    this.#isClosed = true
    this.#onClosed()
    this.#source.memory?.dropFailures()
    this.#waits.close(
      new HeddleError('HDL_CLOSED', { what: `The attempt of "${this.#context.name}"` }),
    )
  }

  #find(path: string): PastStep | undefined | Promise<PastStep | undefined> {
    return this.#source.memory?.find(path) ?? this.#source.past?.find(path)
  }

  /** The failure of a step in the interrupted attempt. It is dropped when this attempt fails too. */
  #standingFailure({ error }: PastStep): Error {
    this.#host.journal?.recorder.noteFailedParts(this.#node)
    return fromErrorRecord(error!)
  }

  /** G8. */
  #checkSame(past: PastStep, now: PartDetail, input: unknown): void {
    const change = changeOf(past, now, input)
    if (change === undefined) return
    const details = { node: this.#node, step: now.path, ...change }
    throw final(new HeddleError('HDL_STEP_CHANGED', details))
  }

  #pathOf(job: string, key: string | undefined): string {
    if (key === undefined) return this.#numbered(stepKind.run(job))
    checkName('key', key)
    if (this.#keys.has(key)) {
      const expected =
        'another key: a step of this attempt has it already, and a key names one step'
      throw new HeddleError('HDL_BAD_OPTION', {
        option: `key of a step of ${this.#context.name}`,
        value: key,
        expected,
      })
    }
    this.#keys.add(key)
    return this.#prefix + keyedStepPath(key)
  }

  #numbered(kind: string): string {
    const number = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, number + 1)
    return this.#prefix + numberedPath(kind, number)
  }

  #note(state: 'suspended' | 'succeeded' | 'failed', part: PartDetail, error?: unknown): void {
    this.#host.journal?.recorder.part(this.#node, this.#context.attempt, state, part, error)
  }

  #checkOpen(): void {
    if (this.#context.cancelled) throw this.#waits.reason()
  }
}

/** The differences between a step and its record, in words. */
function changeOf(
  past: PastStep,
  now: PartDetail,
  input: unknown,
): { readonly was: string; readonly now: string } | undefined {
  // Nothing is known of one that has not succeeded.
  if (past.job === undefined) return undefined
  if (past.job !== now.job) return { was: `the job "${past.job}"`, now: `"${now.job}"` }
  if (past.version !== now.version) {
    const { version = 'none' } = past
    return { was: `version ${version} of "${now.job}"`, now: `version ${now.version ?? 'none'}` }
  }
  if (past.input === undefined || past.input === now.input) return undefined
  return { was: 'another input', now: describe(input) }
}
