/**
 * A worker: claims, runs, reports.
 *
 *     connecting ──version agreed──▶ claiming ⇄ running ──stop()──▶ leaving ──▶ ended
 *         └── 401, 403, 426, its id is taken, or its network thread has died ──▶ ended, with an exit code
 *
 *  K1  An error that may pass never ends the worker, nor a lease: it tries again with full jitter, until the server says that the
 *      lease has ended. What is not an answer of the protocol, whatever its status is, comes from something in between, and passes.
 *  K2  Every wait has a deadline; the beats come from a thread of their own.
 *  K3  A lease that the server has ended is given up at once: its job is aborted and its result is not sent. A job that
 *      the server asks to stop is aborted too, and its lease handed back when the job has ended.
 *  K4  A lease whose job this worker does not have in that version is handed back, with the versions that it has.
 *  K5  stop() finishes running jobs within its deadline, hands the rest back, and says that the worker leaves. Five seconds after the
 *      deadline it has ended, whatever the server answers.
 *  K6  A job that keeps the loop after its lease was lost is ended with its process, where `watchdog` says so; so is a loop that
 *      stands still without a lease.
 *  K7  A job that does not end within two seconds after its lease was lost, or after the worker had to end, is given
 *      up: it holds no place of the worker any longer, and its result is ignored.
 *  K8  The units of a campaign do not wait for the answer to a report: the next report has what was done meanwhile. A proposal of
 *      parameters is bound to one report, so there they do.
 */
import { randomUUID } from 'node:crypto'
import { arch, hostname, platform, totalmem } from 'node:os'
import { HeddleError, final, type Job } from '@heddle/core'
import {
  checkDuration,
  describe,
  isSmallJson,
  kernelOf,
  requestedDelay,
  toErrorRecord,
  waitFor,
  type ErrorRecord,
  type Kernel,
  type StopOptions,
} from '@heddle/core/lowlevel'
import { Network, Refused, type CallOptions } from './client/network.ts'
import { LeaseArtifacts } from './lease/lease-artifacts.ts'
import { downloadInput, uploadResult } from './lease/lease-values.ts'
import {
  isCampaignWork,
  isEmpty,
  isOffer,
  type CampaignUnits,
  type CampaignWork,
  type ClaimAnswer,
  type JobWork,
  type Offer,
  type UpdateAnswer,
} from './lease/offered-work.ts'
import { UnitReports, type UnitsDone } from './lease/unit-reports.ts'
import { LeaseRoom, type WorkerConcurrency } from './runner/lease-room.ts'
import { mayRetry, runJob, type AttemptIdentity } from './runner/run-job.ts'

export interface WorkerOptions {
  /**
   * The address of the server: `https://host:4500`. If several share one PostgreSQL, all of them,
   * separated by commas: the next is used when one is away.
   */
  readonly server: string
  readonly token?: string | undefined
  /** Jobs, or the exports of a module. */
  readonly jobs: readonly unknown[] | Readonly<Record<string, unknown>>
  /** The name for people. The name of the machine and the process when absent. */
  readonly name?: string | undefined
  /**
   * Leases at a time: a total, or a number for each place (`{ loop: 50, thread: 2 }`; jobs of a module run in threads). As many as the
   * machine runs at a time when absent, also for a place that is not named.
   */
  readonly concurrency?: WorkerConcurrency | undefined
  readonly capabilities?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
  /** Megabytes. All of the machine's when absent. */
  readonly memory?: number | undefined
  /** Ends when there is no work. */
  readonly exitWhenIdle?: boolean | undefined
  /** Milliseconds that a claim waits for work. Default 25,000. */
  readonly wait?: number | undefined
  /**
   * Milliseconds for a job to stop after its lease was lost. Then the process is killed, because a job that blocks the loop
   * cannot be stopped in another way: for programs that a supervisor starts again. So is one whose loop stands still for as
   * long while it holds no lease. Never when absent.
   */
  readonly watchdog?: number | undefined
  readonly onEvent?: ((event: WorkerEvent) => void) | undefined
  readonly kernel?: Kernel | undefined
}

