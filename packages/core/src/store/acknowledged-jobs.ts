/**
 * The role of acknowledged jobs: jobs promised to a caller that have no outcome yet.
 *
 *     acknowledging ──written──▶ queued ──▶ running ──▶ ending | cancelling ──written──▶ ended
 *                                  ▲           │
 *                                  └── recall ─┘  its server died: interrupted, at most three times,
 *                                                 then set aside until an operator retries it
 *
 * One row at the acknowledgement and one at the end. A row says that the code of a job runs only if it still runs a few
 * milliseconds later: a short job costs two rows. A job that is recalled runs again only when that row is durable, so a
 * job that ends the process at once is counted too.
 *
 * Invariants, quoted by the simulation (C3, C5, C8, C9, C13 of docs/design/store.md):
 *  A1  A job is acknowledged only when its row is durable and its server is sure of the shard.
 *  A2  A job starts only while its server is sure of the shard and has the job's version.
 *  A3  An outcome is recorded once: by the owner of the shard, with its epoch.
 *  A4  A handle names one job in the store: the first caller makes it, the second attaches.
 *  A5  After a take-over every open job of the shard is continued by the new owner. One that was running is
 *      interrupted; after three interruptions it is set aside, and the others continue without it. Jobs that were
 *      interrupted are suspects: they come after the others and run one at a time, so that the culprit is found.
 *  A6  A shard that is lost leaves nothing behind: its attempts are aborted with source `takeover`.
 */
import { HeddleError, isError } from '../errors.ts'
import { AbortCallback } from '../kernel/abort.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { soon, type Timer } from '../kernel/clock.ts'
import type { Kernel } from '../kernel/kernel.ts'
import {
  Life,
  type RunningService,
  type ServiceState,
  type StopOptions,
} from '../kernel/service.ts'
import { mostInterruptions } from '../kernel/most-interruptions.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { openScope, type Scope } from '../sync/scope.ts'
import type { Committer } from './committer.ts'
import type { Grant } from './database.ts'
import type { Ownership } from './ownership.ts'
import { shardOf } from './shard-of.ts'

/** A job as the caller hands it in. */
export interface JobRequest {
  /** Unique in its store: the second request with one handle attaches to the first. */
  readonly handle: string
  readonly job: string
  readonly version: string
  readonly input: Uint8Array
}

/** A job that has no outcome. */
export interface OpenJob extends JobRequest {
  /** Whether a row says that an attempt was under way since the last interruption. */
  readonly started: boolean
  readonly interruptions: number
  readonly setAside: boolean
}

export type JobRow =
  | ({ readonly kind: 'job-acknowledged' } & JobRequest)
  | { readonly kind: 'job-started'; readonly handle: string }
  | { readonly kind: 'job-interrupted'; readonly handle: string; readonly setAside: boolean }
  /** Its server stops, and the attempt with it: that is not the job's fault, and counts as no interruption. */
  | { readonly kind: 'job-put-back'; readonly handle: string }
  | { readonly kind: 'job-ended'; readonly handle: string; readonly outcome: string }

/** What the role reads. */
export interface JobReads {
  /** All jobs of these shards that have no outcome, in the order in which they were acknowledged: one query. */
  openJobs(shards: readonly number[]): Promise<readonly OpenJob[]>
  /** Outcomes of jobs whose handles are this word, a space and something else: each outcome once. */
  familyOutcomes(word: string): Promise<readonly string[]>
}

/** The store's view of a job that is under way here. */
export interface JobAttempt {
  readonly signal: AbortSignal
  /** Whether it was acknowledged in an earlier life, or by another server. */
  readonly isRecalled: boolean
  /**
   * The code of the job runs from here on. Resolves when it may: at once, or, for a job that is recalled, when a row says so.
   *
   * *Cancellation*: none.
   * @throws `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`, `HDL_CLOSED`.
   */
  readonly begin: () => Promise<void>
  /** The code of the job does not run for now: it waits for a signal, for a time or for its next attempt. */
  readonly rest: () => void
}

/** The runner cannot run the job as it is: it stays open, is listed, and is tried again by the next start. */
export interface Declined {
  readonly declined: string
}

