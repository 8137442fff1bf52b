/**
 * Takes a work from its lookup to its end. Nothing else changes its state; ending it early is done through its signal.
 */
import {
  HeddleError,
  final,
  isBytes,
  isError,
  type Job,
  type Needs,
  type NodeState,
} from '@heddle/core'
import {
  Gate,
  Semaphore,
  attemptDefaults,
  describe,
  findPlace,
  neededFor,
  runJob,
  waitFor,
  type AdmittedTask,
  type AttemptReport,
  type Dispatcher,
  type Kernel,
  type ParentVersion,
  type Places,
  type Registry,
  type RunnerContext,
  type Seat,
  type SubmitOptions,
  type Timer,
} from '@heddle/core/lowlevel'
import type { LogEvent } from '../log/log-event.ts'
import type { StageSpans } from '../tracing/work-spans.ts'
import { encodeResult, encodeSmall, isEncoded, type Encoded } from './encoded.ts'
import { itemName, shownName } from './handle.ts'
import type { LedgerEntry, StageName } from './ledger.ts'
import { asError, jobFailure, lostSource, unusableResult } from './job-errors.ts'
import type { Prepared, ResultStore } from './result-store.ts'
import type { ItemInput } from './served-job.ts'
import { noteFailedComputation } from './failed-computations.ts'
import type { StageRow } from './story.ts'
import { findProblem } from './usable.ts'
import type { Computation } from './computation.ts'

export interface ComputationRunnerOptions {
  readonly store: ResultStore
  /** Where the jobs of a tenant run. */
  readonly placesOf: (tenant: string) => Places
  /** Called with the log lines of jobs. */
  readonly onJobLog: (name: string, text: string) => void
  readonly prepare: Dispatcher
  readonly items: Dispatcher
  readonly registry: Registry<Encoded>
  readonly kernel: Kernel
  /** A result that the store did not take is delivered all the same; this reports it. */
  readonly onUnstored: (name: string, error: unknown) => void
  /** The store has taken something. */
  readonly onStored: () => void
  /** Acknowledged, but neither done nor failed in this process: it is left for the next one. */
  readonly onLeft: (work: Computation) => void
  /** One result of the second stage was made. */
  readonly onItemMade: (name: string) => void
  /** One result of the second stage failed; the others continue. */
  readonly onItemFailed: (work: Computation, name: string, error: unknown) => void
  /** Writes a line of the structured log. */
  readonly note?: ((event: LogEvent) => void) | undefined
  /** Waited for when all results are made and stored. It does not reject. */
  readonly beforeDone?: ((work: Computation) => Promise<void>) | undefined
  /** In the same step in which the work ends; undefined when it is done. */
  readonly onEnd: (work: Computation, error: unknown) => void
}

/** The first stage of a handle, and the version that results are derived from. */
interface Source {
  readonly prepared: Prepared
  /** Undefined when it was not stored, or deleted at once. A promise while it is stored again. */
  parent: ParentVersion | undefined | Promise<ParentVersion | undefined>
  /** Results may be stored already. */
  readonly wasStored: boolean
  /** All of them are. */
  readonly isWhole: boolean
}

export class ComputationRunner {
  readonly #options: ComputationRunnerOptions
  /** How many may wait for room in the second stage itself. */
  readonly #lobby: Semaphore
  readonly #itemCapacity: number
  /** Computations that make results of the second stage now. */
  #making = 0

  constructor(options: ComputationRunnerOptions) {
    this.#options = options
    const { capacity } = options.items.stats().queue
    this.#itemCapacity = capacity
    this.#lobby = new Semaphore({ permits: capacity, name: 'Room', kernel: options.kernel })
  }