export type WorkerEvent =
  | {
      readonly kind: 'connected'
      readonly worker: string
      /** What people call it. */
      readonly name: string
      readonly protocol: number
    }
  | { readonly kind: 'started'; readonly lease: string; readonly job: string }
  | {
      readonly kind: 'reported'
      readonly lease: string
      /** Units of a campaign that are done, and how many the lease has. */
      readonly done: number
      readonly size: number
    }
  | {
      readonly kind: 'ended'
      readonly lease: string
      readonly job: string
      readonly outcome: string
    }
  | { readonly kind: 'idle'; readonly reason: string; readonly message: string }
  | { readonly kind: 'trouble'; readonly message: string }

/** Why a worker ended, and the exit code for its process. */
export interface WorkerEnd {
  readonly why: 'stopped' | 'idle' | 'broken' | 'refused' | 'version'
  readonly message: string
  readonly exitCode: 0 | 1 | 3 | 4
}

const workerProtocols: readonly number[] = [1]

interface Running {
  readonly offer: Offer
  readonly controller: AbortController
  /** Aborts when the worker does not wait for the job any longer (K7). */
  readonly givenUp: AbortController
  /** Lines on their way to the server: they arrive before the outcome. */
  readonly lines: Set<Promise<unknown>>
  ended: Promise<void>
}

/** Milliseconds for an aborted job to end (K7). */
const grace = 2_000
/** Milliseconds that the outcome of a job waits for lines that could not be sent. */
const lineTime = 5_000
/** Milliseconds after the deadline of stop() to hand leases back, and to say that the worker leaves (K5). */
const farewellTime = 5_000

const usualWait = 25_000
/** Milliseconds after a claim that did not wait, or that may have been answered a moment too early. */
const askAgain = 1_000
/** Milliseconds until it looks again for a free place, should the end of a job have been missed (K2). */
const lookForRoom = 30_000
/** Milliseconds: a server that says to come back later than this is asked earlier (K2). */
const longestWait = 600_000

const stopped: WorkerEnd = { why: 'stopped', message: 'it was stopped', exitCode: 0 }