/** Runs the attempts of a job. */
export interface JobRunner {
  /** Whether this server has the job in this version (C13). */
  has(job: string, version: string): boolean
  /**
   * Resolves with the outcome to record, or with undefined when the job is left to the next owner of its shard. Settles
   * soon after the signal aborts.
   */
  run(job: JobRequest, attempt: JobAttempt): Promise<string | Declined | undefined>
}

export interface AcknowledgedJobsOptions {
  readonly ownership: Pick<Ownership, 'trusts' | 'epochOf'>
  readonly committer: Pick<Committer<JobRow>, 'write'>
  readonly database: Pick<JobReads, 'openJobs'>
  readonly kernel: Kernel
  readonly runner: JobRunner
  /** How many shards there are. Default 256. */
  readonly shards?: number
  /** The shard of a handle. Default: by the hash of all of it. */
  readonly shardOf?: (handle: string) => number
}

const optionNames = {
  ownership: 1,
  committer: 1,
  database: 1,
  kernel: 1,
  runner: 1,
  shards: 1,
  shardOf: 1,
} satisfies OptionNames<AcknowledgedJobsOptions>

export type Acknowledgement = 'acknowledged' | 'attached'

/** Milliseconds before a read of the database is tried again. */
const readAgainAfter = 500

/** Milliseconds: before a job that was put back again and again is run once more. */
const longestPause = 60_000

/** Milliseconds that the code of a job runs before a row says so. */
const markAfter = 5

interface Entry {
  readonly request: JobRequest
  readonly isRecalled: boolean
  state: 'queued' | 'running' | 'cancelling' | 'ending' | 'put back'
  /** Whether a row says that its code runs. */
  mark: 'none' | 'wanted' | 'written'
  /** For a recalled job: when its row is durable. All callers wait for the same promise. */
  begun: Promise<void> | undefined
  /** The row of its end, once it is on its way. */
  ended: Promise<void> | undefined
  readonly interruptions: number
  /** How often it was put back by this server. */
  putBacks: number
  controller: AbortController | undefined
}

/** A job that was set aside: after three interruptions, or because it cannot be run as it is. */
export interface SetAsideJob extends OpenJob {
  readonly reason?: string
}

/** A job that has not begun. */
export interface QueuedJob extends JobRequest {
  /**
   * `suspect`: it was running when its server died, and such jobs run one at a time (A5). `put back`: it is tried again after a
   * pause.
   */
  readonly waitsAs: 'queued' | 'suspect' | 'put back'
}

/** The open jobs of one shard, for as long as this server owns it with one epoch. */
interface ShardJobs {
  readonly grant: Grant
  readonly entries: Map<string, Entry>
  readonly setAside: Map<string, SetAsideJob>
  /** Acknowledgements on their way, by handle. */
  readonly acknowledging: Map<string, Promise<Acknowledgement>>
  isRead: boolean
  isLost: boolean
}

export interface AcknowledgedJobsStats {
  readonly state: ServiceState
  readonly shards: number
  /** Jobs without an outcome. */
  readonly open: number
  readonly running: number
  /** Put back by their runner: they run again in a moment. */
  readonly putBack: number
  readonly setAside: number
}

export class AcknowledgedJobs implements RunningService {
  readonly #options: AcknowledgedJobsOptions
  readonly #shards = new Map<number, ShardJobs>()
  /** Acquired in this turn, to be read. */
  readonly #unread: ShardJobs[] = []
  /** Acknowledgements that are durable and wait until the server is sure again (A1). */
  readonly #unsure = new Set<() => void>()
  /** Jobs whose code runs, and of which no row says so yet. */
  readonly #unmarked = new Map<Entry, ShardJobs>()
  #marking: Timer | undefined
  /** Whether the process ends by an error that one of its jobs may have caused. */
  #isCrashing = false
  /** Jobs that were interrupted, in the order in which they run (A5). */
  readonly #suspects = new Map<Entry, ShardJobs>()
  /** The suspect whose code runs now. */
  #suspect: Entry | undefined
  readonly #readers: WaiterList<void>

  /** The attempts, and the reads of jobs of an earlier owner. */
  readonly #scope: Scope
  /** Aborts when it is stopped: nothing is read any more. */
  readonly #stopped = new AbortController()
  readonly #life: Life