  /**
   * Never rejects.
   *
   * *Cancellation*: the work's signal ends it.
   * @param given The seat that it was admitted with. Absent when no caller has submitted it.
   */
  async run(work: Computation, given: Seat | undefined): Promise<void> {
    try {
      using seat = given
      const stored = work.isForced ? undefined : await this.#find(work)
      work.signal.throwIfAborted()
      // A caller may have forced it since the lookup.
      const found = work.isForced ? undefined : stored
      if (found !== undefined) {
        seat?.release()
        this.#record(work, 'prepare', 'succeeded')
      }
      // A caller may have asked for a result since the lookup.
      const isStored = found?.isWhole === true && !work.isAsked
      work.sayLooked(isStored ? 'stored' : 'missing')
      const source = found ?? (await this.#prepare(work, seat))
      const failures: unknown[] = []
      // The last check for more results and the end are one step.
      let isKept = isStored
      for (let isOver = isStored; !isOver; isOver = !this.#hasMore(work)) {
        await this.#make(work, source, failures)
        if (isKept || failures.length > 0 || this.#hasMore(work)) continue
        isKept = true
        await this.#options.beforeDone?.(work)
      }
      // No caller may get the answer that a promised result is there when it is not (W5).
      if (work.unstored !== undefined && work.holds.size > 0) throw work.unstored
      work.end('done')
      if (failures.length > 0) this.#record(work, 'items', 'failed', { error: failures[0] })
      else if (work.served.item !== undefined) this.#record(work, 'items', 'succeeded')
      note(work, (entry) => entry.end('finished'))
      work.spans?.end('done')
      this.#options.onEnd(work, undefined)
    } catch (error) {
      const { aborted, reason } = work.signal
      // The wait reports a cancellation; the reason comes from the caller that ended the work (W5).
      this.#fail(work, aborted ? reason : error)
    }
  }

  #hasMore(work: Computation): boolean {
    return work.served.item === undefined ? work.isAsked : work.hasMore
  }

  async #find(work: Computation): Promise<Source | undefined> {
    const { handle, served, signal } = work
    const { store } = this.#options
    const entry = await store.prepared(handle, { signal })
    // Made when the job had another number of results for this input: it is made again.
    if (entry?.value.total !== work.total) return undefined
    const isWhole = served.item === undefined || (await store.isWhole(handle, { signal }))
    return { prepared: entry.value, parent: entry, wasStored: true, isWhole }
  }

  async #prepare(work: Computation, seat: Seat | undefined): Promise<Source> {
    const { served, handle, total, submitted, signal } = work
    const { prepare: job, limits } = served
    // Only results were requested, and their first stage was deleted since.
    if (submitted === undefined) throw lostSource(handle)
    work.state = 'queued'
    const limit = limits.queue ?? this.#options.prepare.queueTimeout
    let timer: Timer | undefined
    let attempt = 0
    const start: Start = { isAwaited: false }
    const spans = work.spans?.stage('prepare', job.place)
    const name = shownName(handle)
    try {
      const needs = this.#needsOf(job, submitted.input, work, name)
      const task = this.#options.prepare.submit(
        traced(spans, (context) => this.#runWhenBegun(work, start, job, submitted.input, context)),
        {
          ...this.#stageOptions(job, work, name),
          needs: needs instanceof Promise ? await needs : needs,
          traceparent: spans && (() => spans.traceparent()),
          key: `${handle}/prepare`,
          reservation: seat,
          // Whether a caller was promised it shows when the time is over.
          queueTimeout: Infinity,
          timeout: limits.prepare ?? job.timeout,
          onReport: (report) => {
            spans?.onReport(report)
            attempt = report.attempt
            if (report.type === 'started') {
              timer?.cancel()
              work.state = 'preparing'
            }
            this.#onPrepareReport(work, report)
          },
        },
      )
      if (task.state === 'queued' && limit < Infinity) {
        const { clock } = this.#options.kernel
        timer = clock.setTimer(limit, () => this.#onQueuedTooLong(work, task, limit))
      }
      const prepared: { total: number; tenant: string; value: unknown } = {
        total,
        tenant: work.tenant,
        value: await work.follow(task),
      }
      await this.#check(handle, prepared.value, served.item === undefined)
      // The only result of a job with one stage is kept as it is sent.
      if (served.item === undefined) prepared.value = await this.#encode(prepared.value)
      // See #tell.
      signal.throwIfAborted()
      // Sent before it is stored (W6).
      if (served.item === undefined) this.#tell(work, 0, prepared.value as Encoded)
      const parent = await this.#keepPrepared(work, prepared)
      this.#record(work, 'prepare', 'succeeded', { attempt })
      return { prepared, parent, wasStored: false, isWhole: false }
    } catch (error) {
      const failure = failureOf(start, error)
      spans?.end({ error: failure })
      this.#recordFailedPrepare(work, attempt, failure)
      throw failure
    } finally {
      spans?.end()
      timer?.cancel()
    }
  }