export class Worker {
  readonly id: string = randomUUID()
  readonly #options: WorkerOptions
  readonly #kernel: Kernel
  readonly #jobs: readonly Job[]
  readonly #jobNames: ReadonlySet<string>
  readonly #network: Network
  readonly #room: LeaseRoom
  readonly #running = new Map<string, Running>()
  readonly #stopping = new AbortController()
  /** Aborts when stop() does not wait for the server any longer (K5). */
  readonly #farewell = new AbortController()
  #wake: (() => void) | undefined
  #leaseCount = 0
  /** run(), which stop() waits for. */
  #end: Promise<WorkerEnd> | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#kernel = kernelOf(options)
    this.#jobs = findJobs(options.jobs)
    this.#jobNames = new Set(this.#jobs.map(({ name }) => name))
    this.#room = new LeaseRoom(options.concurrency)
    const { server, token, watchdog } = options
    checkToken(token)
    this.#network = new Network({ server, token, watchdog, worker: this.id }, this.#kernel)
    this.#network.onLost = (lease, reason) => this.#lose(lease, reason)
    this.#network.onStop = (lease, reason) => this.#stopJob(lease, reason)
    this.#network.onTrouble = (problem) =>
      this.#say({ kind: 'trouble', message: `${problem}; trying again` })
  }

  stats(): {
    readonly running: readonly string[]
    /** Leases that it runs when every place is taken. */
    readonly places: number
    readonly leases: number
    readonly silence: number
  } {
    return {
      running: [...this.#running.keys()],
      places: this.#room.total,
      leases: this.#leaseCount,
      silence: this.#network.silence,
    }
  }

  /**
   * Works until stop(), until there is no work (`exitWhenIdle`), or until the server refuses this worker for good.
   *
   * *Cancellation*: by stop().
   */
  run(): Promise<WorkerEnd> {
    // Stopped before: its thread has ended.
    if (this.#stopping.signal.aborted) return Promise.resolve(stopped)
    return (this.#end ??= this.#run())
  }

  async #run(): Promise<WorkerEnd> {
    let end: WorkerEnd
    try {
      end = await this.#work()
    } catch (error) {
      end = this.#stopping.signal.aborted ? stopped : endOf(error)
    }
    for (const running of this.#running.values()) this.#abort(running, new Error('the worker ends'))
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
    if (end.exitCode === 0) await this.#leave()
    await this.#network.stop()
    return end
  }

  /**
   * K5. Resolves when run() has ended: the server knows that the worker left, and its thread is gone. Harmless twice, and
   * before run(), which ends at once then.
   *
   * *Cancellation*: at the deadline (default 30,000) what still runs is aborted and handed back, for five seconds at most.
   */
  async stop({ deadline = 30_000 }: Pick<StopOptions, 'deadline'> = {}): Promise<void> {
    checkDuration('deadline', deadline)
    this.#stopping.abort(new Error('the worker stops'))
    this.#wake?.()
    if (this.#end === undefined) return this.#network.stop()
    const { clock } = this.#kernel
    const last = new Error('the server did not answer in time')
    const timers = [
      clock.setTimer(deadline, () => {
        for (const running of this.#running.values()) this.#abort(running, handBack)
      }),
      clock.setTimer(deadline + farewellTime, () => this.#farewell.abort(last)),
    ]
    await this.#end
    for (const timer of timers) timer.cancel()
  }

  async #work(): Promise<WorkerEnd> {
    const signal = this.#stopping.signal
    const registered = await this.#network.call<{ protocol: number }>(
      '/fleet/register',
      { protocol: workerProtocols, worker: this.#description() },
      { signal },
    )
    const { protocol } = registered
    this.#say({ kind: 'connected', worker: this.id, name: this.#description().name, protocol })
    while (!signal.aborted) {
      if (this.#room.fullOf(this.#jobs).length === this.#jobNames.size) {
        await this.#pause(lookForRoom)
        continue
      }
      const idle = await this.#claim(signal).catch((error: unknown) => {
        // An offer that comes after the stop is not accepted, so the server hands it out again.
        if (signal.aborted) return undefined
        throw error
      })
      if (idle !== undefined) return { why: 'idle', message: idle, exitCode: 0 }
    }
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
    return stopped
  }

  /** Resolves with the reason when the worker is to end because there is no work for it. */
  async #claim(signal: AbortSignal): Promise<string | undefined> {
    const { exitWhenIdle = false, wait = exitWhenIdle ? 0 : usualWait } = this.#options
    // With work under way a claim is short: its end may need the connection.
    const waits = this.#running.size > 0 ? Math.min(wait, 5_000) : wait
    const worker = this.#description()
    const answer = await this.#network.call<ClaimAnswer>(
      '/fleet/claim',
      {
        worker,
        request: randomUUID(),
        wait_ms: waits,
        holds: [...this.#running.keys()],
      },
      { signal, within: waits + 30_000 },
    )
    const { stop = [] } = answer
    for (const { lease, reason } of stop) this.#stopJob(lease, reason)
    if (isOffer(answer.offer)) {
      await this.#take(answer.offer, signal)
      return undefined
    }
    if (stop.length > 0) return undefined
    if (!isEmpty(answer.empty)) {
      const message = '/fleet/claim: the answer has neither an offer nor a reason; trying again'
      this.#say({ kind: 'trouble', message })
      await this.#pause(askAgain)
      return undefined
    }
    const { reason, message, retry_after_ms: retryAfter } = answer.empty
    this.#say({ kind: 'idle', reason, message })
    // A server that is busy hands out nothing just now: there may be work.
    if (exitWhenIdle && this.#running.size === 0 && reason !== 'busy') return message
    const later = Math.min(retryAfter, longestWait) * (0.5 + this.#kernel.random.next())
    if (retryAfter > 0) await this.#pause(later)
    else if (waits === 0) await this.#pause(askAgain)
    // The server may have answered because a job of ours has ended: its place is free in a moment.
    else if (worker.full !== undefined && this.#isFullOf(worker.full)) await this.#pause(askAgain)
    return undefined
  }

  /** Whether no place has become free for one of these jobs. */
  #isFullOf(names: readonly string[]): boolean {
    const full = this.#room.fullOf(this.#jobs)
    return names.every((name) => full.includes(name))
  }

  async #take(offer: Offer, signal: AbortSignal): Promise<void> {
    const { lease, epoch, work } = offer
    const call = { lease, epoch, worker: this.id }
    if (signal.aborted) return this.#handBack(offer, 'the worker stops')
    const job = this.#findJob(work)
    if (job === undefined) return this.#refuse(offer)
    try {
      await this.#network.call('/fleet/accept', call, { signal })
    } catch (error) {
      if (isLeaseLost(error)) return
      throw error
    }
    this.#network.hold(lease, epoch, offer.next_beat_ms, !isCampaignWork(work))
    this.#leaseCount++
    this.#say({ kind: 'started', lease, job: job.name })
    const running: Running = {
      offer,
      controller: new AbortController(),
      givenUp: new AbortController(),
      lines: new Set(),
      ended: Promise.resolve(),
    }
    this.#running.set(lease, running)
    this.#room.take(job)
    running.ended = this.#execute(running, job)
  }

  /** Never rejects. */
  async #execute(running: Running, job: Job): Promise<void> {
    const { lease, work } = running.offer
    let outcome = 'finished'
    try {
      if (isCampaignWork(work)) outcome = await this.#runUnits(running, work, job)
      else await this.#runAttempt(running, work, job)
    } catch (error) {
      outcome = await this.#reportFailure(running, error)
    }
    this.#network.drop(lease)
    this.#running.delete(lease)
    this.#room.give(job)
    this.#say({ kind: 'ended', lease, job: job.name, outcome })
    this.#wake?.()
  }

  async #runAttempt(running: Running, work: JobWork, job: Job): Promise<void> {
    const { offer, controller } = running
    const { name, attempt, key, grace_ms: ownGrace } = work
    const { signal } = controller
    const { clock } = this.#kernel
    const lease = { lease: offer.lease, epoch: offer.epoch, worker: this.id }
    const isElsewhere = work.input_bytes === true
    const input = isElsewhere
      ? await downloadInput(this.#network, lease, clock, signal)
      : work.input
    const identity = { name, attempt, key, grace: ownGrace }
    const value = await this.#runJob(running, job, identity, input)
    if (isSmallJson(value)) return void (await this.#update(running, 1, 1, { result: value }))
    const artifact = await uploadResult(this.#network, lease, value, clock, signal)
    await this.#update(running, 1, 1, { artifact })
  }

  /** Says how the lease ended, for people. */
  async #runUnits(running: Running, work: CampaignWork, job: Job): Promise<string> {
    let sum: number[] | undefined
    const reports = this.#reportsOf(running)
    try {
      for (let done = 0; done < work.size && !reports.isOver;) {
        const count = Math.min(work.batch, work.size - done)
        const parameters = work.parameters ? await this.#parameters(running) : null
        const start = work.start + done
        const units: CampaignUnits = { input: work.input, start, count, parameters }
        const identity = {
          name: `${work.job} ${start}`,
          attempt: 0,
          key: `${work.campaign}/${start}`,
        }
        const result = await this.#runJob(running, job, identity, units)
        done += count
        if (work.outcomes.length > 0) sum = addCounts(sum, result, work.outcomes)
        this.#network.progress(running.offer.lease)
        reports.add({ done, result: sum ?? result ?? null })
        if (work.parameters) await reports.settled()
      }
    } catch (error) {
      // What runs is aborted when its lease has ended with a report.
      if (!reports.isOver) {
        // What is done counts, before the failure ends the lease.
        await reports.settled().catch(() => undefined)
        throw error
      }
    }
    const { closed, problem = 'the report is invalid' } = (await reports.settled()) ?? {}
    return closed === 'invalid_report' ? `failed: ${problem}` : 'finished'
  }

  /** K8. */
  #reportsOf(running: Running): UnitReports {
    return new UnitReports({
      send: (sequence, units) => this.#reportUnits(running, sequence, units),
      onClosed: ({ closed = '' }) => {
        if (closed !== 'finished') this.#abort(running, new LeaseLost(closed))
      },
      onFailed: (error) => {
        if (isLeaseLost(error)) this.#abort(running, new LeaseLost('lease_lost'))
      },
    })
  }

  async #reportUnits(
    running: Running,
    sequence: number,
    { done, result }: UnitsDone,
  ): Promise<UpdateAnswer> {
    const { lease, work } = running.offer
    const answer = await this.#update(running, sequence, done, { result })
    const size = isCampaignWork(work) ? work.size : done
    if (answer.closed !== 'invalid_report') this.#say({ kind: 'reported', lease, done, size })
    return answer
  }

  #runJob(running: Running, job: Job, identity: AttemptIdentity, input: unknown): Promise<unknown> {
    const { offer, controller, givenUp } = running
    const { lease, epoch } = offer
    const ran = runJob(job, identity, input, controller.signal, {
      artifacts: new LeaseArtifacts(this.#network, { lease, epoch, worker: this.id }),
      onLog: (text) => this.#sendLine(running, text),
      onProgress: (fraction, text) => this.#network.progress(lease, fraction, text),
    })
    return waitFor(ran, identity.name, this.#kernel.clock, { signal: givenUp.signal })
  }

  /** In order: the connection sends one after the other. */
  #sendLine({ offer, lines }: Running, text: string): void {
    const { lease, epoch } = offer
    this.#network.progress(lease)
    const line = this.#network
      .call(
        '/fleet/log',
        { worker: this.id, lease, epoch, text },
        { insistFor: lineTime, signal: this.#farewell.signal },
      )
      .catch((error: unknown) => this.#say({ kind: 'trouble', message: describe(error) }))
      .finally(() => lines.delete(line))
    lines.add(line)
  }

  async #update(
    { offer, controller, lines }: Running,
    sequence: number,
    done: number,
    outcome: { readonly result: unknown } | { readonly artifact: string },
  ): Promise<UpdateAnswer> {
    const { lease, epoch } = offer
    const { signal } = controller
    await Promise.all(lines)
    this.#network.progress(lease)
    const body = { lease, epoch, worker: this.id, sequence, done, ...outcome }
    return this.#network.call('/fleet/update', body, { signal })
  }

  async #parameters({ offer, controller }: Running): Promise<unknown> {
    const { lease, epoch } = offer
    const { signal } = controller
    const body = { lease, epoch, worker: this.id }
    const answer = await this.#network.call<{ parameters: unknown }>('/fleet/params', body, {
      signal,
    })
    return answer.parameters
  }

  /** Says how the lease ended, for people. */
  async #reportFailure({ offer, controller, lines }: Running, error: unknown): Promise<string> {
    const { signal } = controller
    if ([error, signal.reason].some((each) => isLeaseLost(each) || each instanceof LeaseLost))
      return 'lost'
    await Promise.all(lines)
    if (signal.aborted) {
      await this.#handBack(offer, describe(signal.reason))
      return 'handed back'
    }
    const { lease, epoch } = offer
    const message = describe(error)
    const delay = requestedDelay(error)
    const body = {
      lease,
      epoch,
      worker: this.id,
      stage: 'run',
      message: message.slice(0, longestText),
      retryable: mayRetry(error),
      ...(delay === undefined ? {} : { retry_after_ms: delay }),
      error: shortened(toErrorRecord(error)),
    }
    await this.#quietly('/fleet/fail', body, { within: 5_000, signal })
    return `failed: ${message}`
  }

  async #handBack({ lease, epoch }: Offer, message: string): Promise<void> {
    const body = { lease, epoch, worker: this.id, stage: 'hand_back', message }
    await this.#quietly('/fleet/fail', body, {
      insistFor: 5_000,
      signal: this.#farewell.signal,
    })
  }

  /** K4. */
  async #refuse(offer: Offer): Promise<void> {
    const { job, version } = offer.work
    const known = this.#jobs.filter(({ name }) => name === job).map((each) => each.version ?? '1')
    const error = new HeddleError('HDL_JOB_VERSION', {
      job,
      wanted: version,
      known: known.length === 0 ? 'no version of it' : known.join(', '),
    })
    this.#say({ kind: 'trouble', message: error.message })
    await this.#handBack(offer, error.message)
    await this.#pause(1_000)
  }

  async #leave(): Promise<void> {
    await this.#quietly(
      '/fleet/leave',
      { worker: this.id },
      { insistFor: 3_000, signal: this.#farewell.signal },
    )
  }

  /** Failures of these calls do not matter: the server notices that the lease goes stale. */
  async #quietly(path: string, body: object, options: CallOptions): Promise<void> {
    try {
      await this.#network.call(path, body, options)
    } catch (error) {
      if (!isLeaseLost(error)) this.#say({ kind: 'trouble', message: describe(error) })
    }
  }

  /** K3. */
  #lose(lease: string, reason: string): void {
    const running = this.#running.get(lease)
    if (running !== undefined) this.#abort(running, new LeaseLost(reason))
  }

  /** K3: the lease is still held, so that the server knows when the job has ended. */
  #stopJob(lease: string, reason: string): void {
    this.#running.get(lease)?.controller.abort(new Error(reason))
  }

  /** K7. */
  #abort({ controller, givenUp, ended }: Running, reason: Error): void {
    controller.abort(reason)
    const timer = this.#kernel.clock.setTimer(grace, () => givenUp.abort(reason))
    const stop = (): void => timer.cancel()
    ended.then(stop, stop)
  }

  #findJob({ job, version }: { readonly job: string; readonly version: string }): Job | undefined {
    return this.#jobs.find((each) => each.name === job && (each.version ?? '1') === version)
  }

  #description(): {
    readonly name: string
    readonly full?: readonly string[]
    readonly [field: string]: unknown
  } {
    const { name, capabilities = [], tags = [], memory } = this.#options
    const full = this.#room.fullOf(this.#jobs)
    return {
      id: this.id,
      name: name ?? `${hostname()}-${process.pid}`,
      threads: this.#room.total,
      memory: memory ?? Math.floor(totalmem() / 2 ** 20),
      capabilities,
      tags,
      system: `${platform()}-${arch()}`,
      jobs: this.#jobs.map((each) => ({ name: each.name, version: each.version ?? '1' })),
      ...(full.length === 0 ? {} : { full }),
    }
  }

  /** Ends earlier when a job ends. */
  async #pause(delay: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#kernel.clock.setTimer(delay, resolve)
    this.#wake = resolve
    await promise
    timer.cancel()
  }

  #say(event: WorkerEvent): void {
    this.#options.onEvent?.(event)
  }
}

