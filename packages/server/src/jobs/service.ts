/**
 * Computations by content: which callers share them, which wait for them, and how they end when none does.
 *
 * The path of a submitted job: routes.ts ─▶ here ─▶ computation-runner.ts (its stages), waiting.ts (its callers). Beside the
 * path: results.ts (by their handle) and computations.ts (for operators).
 *
 *   submit, or a result is asked for
 *      │
 *   looking ── nothing stored ─▶ queued ── permits ─▶ preparing ── stored ─▶ making ── every wanted result ─▶ done
 *      │ └── prepared was stored, results are missing ────────────────────────▲
 *      └── everything was stored ─▶ done
 *   looking, queued, preparing, making ─▶ ended: failed, timed out, abandoned, promised and not stored
 *
 * Invariants, quoted by the tests:
 *  W1  A handle has at most one computation at a time. Looking in the store is part of it, so there is no gap between a
 *      lookup that found nothing and the start. An abandoned computation has left its handle: it was signalled to stop,
 *      and neither notifies nor writes, also if it ends late.
 *  W2  Every request ends exactly once: result, error, timeout, disconnected, superseded, cancelled or refused.
 *  W3  A seat is taken when the body is there, before it is parsed, and given back on every path. Bodies that are on
 *      their way are counted apart (A1 to A5 in http/lifecycle/arrivals.ts). A submit that joins a computation or
 *      finds its result gives its seat back at once.
 *  W4  A computation that no caller waits for or holds is cancelled. One that was acknowledged with a handle (202) is
 *      held until it is done, is cancelled by its request id, or its slot is taken by a newer request. Being answered
 *      is not leaving, and neither is the answer "pending": a poll ends nothing and holds nothing. `limits.queue` is
 *      for callers that wait: when it is over they are answered, and a computation that is held keeps its place in the
 *      queue.
 *  W5  What was acknowledged survives kill -9: it is in the journal before the 202 is sent, and is done after a
 *      restart. If the store does not take its results, callers that wait get them, its run stays open, and later
 *      callers are answered 503 or 410, never "unknown" and never "done". If what results are made from is deleted
 *      meanwhile, it is stored again. A result that was promised and had to leave the store is made again, or is 410
 *      when its first stage has left too.
 *  W6  A result is sent when it is there, and kept while it is on its way to the store: a caller that asks in between
 *      finds it.
 *  W7  A cancelled, superseded or timed out computation writes nothing.
 *  W8  A failure reaches every caller that waits, is never stored, and never answered with 200. A result that can never
 *      be stored, or that JSON cannot say, is a failure.
 *  W9  A higher priority asked for later moves queued work; nothing is queued twice.
 *
 * A computation is started and joined in one step, without an await (W1); from there the runner takes it to its end.
 */