  #recordFailedPrepare(work: Computation, attempt: number, error: unknown): void {
    const { aborted, reason } = work.signal
    // Work that a drain cuts off, or that the store has not let begin, has not failed: it runs again.
    if (isError(reason, 'HDL_DRAINING') || isError(error, 'HDL_STORE_FAILED')) return
    const ended = work.state === 'queued' ? 'skipped' : 'cancelled'
    // The error of the job, as in a graph run: the wrapper is for clients.
    const failure = isError(error, 'HDL_JOB_FAILED') ? error.cause : error
    this.#record(work, 'prepare', aborted ? ended : 'failed', {
      attempt,
      error: aborted ? reason : failure,
    })
  }

  /** Reports the same rows as a node in a graph run. */
  #onPrepareReport(work: Computation, report: AttemptReport): void {
    const { attempt } = report
    switch (report.type) {
      case 'queued':
        return this.#record(work, 'prepare', 'ready', { attempt })
      case 'started':
      case 'resumed':
        return this.#record(work, 'prepare', 'running', { attempt })
      case 'suspended':
        return this.#record(work, 'prepare', 'suspended', { attempt })
      case 'retrying': {
        const { error, delay } = report
        this.#noteRetry(work, 'prepare', report)
        return this.#record(work, 'prepare', 'retrying', { attempt, error, delay })
      }
      case 'log':
        return this.#log(work, shownName(work.handle), 'prepare', attempt, report.text)
      case 'progress':
      // The outcome counts once it is stored.
      case 'ended':
    }
  }

  /** All results are one node of the journal, so the attempts of one of them are lines of its log. */
  #onItemReport(work: Computation, name: string, index: number, report: AttemptReport): void {
    const { attempt } = report
    if (report.type === 'log') {
      this.#options.onJobLog(name, report.text)
      this.#recordLog(work, 'items', attempt, `${index}: ${report.text}`)
    }
    if (report.type === 'retrying') {
      const { error, delay } = report
      this.#noteRetry(work, 'item', report, index)
      const next = `attempt ${attempt} starts in ${Math.ceil(delay)} ms`
      this.#recordLog(work, 'items', attempt - 1, `${index}: ${next}: ${describe(error)}`)
    }
    if (report.type === 'ended' && report.how === 'failed') {
      this.#recordLog(work, 'items', attempt, `${index}: failed: ${describe(report.error)}`)
    }
  }

  #log(work: Computation, name: string, node: StageName, attempt: number, text: string): void {
    this.#options.onJobLog(name, text)
    this.#recordLog(work, node, attempt, text)
  }

  #recordLog(work: Computation, node: StageName, attempt: number, text: string): void {
    const at = this.#options.kernel.clock.wallTime()
    record(work, { kind: 'log', node, attempt, at, text })
  }

  #record(
    work: Computation,
    node: StageName,
    state: NodeState,
    more: { readonly attempt?: number; readonly error?: unknown; readonly delay?: number } = {},
  ): void {
    const at = this.#options.kernel.clock.wallTime()
    record(work, { kind: 'node', node, state, attempt: 0, at, ...more })
  }

  /**
   * The code of a job that is recalled runs only when the store says that it does. An attempt that ends before has not
   * failed, whatever ended it: its job is put back (L5 of store-ledger.ts).
   */
  #runWhenBegun(
    work: Computation,
    start: Start,
    job: Job,
    input: unknown,
    context: RunnerContext,
  ): unknown {
    const { begin } = work
    if (begin === undefined) return this.#runAtPlace(work, job, input, context)
    start.isAwaited = true
    return begin().then(
      () => {
        context.signal.throwIfAborted()
        start.isAwaited = false
        return this.#runAtPlace(work, job, input, context)
      },
      // Another attempt would meet the same store: the pause before it is that of a job that was put back.
      (error: unknown) => {
        throw final(error)
      },
    )
  }

  #runAtPlace({ tenant }: Computation, job: Job, input: unknown, context: RunnerContext): unknown {
    try {
      const place = findPlace(context.name, job.place, this.#options.placesOf(tenant))
      return runJob(job, input, place, context)
    } catch (error) {
      throw isError(error, 'HDL_PLACE_UNAVAILABLE') ? final(error) : error
    }
  }

  /**
   * The needs of an attempt. A promise when the job's schema is asynchronous; it has as long as an attempt of the job
   * may take.
   */
  #needsOf(
    job: Job,
    input: unknown,
    { signal }: Computation,
    name: string,
  ): Needs | undefined | Promise<Needs | undefined> {
    let needs: unknown
    try {
      needs = neededFor(name, job, job.needs, input)
    } catch (error) {
      throw jobFailure(error)
    }
    if (!(needs instanceof Promise)) return needs as Needs | undefined
    const late = (needs as Promise<Needs | undefined>).catch((error: unknown) => {
      throw jobFailure(error)
    })
    const deadline = job.timeout ?? attemptDefaults.timeout
    const what = `The schema for the input of "${name}"`
    return waitFor(late, what, this.#options.kernel.clock, { signal, deadline })
  }

  #stageOptions(job: Job, { priority, signal, tenant }: Computation, name: string): SubmitOptions {
    const { retries, retryBaseDelay } = job
    // A place that is missing fails the attempt.
    const permits = this.#options.placesOf(tenant)[job.place]?.permitsOf?.(job)
    const place: SubmitOptions['place'] = permits ?? { place: job.place, shared: 'none' }
    return {
      name,
      priority,
      signal,
      place,
      retries,
      retryBaseDelay,
      wrapFailure: jobFailure,
    }
  }

  /** The limit is for waiting callers: promised work keeps its place in the queue (W4). */
  #onQueuedTooLong(work: Computation, task: AdmittedTask<unknown>, limit: number): void {
    const { handle } = work
    const what = shownName(handle)
    const error = new HeddleError('HDL_TIMEOUT', { what, limit, stage: 'queue' })
    if (work.holds.size === 0) return void task.cancel(error)
    for (const index of work.asked) this.#options.registry.notifyError(handle, index, error)
  }

  /** Tells every result that is wanted now. */
  async #make(work: Computation, source: Source, failures: unknown[]): Promise<void> {
    const { item } = work.served
    if (item === undefined) {
      const { value } = source.prepared
      const result = isEncoded(value) ? value : await this.#encode(value)
      while (work.take() !== undefined) this.#tell(work, 0, result)
      return
    }
    if (work.state !== 'making') this.#record(work, 'items', 'running')
    work.state = 'making'
    await this.#makeItems(work, item, source, failures)
    if (!work.isWhole || failures.length > 0 || work.hasUnstored) return
    const { handle } = work
    await this.#keepDerived(work, source, handle, (parent) =>
      // A parent that is stored again has lost the results that were made from it before.
      work.hasUnstored ? Promise.resolve() : this.#options.store.keepWhole(handle, parent),
    )
  }

  /**
   * How many results of one computation are made at a time, besides those that callers wait for: half of the second
   * stage, divided by the computations that use it. So one large computation does not close the door for others.
   */
  get #share(): number {
    return Math.max(1, Math.floor(this.#itemCapacity / 2 / this.#making))
  }

  /** All that are wanted, as many at a time as this computation has a share of seats. */
  async #makeItems(
    work: Computation,
    job: Job,
    source: Source,
    failures: unknown[],
  ): Promise<void> {
    const { signal } = work
    const making = new Set<Promise<void>>()
    // Opened by a result that was made and by a caller that asks for more. A race of all that are being made would add
    // a reaction to each of them for every result.
    const changed = new Gate({ kernel: this.#options.kernel })
    work.onMore = () => changed.open()
    this.#making++
    try {
      for (;;) {
        changed.close()
        const mayTake = work.isAsked || making.size < this.#share
        const index = mayTake ? work.take() : undefined
        if (index !== undefined) {
          const seat = await this.#itemSeat(work)
          const one = this.#makeItem(work, job, index, source, seat)
            .catch((error: unknown) => void failures.push(error))
            .finally(() => {
              making.delete(one)
              changed.open()
            })
          making.add(one)
        } else if (making.size > 0) await changed.wait()
        else break
      }
    } finally {
      this.#making--
      work.onMore = undefined
      // After an abort they end by the same signal.
      await Promise.all(making)
    }
    signal.throwIfAborted()
  }

  /** Work that was admitted is never turned away here, however many wait before it. */
  async #itemSeat({ priority, signal, tenant }: Computation): Promise<Seat> {
    using _permit = await this.#lobby.acquire({ priority, signal })
    return await this.#options.items.waitRoom({ priority, signal, tenant })
  }

  async #makeItem(
    work: Computation,
    job: Job,
    index: number,
    source: Source,
    seat: Seat,
  ): Promise<void> {
    const { handle, signal } = work
    const { store, items, registry } = this.#options
    const name = itemName(handle, index)
    const start: Start = { isAwaited: false }
    using held = seat
    const spans = work.spans?.stage('item', job.place, index)
    try {
      const stored = source.wasStored ? await store.item(handle, index, { signal }) : undefined
      if (stored !== undefined) return this.#tell(work, index, await this.#asEncoded(stored.value))
      const input: ItemInput<unknown> = { prepared: source.prepared.value, index }
      const run = (context: RunnerContext): unknown =>
        this.#runWhenBegun(work, start, job, input, context)
      const needs = this.#needsOf(job, input, work, shownName(handle, index))
      const task = items.submit(traced(spans, run), {
        ...this.#stageOptions(job, work, shownName(handle, index)),
        needs: needs instanceof Promise ? await needs : needs,
        traceparent: spans && (() => spans.traceparent()),
        key: name,
        reservation: held,
        timeout: work.served.limits.item ?? job.timeout,
        onReport: (report) => {
          spans?.onReport(report)
          const isItsOwn = report.type !== 'ended' || !start.isAwaited
          if (isItsOwn) this.#onItemReport(work, shownName(handle, index), index, report)
        },
      })
      const made = await work.follow(task)
      await this.#check(name, made, true)
      const value = encodeSmall(made) ?? (await this.#encode(made))
      this.#tell(work, index, value)
      this.#options.onItemMade(name)
      await this.#keepDerived(work, source, name, (parent) =>
        store.keepItem(handle, index, value, parent),
      )
    } catch (thrown) {
      const error = failureOf(start, thrown)
      spans?.end({ error })
      // Jobs throw no such errors: it could not be read or begun, and is made later.
      if (isError(error, 'HDL_STORE_FAILED')) work.unstored ??= error
      // What ends the work answers all callers.
      if (!signal.aborted) {
        this.#noteEnd(work, error, 'item', index)
        this.#options.onItemFailed(work, name, error)
        registry.notifyError(handle, index, error)
      }
      throw error
    } finally {
      spans?.end()
      work.made(index)
    }
  }

  /** A value stored before results were kept as bytes is encoded when it is read. */
  #asEncoded(value: unknown): Encoded | Promise<Encoded> {
    return isEncoded(value) ? value : this.#encode(value)
  }

  #encode(value: unknown): Promise<Encoded> {
    return encodeResult(value, this.#options.kernel.clock)
  }

  #tell(work: Computation, index: number, value: Encoded): void {
    // It may have been ended in the step in which the result came (W7).
    work.signal.throwIfAborted()
    work.results.set(index, value)
    this.#options.registry.notifySuccess(work.handle, index, value)
  }

  /** @throws `HDL_NOT_CLONEABLE` for a value that can never be stored or sent: the job has failed. */
  async #check(name: string, value: unknown, isAnswered: boolean): Promise<void> {
    if (isAnswered && isBytes(value)) return
    const problem = await findProblem(value, isAnswered, this.#options.kernel.clock)
    if (problem !== undefined) throw unusableResult(name, problem)
  }

  /** The version that results are derived from; undefined when the store did not take it, or not for long. */
  async #keepPrepared(work: Computation, prepared: Prepared): Promise<ParentVersion | undefined> {
    const { handle } = work
    const { store } = this.#options
    return this.#keep(work, handle, () => store.keepPrepared(handle, prepared))
  }

  /**
   * Stores a result of the first stage. When that stage was deleted in between, a promised result is still
   * stored, with its first stage stored again; a stale result without a promise is not stored.
   */
  async #keepDerived(
    work: Computation,
    source: Source,
    name: string,
    keep: (parent: ParentVersion) => Promise<void>,
  ): Promise<void> {
    for (let isLast = false; ; isLast = true) {
      const used = source.parent
      // Delivered and written in one step, if nothing is in the way.
      const parent = used instanceof Promise ? await used : used
      if (parent === undefined && work.unstored !== undefined) return
      // See #tell.
      work.signal.throwIfAborted()
      // Deleted between the write and the check of its version.
      const kept = parent === undefined ? Promise.reject(lostSource(work.handle)) : keep(parent)
      if (!isLast && work.holds.size > 0 && (await isGone(kept)) && !work.signal.aborted) {
        work.hasUnstored = true
        // If several find it gone, one stores it again.
        if (source.parent === used) source.parent = this.#keepPrepared(work, source.prepared)
        continue
      }
      return this.#keep(work, name, () => kept)
    }
  }

  /**
   * A result that the store refused is computed again for the next caller; for promised results see `run`.
   *
   * @throws the error of a result that can never be stored: the job has failed.
   */
  async #keep<T>(work: Computation, name: string, keep: () => Promise<T>): Promise<T | undefined> {
    try {
      const kept = await keep()
      this.#options.onStored()
      return kept
    } catch (error) {
      work.hasUnstored = true
      this.#options.onUnstored(name, error)
      if (isError(error, 'HDL_NOT_CLONEABLE') || isError(error, 'HDL_VALUE_TOO_LARGE')) throw error
      work.unstored ??= asError(error)
      return undefined
    }
  }

  /** An attempt failed, and there is another one. */
  #noteRetry(
    { handle, served, tenant, spans }: Computation,
    stage: string,
    { attempt, error, delay }: AttemptReport & { readonly type: 'retrying' },
    index?: number,
  ): void {
    this.#options.note?.({
      event: 'worker_error',
      job: served.name,
      handle,
      tenant,
      index,
      stage,
      attempt: attempt - 1,
      ...spans?.ids,
      ...reasonOf(error),
      retry_in_ms: Math.ceil(delay),
    })
  }

  /** How a computation ended that is not done, or one of its results that is not made. */
  #noteEnd(work: Computation, error: unknown, stage: string, index?: number): void {
    const { handle, served, tenant, signal } = work
    const isTimeout = isError(error, 'HDL_TIMEOUT')
    const event = signal.aborted ? 'cancelled' : isTimeout ? 'timeout' : 'worker_error'
    const named = { job: served.name, handle, tenant, index, stage }
    this.#options.note?.({ event, ...named, ...work.spans?.ids, ...reasonOf(error) })
  }

  #fail(work: Computation, error: unknown): void {
    const { handle, stage } = work
    work.end('ended', error)
    noteFailedComputation(error, work)
    work.spans?.end(work.signal.aborted ? 'cancelled' : 'failed', error)
    this.#noteEnd(work, error, stage)
    // Drained work was acknowledged, and continues after the next start; so does promised work that
    // could not be stored.
    const { aborted, reason } = work.signal
    const isUnstored = work.unstored !== undefined && error === work.unstored
    const isLeft = aborted
      ? isError(reason, 'HDL_DRAINING')
      : isUnstored || isError(error, 'HDL_STORE_FAILED')
    if (isLeft && work.ledger !== undefined) this.#options.onLeft(work)
    note(work, (entry) => {
      if (isLeft) entry.putBack()
      else entry.end(aborted ? 'cancelled' : 'finished')
    })
    this.#options.onEnd(work, error)
    // Callers that wait for the handle of an abandoned computation wait for the one that replaced it.
    if (work.isAbandoned) return
    for (const index of work.asked) this.#options.registry.notifyError(handle, index, error)
  }
}