class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

const handBack = new Error('the worker stops')

/** Characters of a message or a stack that are sent. */
const longestText = 10_000

function shortened(record: ErrorRecord): ErrorRecord {
  const { message, stack, cause, errors } = record
  return {
    ...record,
    message: message.slice(0, longestText),
    ...(stack === undefined ? {} : { stack: stack.slice(0, longestText) }),
    ...(cause === undefined ? {} : { cause: shortened(cause) }),
    ...(errors === undefined ? {} : { errors: errors.map(shortened) }),
  }
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof Refused && error.status === 410
}

function endOf(error: unknown): WorkerEnd {
  const message = describe(error)
  if (error instanceof Refused && error.status === 426)
    return { why: 'version', message, exitCode: 4 }
  // Another owner has its id: a new process has another one.
  if (error instanceof Refused && error.code === 'worker_taken')
    return { why: 'broken', message, exitCode: 1 }
  if (error instanceof Refused) return { why: 'refused', message, exitCode: 3 }
  // The network thread has ended: a supervisor starts this worker again.
  return { why: 'broken', message, exitCode: 1 }
}

/** It is sent in a header, which has no line breaks: one that was read from a file often ends with one. */
function checkToken(token: string | undefined): void {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'token',
    value: 'a text with spaces, line breaks or other characters',
    expected: 'the token as `heddle tokens add` printed it',
  })
}

function addCounts(
  sum: number[] | undefined,
  result: unknown,
  outcomes: readonly string[],
): number[] {
  const isCounts = Array.isArray(result) && result.length === outcomes.length
  if (!isCounts)
    throw final(new Error(`the job must return ${outcomes.length} counts: ${outcomes.join(', ')}`))
  return (result as number[]).map((count, index) => count + (sum?.[index] ?? 0))
}

function findJobs(given: WorkerOptions['jobs']): readonly Job[] {
  const values: unknown[] = Array.isArray(given) ? [...(given as unknown[])] : Object.values(given)
  const jobs = values.filter((value): value is Job => {
    const it = value as Partial<Job> | null
    return (
      typeof it === 'object' &&
      it !== null &&
      typeof it.run === 'function' &&
      typeof it.place === 'string'
    )
  })
  if (jobs.length > 0) return jobs
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'jobs',
    value: given,
    expected: 'at least one job',
  })
}