import type { Context } from '@opentelemetry/api'
import { isError } from '@heddle/core'
import {
  Histogram,
  Registry,
  Semaphore,
  Slots,
  highestLoad,
  waitFor,
  type CacheStats,
  type DispatcherStats,
  type Load,
  type OutcomeCounts,
  type RegistryStats,
  type Seat,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import { commonTenant } from '../http/caller.ts'
import { WorkSpans } from '../tracing/work-spans.ts'
import { Backlog } from './jobs-backlog.ts'
import { Computations } from './computations.ts'
import type { Encoded } from './encoded.ts'
import { findJob } from './job-table.ts'
import type { AcknowledgedWork, LedgerEntry } from './ledger.ts'
import type { JobTimings } from './metrics.ts'
import { Prefetches, type PrefetchCounts, type StartPrefetch } from './prefetches.ts'
import { asError, checkIndex, checkInput, draining } from './job-errors.ts'
import type { ReadInput } from './read-input.ts'
import { Remembered, type Failure } from './remembered.ts'
import { Requests, type CancelledState } from './requests.ts'
import { Results } from './results.ts'
import type { ServedJob } from './served-job.ts'
import type { ServiceOptions, ServiceState } from './service-state.ts'
import { Supersets, type Family } from './supersets.ts'
import { Waiting, type Answer, type Asking } from './waiting.ts'
import { ComputationRunner, noteStory } from './computation-runner.ts'
import { Computation } from './computation.ts'

export type { ServiceOptions }

/** The computation, and the seat with which it was admitted. */
export interface Submission {
  readonly served: ServedJob
  readonly seat: Seat
  /** Computes again, although a result is stored. */
  readonly force: boolean
  readonly input: unknown
  /** Handle of this job and this input. */
  readonly handle: string
  readonly priority: number
  /** When the seat was taken, on the monotonic clock. */
  readonly admittedAt?: number | undefined
  /** Waited for before the code of the job runs. */
  readonly begin?: (() => Promise<void>) | undefined
  /** Which other inputs it answers for. */
  readonly family?: Family | undefined
}

export interface ServiceStats {
  /** Handles that are worked on. */
  readonly works: number
  /** Requests that can be cancelled. */
  readonly requests: number
  /** Slots that a request has. */
  readonly slots: number
  readonly load: Load
  /**
   * Outcomes of requests that waited; `pending` were answered after their time that the work
   * continues.
   */
  readonly outcomes: OutcomeCounts & { readonly pending: number }
  readonly registry: RegistryStats
  readonly prepare: DispatcherStats
  readonly items: DispatcherStats
  readonly cache: CacheStats
  /** Results that could not be stored. */
  readonly unstored: number
  /** Requests that a larger computation has answered. */
  readonly reused: number
  readonly prefetch: PrefetchCounts
}

/** Failures that are reported to callers that ask for the result later. */
const rememberedFailures = 1_000

/** Handles that were answered "done": those of longer ago are unknown when their results are evicted. */
const rememberedPromises = 100_000

/** The result of a submit at the door. */
interface Admitted {
  readonly served: ServedJob
  readonly seat: Seat
  readonly priority: number
  readonly admittedAt: number
}

export class JobService {
  readonly #options: ServiceOptions
  readonly #registry: Registry<Encoded>
  readonly #slots = new Slots()
  readonly #requests = new Requests()
  readonly #works = new Map<string, Computation>()
  readonly #failures = new Remembered<Failure>(rememberedFailures)
  readonly #promised = new Remembered<string>(rememberedPromises)
  readonly #runner: ComputationRunner
  readonly #waiting: Waiting
  readonly #supersets: Supersets
  readonly #prefetches: Prefetches
  readonly #backlog: Backlog
  /** Results by their handle. */
  readonly results: Results
  /** Computations by their handle. */
  readonly computations: Computations
  /** How many of the backlog may wait for a seat at a time: others behind them wait here. */
  readonly #lobby: Semaphore
  readonly #enqueue = new Histogram()
  #unstored = 0
  /** Whether the store did not take the last result that could be stored. */
  #isStoreFailing = false
  /** Acknowledged in this life and left for the next one: handles whose runs are open in the journal. */
  readonly #left = new Set<string>()
  /** Aborts when the deadline of a drain has passed. */
  readonly #over = new AbortController()

  constructor(options: ServiceOptions) {
    this.#options = options
    this.#registry = new Registry({ name: 'Result', kernel: options.kernel })
    this.#backlog = new Backlog(options.kernel)
    const { kernel } = options
    // Half of the possible waiters: callers wait for seats too.
    const permits = Math.max(1, Math.floor(options.prepare.stats().queue.capacity / 2))
    this.#lobby = new Semaphore({ permits, name: 'The backlog', kernel })
    this.#supersets = new Supersets(options.store)
    this.#prefetches = new Prefetches(kernel, options.onProblem)
    this.#runner = new ComputationRunner({
      ...options,
      beforeDone: (work) => this.#keepLargest(work),
      registry: this.#registry,
      onStored: () => {
        this.#isStoreFailing = false
      },
      onLeft: ({ handle }) => void this.#left.add(handle),
      onUnstored: (name, error) => {
        this.#unstored++
        this.#isStoreFailing ||= !isOfResult(error)
        options.onProblem(`The result of ${name} was not stored`, error)
      },
      onItemMade: (name) => this.#failures.delete(name),
      onItemFailed: ({ tenant }, name, error) =>
        this.#failures.set(name, { tenant, error: asError(error) }),
      onEnd: (work, error) => this.#onEnd(work, error),
    })
    this.#waiting = new Waiting({
      ...options,
      registry: this.#registry,
      slots: this.#slots,
      requests: this.#requests,
      failures: this.#failures,
      abandon: (work, reason) => this.#abandon(work, reason),
    })
    const state: ServiceState = {
      options,
      registry: this.#registry,
      works: this.#works,
      failures: this.#failures,
      promised: this.#promised,
      backlog: this.#backlog,
    }
    this.computations = new Computations(state, (work) => this.#leave(work))
    this.results = new Results(state, {
      waiting: this.#waiting,
      start: (work, trace) => this.#start(work, undefined, trace),
      isOver: () => this.#over.signal.aborted,
    })
  }

  /**
   * Checks whether a submit would be accepted now, so that a refused client need not send its body. Reserves nothing.
   * @throws `HDL_UNKNOWN_JOB`, `HDL_OVERLOADED`, `HDL_DRAINING`.
   */
  knock(name: string, priority: number | undefined, tenant: string): void {
    this.admit(name, priority, tenant).seat.release()
  }

  /**
   * Takes a seat when the body is there, before it is parsed (W3). Without a priority of the request the job's own counts,
   * as in a graph run.
   * @throws `HDL_UNKNOWN_JOB`, `HDL_OVERLOADED`, `HDL_DRAINING`.
   */
  admit(name: string, asked: number | undefined, tenant: string): Admitted {
    const { jobs, prepare, items } = this.#options
    const served = findJob(jobs, name)
    const priority = asked ?? served.prepare.priority ?? 1
    // Work that cannot be finished soon is not begun: the second stage refuses for the first.
    if (served.item !== undefined) items.reserve({ priority }).release()
    const admittedAt = this.#options.kernel.clock.now()
    return { served, seat: prepare.reserve({ priority, tenant }), priority, admittedAt }
  }

  /**
   * Starts or joins work, and answers with its handle once it is durable (W5).
   *
   * *Cancellation*: none: a caller without an answer submits again and gets the same handle.
   * *Fairness*: as the dispatcher: by priority with aging, else first come, first served.
   * @param index Of the result that will be asked for: it must exist.
   * @throws `HDL_BAD_INPUT`, `HDL_NO_SUCH_INDEX`, `HDL_REQUEST_EXISTS`, `HDL_STORE_FAILED`; `HDL_CANCELLED`,
   * `HDL_SUPERSEDED`, `HDL_DRAINING` or the error of the job, when that came first.
   */
  async acknowledge(submission: Submission, index: number, caller: Asking): Promise<Answer> {
    const work = this.#join(submission, index, caller)
    const answer = await this.#waiting.acknowledge(work, index, caller)
    if (work.ledger === undefined) this.#promised.set(work.handle, work.tenant)
    return answer
  }

  /**
   * Starts or joins work, and waits for one of its results.
   *
   * *Cancellation*: `disconnect`, `deadline`, the slot and {@link cancel} end this request only; with the
   * last one the work ends (W4). After `wait` the work is acknowledged and continues.
   * *Fairness*: as {@link acknowledge}.
   * @throws `HDL_BAD_INPUT`, `HDL_NO_SUCH_INDEX`, `HDL_REQUEST_EXISTS`, `HDL_TIMEOUT` with the stage,
   * `HDL_CANCELLED`, `HDL_SUPERSEDED`, `HDL_DRAINING`, the error of the job.
   */
  async compute(submission: Submission, index: number, caller: Asking): Promise<Answer> {
    return this.#waiting.wait(this.#join(submission, index, caller), index, caller, true)
  }

  /**
   * The input that answers for an input: itself, or a larger one that is under way here or stored (U1).
   *
   * *Cancellation*: the signal and the deadline end the query to the store.
   */
  async larger(
    read: ReadInput,
    options: { readonly signal: AbortSignal; readonly deadline: number },
  ): Promise<ReadInput> {
    if (read.family === undefined) return read
    await this.#supersets.look(read.family, options)
    return this.#substitute(read)
  }

  /** In one step (U4). */
  #substitute<R extends ReadInput>(read: R): R {
    const { family, handle } = read
    const larger = family && this.#supersets.find(family)
    if (larger === undefined || larger.handle === handle) return read
    this.#supersets.countReuse()
    const { input, size } = larger
    return { ...read, handle: larger.handle, input, family: { key: family!.key, size } }
  }

  /** Plans the likely next request; `start` gets its input. */
  planPrefetch(
    { name, prefetch }: ServedJob,
    { input, handle }: ReadInput,
    start: (next: unknown) => ReturnType<StartPrefetch>,
  ): void {
    if (prefetch === undefined) return
    try {
      const next = prefetch.input(input)
      if (next === undefined) return
      this.#prefetches.plan(handle, prefetch.after, () => start(next))
    } catch (error) {
      this.#options.onProblem(`${name} does not say what to compute ahead`, error)
    }
  }

  /**
   * Starts a computation that no caller has asked for, at the lowest priority. It is held until it ends.
   *
   * *Cancellation*: none: it waits for the store.
   * @throws `HDL_OVERLOADED`, `HDL_TOO_MANY_REQUESTS`, `HDL_DRAINING`.
   */
  async prefetch(
    name: string,
    { input, handle, family }: ReadInput,
    tenant: string,
  ): Promise<'started' | 'known'> {
    const { store, owns } = this.#options
    if (this.#works.has(handle) || owns?.(handle) === false) return 'known'
    const stored = await store.prepared(handle)
    if (stored !== undefined || this.#works.has(handle)) return 'known'
    const { served, seat, priority } = this.admit(name, 3, tenant)
    const submission = { served, seat, priority, force: false, input, handle, family }
    const work = this.#join(submission, 0, { tenant })
    work.holds.add({ request: `prefetch of ${handle}` })
    return 'started'
  }

  async #keepLargest(work: Computation): Promise<void> {
    try {
      await this.#supersets.keep(work)
    } catch (error) {
      // Another server answers for the family: this one remembers it.
      if (isError(error, 'HDL_NOT_OWNER') || isError(error, 'HDL_OWNERSHIP_LOST')) return
      this.#options.onProblem(`What ${work.handle} answers for was not stored`, error)
    }
  }

  /**
   * Waits for preparations of a request before it has a computation: a schema, a thread, another server. None of them
   * keeps a drain beyond its deadline, and the request is answered then (W2).
   *
   * *Cancellation*: the work gets a signal that aborts when the given one does, or when the deadline of a drain has
   * passed.
   * @throws `HDL_DRAINING`; the error of the work.
   */
  async untilOver<T>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal: over } = this.#over
    try {
      return await work(signal === undefined ? over : AbortSignal.any([signal, over]))
    } catch (error) {
      throw over.aborted ? draining() : error
    }
  }

  /** Whether the store did not take the last result that could be stored. */
  get isStoreFailing(): boolean {
    return this.#isStoreFailing
  }

  /** @throws `HDL_UNKNOWN_REQUEST`. */
  cancel(tenant: string, request: string): CancelledState {
    return this.#requests.cancel(tenant, request)
  }

  /**
   * Like {@link cancel}; the end of work that was acknowledged and that no other caller wants is in the store when this resolves (L7).
   *
   * *Cancellation*: the signal and the deadline end the wait for the store; the request is cancelled all the same.
   * @throws `HDL_UNKNOWN_REQUEST`.
   */
  cancelForGood(
    tenant: string,
    request: string,
    options: WaitOptions = {},
  ): Promise<CancelledState> {
    const cancelled = this.#requests.cancelForGood(tenant, request)
    return waitFor(cancelled, 'The store', this.#options.kernel.clock, options)
  }

  /** Deletes all stored results. *Cancellation*: none. */
  async forgetAll(): Promise<void> {
    this.#failures.clear()
    this.#supersets.clear()
    await this.#options.store.clear()
  }

  /**
   * Continues work that was acknowledged by another server, or before the last stop. Resolves when it has begun; its end
   * is written to the entry. Callers that ask for it meanwhile find it (W5).
   *
   * *Cancellation*: the signal ends the wait for a seat.
   * *Fairness*: as {@link acknowledge}.
   */
  async takeOver(was: AcknowledgedWork, entry: LedgerEntry, signal: AbortSignal): Promise<void> {
    const { jobs, prepare } = this.#options
    const { input, handle, priority, force, family, tenant = commonTenant } = was
    const served = findJob(jobs, was.job)
    checkInput(served, input)
    this.#backlog.list(handle, served.totalOf(input), tenant)
    let seat: Seat
    try {
      using _permit = await this.#lobby.acquire({ priority, signal })
      seat = await prepare.waitRoom({ priority, signal, tenant })
    } catch (error) {
      // Work that a drain finds here is left for the next start: the drain answers its callers.
      if (isError(error, 'HDL_DRAINING')) this.#backlog.close()
      else this.#backlog.take(handle)
      throw error
    }
    const { begin } = entry
    const submission = { served, input, handle, seat, priority, force, begin, family }
    const work = this.#join(submission, 0, { tenant })
    work.holds.add({ request: entry.acknowledgementId })
    this.#backlog.take(handle)
    // Asked for again meanwhile: once that request is durable, it stands for both.
    while (work.ledger !== undefined) {
      if (await isWritten(work.ledger)) return entry.end('cancelled')
      if (work.isEnded) return entry.putBack()
    }
    work.ledger = Promise.resolve(entry)
    noteStory(work)
  }

  /**
   * Ends the work of a handle whose shard another server owns now. It leaves its handle at once, as an abandoned one does (W1): this
   * server may own the shard again before the work has ended.
   */
  handOver(handle: string, reason: unknown): void {
    const work = this.#works.get(handle)
    if (work === undefined) return
    this.#leave(work)
    work.abort(reason)
  }

  /**
   * Closes the door, waits for all work to end, and at the deadline ends the rest with `HDL_DRAINING`. Acknowledged
   * work stays in the ledger.
   *
   * *Cancellation*: `enough` is the deadline.
   */
  async drain(enough: AbortSignal): Promise<{ readonly isClean: boolean }> {
    const { clock } = this.#options.kernel
    // Together: a store that hangs would keep the door open, and the drain longer than its deadline.
    const settled = Promise.all([this.#settled(), this.#prefetches.close()])
    let isClean = true
    try {
      await waitFor(settled, 'The end of admitted work', clock, { signal: enough })
    } catch (error) {
      if (!enough.aborted) throw error
      isClean = this.#isIdle
    }
    this.#over.abort()
    this.#backlog.close()
    if (isClean) return { isClean: !this.#hasAcknowledged }
    for (const work of this.#works.values()) work.abort(draining())
    await this.#ended()
    return { isClean }
  }

  /** Whether something that was acknowledged is left for the next start. */
  get #hasAcknowledged(): boolean {
    const { ledger } = this.#options
    // Work that was put back is among those that are left, until another computation of its handle is done.
    const isWaiting = ledger.queued().some(({ isPutBack }) => !isPutBack)
    return this.#left.size > 0 || !this.#backlog.isEmpty || isWaiting
  }

  /** Whether nothing that was admitted is left. */
  get #isIdle(): boolean {
    const { reserved, queued, running } = this.#options.prepare.stats().queue
    return this.#works.size + reserved + queued + running === 0
  }

  /** Closes the door; resolves when everything admitted has ended. */
  async #settled(): Promise<void> {
    await this.#options.prepare.drain()
    await this.#ended()
  }

  async #ended(): Promise<void> {
    while (this.#works.size > 0) {
      await Promise.all(Array.from(this.#works.values(), ({ ended }) => ended))
    }
  }

  /** For reports by fixed buckets. */
  timings(): JobTimings {
    const { prepare, items } = this.#options
    return { prepare: prepare.timings, item: items.timings, enqueue: this.#enqueue }
  }

  stats(): ServiceStats {
    const { prepare, items, store } = this.#options
    const registry = this.#registry.stats()
    const { late } = this.#waiting
    const { outcomes } = registry
    return {
      works: this.#works.size,
      requests: this.#requests.size,
      slots: this.#slots.size,
      load: highestLoad([prepare.load(), items.load()])!,
      outcomes: { ...outcomes, timeout: outcomes.timeout - late, pending: late },
      registry,
      prepare: prepare.stats(),
      items: items.stats(),
      cache: store.stats(),
      unstored: this.#unstored,
      reused: this.#supersets.reused,
      prefetch: this.#prefetches.counts(),
    }
  }

  // ---- work

  /** One step: the work of this content, started if there is none (W1). It takes the seat, also if it throws. */
  #join(
    submission: Submission,
    index: number,
    { tenant, request, trace }: Pick<Asking, 'tenant'> & Partial<Asking>,
  ): Computation {
    const { served, seat, priority, force, begin } = submission
    try {
      // U3, U4; acknowledged work is computed with its acknowledged input.
      const isItself = force || begin !== undefined || submission.family === undefined
      const asked = isItself ? submission : this.#substituteOwned(submission)
      const { input, handle, family } = asked
      if (this.#over.signal.aborted) throw draining()
      if (request !== undefined) this.#requests.check(tenant, request)
      checkInput(served, input)
      const known = this.#works.get(handle)
      const total = known?.total ?? served.totalOf(input)
      checkIndex(handle, index, total)
      const at = this.#options.kernel.clock.now()
      const submitted = { input }
      const work =
        known ??
        new Computation({ served, submitted, handle, tenant, total, priority, at, begin, family })
      if (work.state === 'looking') work.isForced ||= force
      if (submission.admittedAt !== undefined) {
        this.#enqueue.record(this.#options.kernel.clock.now() - submission.admittedAt)
      }
      if (known === undefined) return this.#start(work, seat, trace)
      seat.release()
      work.spans?.join(trace)
      work.complete({ input })
      work.raise(priority)
      return work
    } catch (error) {
      seat.release()
      throw error
    }
  }

  /** For a larger input that another server owns, only this server's own computations count. */
  #substituteOwned(submission: Submission): Submission {
    const found = this.#substitute(submission)
    return this.#options.owns?.(found.handle) === false ? submission : found
  }

  #start(work: Computation, seat: Seat | undefined, trace: Context | undefined): Computation {
    const { handle, tenant, priority } = work
    work.spans = WorkSpans.begin({ job: work.served.name, handle, tenant, priority }, trace)
    this.#works.set(work.handle, work)
    this.#supersets.began(work)
    this.#failures.delete(work.handle)
    // oxlint-disable-next-line typescript/no-floating-promises -- it never rejects: an error is the work's end, which drain() waits for
    this.#runner.run(work, seat)
    return work
  }

  /** Ends the work when no caller waits for it and no request holds it (W4). */
  #abandon(work: Computation, reason: unknown): void {
    const isWanted = work.holds.size > 0 || this.#registry.active(work.handle) > 0
    if (work.isEnded || isWanted || work.served.whenAbandoned === 'keep') return
    // A caller that comes now starts new work: this one is about to end.
    this.#leave(work)
    work.isAbandoned = true
    work.abort(reason)
    if (work.ledger === undefined) return
    // Without it a job that ignores its signal would run again after a crash, until its grace is over.
    work.endedInStore = this.#options.ledger.cancel(work.handle)
    work.endedInStore.catch((error: unknown) =>
      this.#options.onProblem(`The end of ${work.handle} was not written`, error),
    )
  }

  #onEnd(work: Computation, error: unknown): void {
    this.#leave(work)
    const { kernel, onComputed } = this.#options
    onComputed?.(work.served.name, kernel.clock.now() - work.at, work.state === 'done')
    this.#supersets.ended(work)
    if (work.state === 'done') {
      this.#left.delete(work.handle)
      // Its row says so a moment later.
      if (work.ledger !== undefined) this.#promised.set(work.handle, work.tenant)
    }
    // A job may throw anything: that it was ended from outside shows in its signal.
    if (work.state === 'ended' && !work.signal.aborted)
      this.#failures.set(work.handle, { tenant: work.tenant, error: asError(error) })
  }

  #leave(work: Computation): void {
    if (this.#works.get(work.handle) === work) this.#works.delete(work.handle)
  }
}

async function isWritten(entry: Promise<LedgerEntry>): Promise<boolean> {
  try {
    await entry
    return true
  } catch {
    return false
  }
}

/** Refused because of its value, or because its first stage was deleted: the store itself works. */
function isOfResult(error: unknown): boolean {
  return (
    isError(error, 'HDL_GONE') ||
    isError(error, 'HDL_NOT_CLONEABLE') ||
    isError(error, 'HDL_VALUE_TOO_LARGE')
  )
}