/** Whether an attempt of a stage waits for the store to say that its code may run. */
interface Start {
  isAwaited: boolean
}

/** The error of a stage: not its own fault while its start was not written. */
function failureOf({ isAwaited }: Start, cause: unknown): unknown {
  if (!isAwaited) return cause
  const details = { store: 'The store', action: 'note that a job runs', cause: describe(cause) }
  return new HeddleError('HDL_STORE_FAILED', details, { cause })
}

/** The job's own error; its wrapper is for clients. */
function reasonOf(thrown: unknown): Pick<LogEvent, 'code' | 'reason'> {
  const error = isError(thrown, 'HDL_JOB_FAILED') ? (thrown.cause ?? thrown) : thrown
  const code = error instanceof HeddleError ? error.code : undefined
  return { code, reason: describe(error) }
}

/** A job that is called with the span of its attempt as the active one. */
function traced(
  spans: StageSpans | undefined,
  run: (context: RunnerContext) => unknown,
): (context: RunnerContext) => unknown {
  return spans === undefined ? run : (context) => spans.within(() => run(context))
}

async function isGone(kept: Promise<void>): Promise<boolean> {
  try {
    await kept
    return false
  } catch (error) {
    return isError(error, 'HDL_GONE')
  }
}

/** Writes to the ledger if the work is in it; in the order of the calls. */
function note(work: Computation, write: (entry: LedgerEntry) => void): void {
  // Callers that wait for the acknowledgement get an error when it fails.
  work.ledger?.then(write).catch((error: HeddleError) => void error)
}

/** Keeps the row, and writes it if the work is in the ledger. */
function record(work: Computation, row: StageRow): void {
  work.story.add(row)
  note(work, (entry) => entry.write(row))
}

/** Writes the events from before the work was in the ledger. To be called in the step in which it comes there. */
export function noteStory(work: Computation): void {
  const rows = work.story.rows()
  note(work, (entry) => {
    for (const row of rows) entry.write(row)
  })
}