  constructor(options: AcknowledgedJobsOptions) {
    checkOptions(options, optionNames)
    this.#options = options
    this.#readers = new WaiterList(options.kernel.clock)
    const name = 'acknowledged jobs'
    this.#scope = openScope({ name, kernel: options.kernel })
    this.#life = new Life({
      what: 'The role of acknowledged jobs',
      clock: options.kernel.clock,
      deadline: 5_000,
      stop: (enough) => this.#end(enough),
    })
  }

  /**
   * Starts and acknowledges nothing any more, and waits for the attempts under way. At the deadline they are aborted
   * with source `shutdown`: they stay open, and the next owner of their shard runs them again.
   *
   * *Cancellation*: the deadline and the signal cut it short.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): AcknowledgedJobsStats {
    const shards = [...this.#shards.values()]
    const entries = shards.flatMap((shard) => [...shard.entries.values()])
    return {
      state: this.#life.state,
      shards: shards.length,
      open: entries.length,
      running: entries.filter(({ state }) => state === 'running').length,
      putBack: entries.filter(({ state }) => state === 'put back').length,
      setAside: shards.reduce((sum, { setAside }) => sum + setAside.size, 0),
    }
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#stopped.abort()
    this.#wakeUnsure()
    this.#readers.wakeAll()
    const cut = (): void => this.#scope.cancel('the server stops', { source: 'shutdown' })
    if (enough.aborted) cut()
    else enough.addEventListener('abort', cut, { once: true })
    // A write that takes longer than the grace of the scope is answered by the committer, which is stopped after this.
    await this.#scope.join().catch(() => undefined)
    enough.removeEventListener('abort', cut)
    this.#marking?.cancel()
  }

  /**
   * Resolves when the open jobs of at least this many shards were read, or when it is stopped.
   *
   * *Cancellation*: ends the wait. *Fairness*: all are woken.
   */
  async waitRead(shards: number, options: WaitOptions = {}): Promise<void> {
    while (this.#life.isRunning) {
      let read = 0
      for (const { isRead } of this.#shards.values()) if (isRead) read++
      if (read >= shards) return
      await this.#readers.wait('The open jobs', options)
    }
  }

  /**
   * Resolves when the open jobs of a shard were read: until then this server does not know which those are. True when that had to be
   * waited for. At once when this server does not own the shard, or is stopped.
   *
   * *Cancellation*: ends the wait. *Fairness*: all are woken.
   */
  async waitShardRead(
    number: number,
    { signal, deadline = Infinity }: WaitOptions,
  ): Promise<boolean> {
    const { clock } = this.#options.kernel
    const until = clock.now() + deadline
    for (let waited = false; ; waited = true) {
      const shard = this.#shards.get(number)
      if (!this.#life.isRunning || shard === undefined || shard.isRead) return waited
      await this.#readers.wait('The open jobs', { signal, deadline: until - clock.now() })
    }
  }

  /**
   * Makes a job durable, or attaches to the one that has its handle.
   *
   * *Cancellation*: none; the job exists once it was submitted.
   * @param interruptions That it has behind it, when it comes from another record of acknowledged jobs.
   * @throws `HDL_NOT_OWNER` and `HDL_CLOSED` before anything was written; `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`.
   */
  async acknowledge(request: JobRequest, interruptions = 0): Promise<Acknowledgement> {
    if (!this.#life.isRunning) throw this.#life.closed()
    const shard = this.#sureShard(this.#shardOf(request.handle))
    const { handle } = request
    if (shard.entries.has(handle) || shard.setAside.has(handle)) return 'attached'
    const underWay = shard.acknowledging.get(handle)
    if (underWay !== undefined) return underWay.then(() => 'attached')
    const acknowledging = this.#acknowledge(shard, request, interruptions)
    shard.acknowledging.set(handle, acknowledging)
    try {
      return await acknowledging
    } finally {
      shard.acknowledging.delete(handle)
    }
  }

  /** Reads the jobs of an earlier owner, and continues them. */
  acquired(grant: Grant): void {
    const shard: ShardJobs = {
      grant,
      entries: new Map(),
      setAside: new Map(),
      acknowledging: new Map(),
      isRead: false,
      isLost: false,
    }
    this.#shards.set(grant.shard, shard)
    // Shards that are acquired together are read together.
    if (this.#unread.push(shard) > 1) return
    soon(() => {
      const unread = this.#unread.splice(0)
      if (this.#life.isRunning) this.#scope.launch(() => this.#recall(unread))
    })
  }

  lost(grant: Grant): void {
    const shard = this.#shards.get(grant.shard)
    if (shard?.grant.epoch !== grant.epoch) return
    this.#shards.delete(grant.shard)
    shard.isLost = true
    const reason = new HeddleError('HDL_CANCELLED', {
      what: `Shard ${grant.shard}`,
      source: 'takeover',
      reason: 'another server owns it now',
    })
    for (const entry of shard.entries.values()) {
      this.#unmark(entry)
      this.#suspects.delete(entry)
      entry.controller?.abort(reason)
    }
    this.#wakeUnsure()
    this.#readers.wakeAll()
  }

  /** The server is sure of its shards again, or knows of a new version: starts all jobs that may start. */
  resume(): void {
    this.#wakeUnsure()
    for (const shard of this.#shards.values()) this.#startReady(shard)
  }

  /**
   * Ends a job from outside, wherever it stands: aborts its attempt in the same step, and resolves when its end is durable. One
   * whose end is being written keeps that outcome.
   *
   * *Cancellation*: none. @throws what a write throws.
   */
  async end(handle: string, outcome: string): Promise<void> {
    const shard = this.#sureShard(this.#shardOf(handle))
    const entry = shard.entries.get(handle)
    if (entry === undefined) return
    if (entry.state !== 'ending' && entry.state !== 'cancelling') {
      this.#cancel(entry)
      entry.ended = this.#recordEnd(shard, handle, outcome)
    }
    await entry.ended
  }

  #cancel(entry: Entry): void {
    const what = entry.request.handle
    entry.state = 'cancelling'
    this.#suspects.delete(entry)
    this.#unmark(entry)
    entry.controller?.abort(
      new HeddleError('HDL_CANCELLED', { what, source: 'user', reason: 'a cancel was sent' }),
    )
  }

  /**
   * The process is about to end by an error that was not caught. Any job whose code runs may have caused it: what is put back from
   * here on counts as interrupted, as after a kill (A5).
   */
  blameRunning(): void {
    this.#isCrashing = true
    this.#marking?.cancel()
    this.#mark()
  }

  /** Whether nothing of the shard is under way here. */
  isIdle(shard: number): boolean {
    const jobs = this.#shards.get(shard)
    if (jobs === undefined) return true
    return jobs.isRead && jobs.acknowledging.size === 0 && jobs.entries.size === 0
  }

  /** Jobs that were set aside, of all shards of this server. */
  setAside(): readonly SetAsideJob[] {
    return [...this.#shards.values()].flatMap(({ setAside }) => [...setAside.values()])
  }

  /** Ends a job that was set aside. *Cancellation*: none. @throws the error of a write. */
  async endSetAside(handle: string, outcome: string): Promise<void> {
    const shard = this.#sureShard(this.#shardOf(handle))
    if (!shard.setAside.has(handle)) return
    await this.#options.committer.write(shard.grant, [{ kind: 'job-ended', handle, outcome }])
    shard.setAside.delete(handle)
  }

  /** Handles of the jobs of a shard that have no outcome, and were not set aside. */
  open(shard: number): readonly string[] {
    return [...(this.#shards.get(shard)?.entries.keys() ?? [])]
  }

  /** Jobs that have not begun, and why: of one shard, or of all shards of this server. */
  queued(shard?: number): readonly QueuedJob[] {
    const shards = shard === undefined ? this.#shards.values() : [this.#shards.get(shard)]
    const found: QueuedJob[] = []
    for (const each of shards) {
      for (const { request, state, interruptions } of each?.entries.values() ?? []) {
        if (state === 'put back') found.push({ ...request, waitsAs: 'put back' })
        if (state !== 'queued') continue
        found.push({ ...request, waitsAs: interruptions > 0 ? 'suspect' : 'queued' })
      }
    }
    return found
  }

  /** C13: jobs that wait for a server which has their version. */
  waiting(): readonly JobRequest[] {
    const { runner } = this.#options
    const found: JobRequest[] = []
    for (const { entries } of this.#shards.values()) {
      for (const { state, request } of entries.values()) {
        if (state === 'queued' && !runner.has(request.job, request.version)) found.push(request)
      }
    }
    return found
  }

  #sureShard(number: number): ShardJobs {
    const shard = this.#shards.get(number)
    if (shard?.isRead === true && this.#options.ownership.trusts(number)) return shard
    throw new HeddleError('HDL_NOT_OWNER', { shard: number, retryAfter: readAgainAfter })
  }

  async #acknowledge(
    shard: ShardJobs,
    request: JobRequest,
    interruptions: number,
  ): Promise<Acknowledgement> {
    const { handle } = request
    const { committer } = this.#options
    const rows: JobRow[] = [{ kind: 'job-acknowledged', ...request }]
    for (let count = 1; count <= interruptions; count++) {
      const setAside = count >= mostInterruptions
      rows.push({ kind: 'job-started', handle }, { kind: 'job-interrupted', handle, setAside })
    }
    await committer.write(shard.grant, rows)
    if (!shard.isLost) {
      const wasInterrupted = interruptions > 0
      const job = { ...request, started: false, interruptions, setAside: false }
      this.#enter(shard, wasInterrupted ? job : request, interruptions, wasInterrupted)
      this.#startReady(shard, wasInterrupted ? undefined : shard.entries.get(handle))
    }
    await this.#whenSure(shard)
    return 'acknowledged'
  }

  /** A1, A2: the answer to a write may come when the lease has run out, and another server has the shard. */
  async #whenSure(shard: ShardJobs): Promise<void> {
    while (!this.#options.ownership.trusts(shard.grant.shard) && !shard.isLost) {
      if (!this.#life.isRunning) throw this.#life.closed()
      await new Promise<void>((wake) => this.#unsure.add(wake))
    }
    if (shard.isLost) throw new HeddleError('HDL_OWNERSHIP_LOST', shard.grant)
  }

  #wakeUnsure(): void {
    const waiting = [...this.#unsure]
    this.#unsure.clear()
    for (const wake of waiting) wake()
  }

  async #recall(shards: readonly ShardJobs[]): Promise<void> {
    let left = shards
    while ((left = left.filter(({ isLost, isRead }) => !isLost && !isRead)).length > 0) {
      if (!this.#life.isRunning) return
      try {
        const open = await this.#options.database.openJobs(left.map(({ grant }) => grant.shard))
        const byShard = Map.groupBy(open, ({ handle }) => this.#shardOf(handle))
        const read = left.map((shard) =>
          this.#interrupt(shard, byShard.get(shard.grant.shard) ?? []),
        )
        await Promise.allSettled(read)
        this.#startInOrder(open)
      } catch {
        // The database is away: read again below.
      }
      if (left.every(({ isLost, isRead }) => isLost || isRead)) return
      await this.#pause()
    }
  }

  /** Ends early when it is stopped. */
  async #pause(deadline = readAgainAfter): Promise<void> {
    const waiting = new WaiterList<void>(this.#options.kernel.clock)
    const options = { deadline, signal: this.#stopped.signal }
    await waiting.wait('A pause', options).catch(() => undefined)
  }

  /** A5: writes down which jobs were running when their server died, before any of them runs again. */
  async #interrupt(shard: ShardJobs, open: readonly OpenJob[]): Promise<void> {
    const suspects = open.filter(({ started, setAside }) => started && !setAside)
    const rows = suspects.map(({ handle, interruptions }): JobRow => {
      const setAside = interruptions + 1 >= mostInterruptions
      return { kind: 'job-interrupted', handle, setAside }
    })
    if (rows.length > 0) await this.#options.committer.write(shard.grant, rows)
    for (const job of open) {
      const interruptions = job.interruptions + (job.started && !job.setAside ? 1 : 0)
      if (job.setAside) shard.setAside.set(job.handle, job)
      else this.#enter(shard, job, interruptions, true)
    }
    shard.isRead = true
  }

  /** What was read together starts in the order of its acknowledgement, whatever its shard. */
  #startInOrder(open: readonly OpenJob[]): void {
    for (const { handle } of open) {
      const shard = this.#shards.get(this.#shardOf(handle))
      const entry = shard?.entries.get(handle)
      if (entry?.interruptions === 0) this.#startReady(shard!, entry)
    }
    this.#startSuspect()
    this.#readers.wakeAll()
  }

  #enter(shard: ShardJobs, job: JobRequest, interruptions: number, isRecalled: boolean): void {
    const { handle, job: name, version, input } = job
    if (interruptions >= mostInterruptions) {
      const aside = { handle, job: name, version, input, started: false, interruptions }
      shard.setAside.set(handle, { ...aside, setAside: true })
      return
    }
    const request = isRecalled ? { handle, job: name, version, input } : job
    const state = { state: 'queued', mark: 'none', putBacks: 0 } as const
    const none = { begun: undefined, ended: undefined, controller: undefined }
    const entry: Entry = { request, isRecalled, interruptions, ...state, ...none }
    shard.entries.set(handle, entry)
    if (interruptions > 0) this.#suspects.set(entry, shard)
  }

  #shardOf(handle: string): number {
    return this.#options.shardOf?.(handle) ?? shardOf(handle, this.#options.shards)
  }

  /** Starts jobs that may start: one entry, or all of the shard. */
  #startReady(shard: ShardJobs, only?: Entry): void {
    const { ownership } = this.#options
    if (!this.#life.isRunning || !ownership.trusts(shard.grant.shard)) return
    if (only !== undefined) return this.#start(shard, only)
    for (const entry of shard.entries.values()) {
      if (entry.interruptions === 0) this.#start(shard, entry)
    }
    this.#startSuspect()
  }

  /** A5: one at a time. */
  #startSuspect(): void {
    const { ownership } = this.#options
    if (!this.#life.isRunning || this.#suspect !== undefined) return
    for (const [entry, shard] of this.#suspects) {
      if (shard.isLost) this.#suspects.delete(entry)
      else if (ownership.trusts(shard.grant.shard)) this.#start(shard, entry)
      if (this.#suspect !== undefined) return
    }
  }

  #start(shard: ShardJobs, entry: Entry): void {
    const { job, version } = entry.request
    if (entry.state !== 'queued' || !this.#options.runner.has(job, version)) return
    entry.state = 'running'
    if (entry.interruptions > 0) this.#suspect = entry
    // The scope keeps it, and waits for it in stop().
    this.#scope.launch(({ signal }) => this.#run(shard, entry, signal))
  }

  async #run(shard: ShardJobs, entry: Entry, stopped: AbortSignal): Promise<void> {
    const { runner } = this.#options
    const { request, isRecalled } = entry
    const { handle } = request
    const controller = new AbortController()
    using _ = new AbortCallback(stopped, (reason) => controller.abort(reason))
    entry.controller = controller
    const { signal } = controller
    try {
      const begin = (): Promise<void> => this.#begin(shard, entry)
      const rest = (): void => this.#rest(shard, entry)
      const attempt = runner.run(request, { signal, isRecalled, begin, rest })
      // begin() has failed: the store did not answer for so long that the write was given up. The job is put back.
      const outcome = await attempt.catch((error: unknown) => {
        if (signal.aborted || shard.isLost) throw error
        return undefined
      })
      // A cancel that came first has decided, whatever the attempt made of it.
      if (signal.aborted) return
      entry.state = 'ending'
      this.#unmark(entry)
      if (outcome === undefined) return await this.#putBack(shard, entry)
      if (typeof outcome !== 'string') return this.#decline(shard, entry, outcome)
      this.#suspects.delete(entry)
      await (entry.ended = this.#recordEnd(shard, handle, outcome))
    } catch {
      // Its signal aborted: by a cancel, which records the outcome, or because the shard is lost, and its next owner runs the
      // job again.
    } finally {
      this.#unmark(entry)
      this.#freeSuspect(entry)
    }
  }

  #freeSuspect(entry: Entry): void {
    if (this.#suspect !== entry) return
    this.#suspect = undefined
    this.#startSuspect()
  }

  async #begin(shard: ShardJobs, entry: Entry): Promise<void> {
    if (entry.state !== 'running') return
    if (entry.isRecalled) return (entry.begun ??= this.#beginRecalled(shard, entry))
    if (entry.mark !== 'none') return
    entry.mark = 'wanted'
    this.#unmarked.set(entry, shard)
    this.#markAfter(markAfter)
  }

  async #beginRecalled(shard: ShardJobs, entry: Entry): Promise<void> {
    entry.mark = 'written'
    const { handle } = entry.request
    await this.#options.committer.write(shard.grant, [{ kind: 'job-started', handle }])
    await this.#whenSure(shard)
  }

  #rest(shard: ShardJobs, entry: Entry): void {
    this.#unmark(entry)
    if (entry.mark === 'written') {
      const { handle } = entry.request
      // Not awaited: a refusal ends the attempt through lost().
      const row: JobRow = { kind: 'job-put-back', handle }
      this.#options.committer.write(shard.grant, [row]).catch(() => undefined)
    }
    entry.mark = 'none'
    entry.begun = undefined
    this.#freeSuspect(entry)
  }

  /** Writes which jobs run now: it tells the next owner which of them a crash has interrupted. */
  #mark(): void {
    this.#marking = undefined
    const byShard = new Map<ShardJobs, Entry[]>()
    for (const [entry, shard] of this.#unmarked) {
      entry.mark = 'written'
      const entries = byShard.get(shard)
      if (entries === undefined) byShard.set(shard, [entry])
      else entries.push(entry)
    }
    this.#unmarked.clear()
    for (const [shard, entries] of byShard) {
      const rows = entries.map(({ request: { handle } }): JobRow => ({
        kind: 'job-started',
        handle,
      }))
      // Not awaited: a refusal ends the attempts through lost().
      this.#options.committer.write(shard.grant, rows).catch(() => this.#markAgain(shard, entries))
    }
  }

  /** The row was not written: without it a job that ends the process would never count as interrupted (A5). */
  #markAgain(shard: ShardJobs, entries: readonly Entry[]): void {
    if (shard.isLost || !this.#life.isRunning) return
    for (const entry of entries) {
      if (entry.state !== 'running' || entry.mark !== 'written') continue
      entry.mark = 'wanted'
      this.#unmarked.set(entry, shard)
    }
    if (this.#unmarked.size > 0) this.#markAfter(readAgainAfter)
  }

  #markAfter(delay: number): void {
    this.#marking ??= this.#options.kernel.clock.setTimer(delay, () => this.#mark())
  }

  #unmark(entry: Entry): void {
    if (!this.#unmarked.delete(entry)) return
    entry.mark = 'none'
    if (this.#unmarked.size > 0) return
    this.#marking?.cancel()
    this.#marking = undefined
  }

  /** It cannot be run as it is: it stays open in the store, and is listed. */
  #decline(shard: ShardJobs, entry: Entry, { declined }: Declined): void {
    const { request, interruptions } = entry
    shard.entries.delete(request.handle)
    this.#suspects.delete(entry)
    const open = { started: false, interruptions, setAside: true, reason: declined }
    if (!shard.isLost) shard.setAside.set(request.handle, { ...request, ...open })
  }

  /** It is not the fault of the job: it runs again, here if the server goes on, else at the next owner of the shard. */
  async #putBack(shard: ShardJobs, entry: Entry): Promise<void> {
    const { handle } = entry.request
    entry.state = 'put back'
    entry.controller = undefined
    if (entry.mark === 'written' && !this.#isCrashing) {
      await this.#insist(shard, { kind: 'job-put-back', handle })
    }
    // The obstacle to its end may last, and each try runs the job once more.
    await this.#pause(Math.min(readAgainAfter * 2 ** entry.putBacks++, longestPause))
    if (shard.isLost || entry.state !== 'put back') return
    entry.state = 'queued'
    entry.mark = 'none'
    entry.begun = undefined
    this.#startReady(shard)
  }

  async #recordEnd(shard: ShardJobs, handle: string, outcome: string): Promise<void> {
    await this.#insist(shard, { kind: 'job-ended', handle, outcome })
    shard.entries.delete(handle)
  }

  /** What has to be recorded waits in memory for as long as the database is away (C9). */
  async #insist(shard: ShardJobs, row: JobRow): Promise<void> {
    for (;;) {
      try {
        await this.#options.committer.write(shard.grant, [row])
        return
      } catch (error) {
        if (shard.isLost || isError(error, 'HDL_OWNERSHIP_LOST')) throw error
        // This or the committer was stopped: the next owner runs the job again.
        if (!this.#life.isRunning || isError(error, 'HDL_CLOSED')) throw error
      }
      await this.#pause()
    }
  }
}
