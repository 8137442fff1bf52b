/**
 * The role of acknowledged jobs: what was promised to a caller and has no outcome yet.
 *
 *     acknowledging ──written──▶ queued ──▶ running ──▶ ending | cancelling ──written──▶ ended
 *                                  ▲           │
 *                                  └── recall ─┘  its server died: interrupted, at most three times,
 *                                                 then set aside until an operator retries it
 *
 * One row at the acknowledgement and one at the end. A row says that an attempt has started only if the
 * attempt is still under way at the next commit: a short job costs two rows.
 *
 * Invariants, quoted by the simulation (C3, C5, C8, C9, C13 of docs/design/store.md):
 *  A1  A job is acknowledged only when its row is durable and its server is sure of the shard.
 *  A2  A job starts only while its server is sure of the shard and has the job's version.
 *  A3  An outcome is recorded once: by the owner of the shard, with its epoch.
 *  A4  A handle names one job in the store: of two callers one makes it, the other attaches.
 *  A5  After a take-over every open job of the shard is continued by the new owner. One that was running is
 *      interrupted; after three interruptions it is set aside, and the others continue without it.
 *  A6  A shard that is lost leaves nothing behind: its attempts are aborted with source `takeover`.
 */
import { HeddleError, isError } from '../errors.ts'
import { AbortCallback } from '../kernel/abort.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { soon } from '../kernel/clock.ts'
import type { Kernel } from '../kernel/kernel.ts'
import {
  Life,
  type RunningService,
  type ServiceState,
  type StopOptions,
} from '../kernel/service.ts'
import { WaiterList } from '../kernel/waiters.ts'
import { openScope, type Scope } from '../sync/scope.ts'
import type { Committer } from './committer.ts'
import type { Grant } from './database.ts'
import type { Effects } from './mailbox.ts'
import type { Ownership } from './ownership.ts'
import { shardOf } from './shard-of.ts'

/** A job as the caller hands it in. */
export interface JobRequest {
  /** Unique in its store: of two requests with one handle the second attaches to the first. */
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
  /** What became of a job; undefined while it has no outcome. */
  recordedOutcome(handle: string): Promise<string | undefined>
}

/** Runs the attempts of a job. */
export interface JobRunner {
  /** Whether this server has the job in this version (C13). */
  has(job: string, version: string): boolean
  /**
   * Resolves with the outcome to record, or with undefined when the job is left to the next owner of its shard. Settles
   * soon after the signal aborts.
   */
  run(job: JobRequest, signal: AbortSignal): Promise<string | undefined>
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

/** A job that was interrupted this often is set aside. */
const mostInterruptions = 3

/** Milliseconds before a read of the database is tried again. */
const readAgainAfter = 500

interface Entry {
  readonly request: JobRequest
  state: 'queued' | 'running' | 'cancelling' | 'ending'
  interruptions: number
  controller: AbortController | undefined
}

/** The open jobs of one shard, for as long as this server owns it with one epoch. */
interface ShardJobs {
  readonly grant: Grant
  readonly entries: Map<string, Entry>
  readonly setAside: Map<string, OpenJob>
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
  readonly setAside: number
}

export class AcknowledgedJobs implements RunningService {
  readonly #options: AcknowledgedJobsOptions
  readonly #shards = new Map<number, ShardJobs>()
  /** Acquired in this turn, to be read. */
  readonly #unread: ShardJobs[] = []
  /** Acknowledgements that are durable and wait until the server is sure again (A1). */
  readonly #unsure = new Set<() => void>()

  /** The attempts, and the reads of what an earlier owner left. */
  readonly #scope: Scope
  /** Aborts when it is stopped: nothing is read any more. */
  readonly #stopped = new AbortController()
  readonly #life: Life

  constructor(options: AcknowledgedJobsOptions) {
    checkOptions(options, optionNames)
    this.#options = options
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
      setAside: shards.reduce((sum, { setAside }) => sum + setAside.size, 0),
    }
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#stopped.abort()
    this.#wakeUnsure()
    const cut = (): void => this.#scope.cancel('the server stops', { source: 'shutdown' })
    if (enough.aborted) cut()
    else enough.addEventListener('abort', cut, { once: true })
    await this.#scope.join()
    enough.removeEventListener('abort', cut)
  }

  /**
   * Makes a job durable, or attaches to the one that has its handle.
   *
   * *Cancellation*: none; the job exists once it was handed in.
   * @throws `HDL_NOT_OWNER` and `HDL_CLOSED` before anything was written; `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`.
   */
  async acknowledge(request: JobRequest): Promise<Acknowledgement> {
    if (!this.#life.isRunning) throw this.#life.closed()
    const shard = this.#sureShard(this.#shardOf(request.handle))
    const { handle } = request
    if (shard.entries.has(handle) || shard.setAside.has(handle)) return 'attached'
    const underWay = shard.acknowledging.get(handle)
    if (underWay !== undefined) return underWay.then(() => 'attached')
    const acknowledging = this.#acknowledge(shard, request)
    shard.acknowledging.set(handle, acknowledging)
    try {
      return await acknowledging
    } finally {
      shard.acknowledging.delete(handle)
    }
  }

  /** Reads what an earlier owner left, and continues it. */
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
    for (const { controller } of shard.entries.values()) controller?.abort(reason)
    this.#wakeUnsure()
  }

  /** The server is sure of its shards again, or has been told of a new version: starts what may start. */
  resume(): void {
    this.#wakeUnsure()
    for (const shard of this.#shards.values()) this.#startReady(shard)
  }

  /**
   * Ends a job as cancelled: aborts its attempt; the outcome is recorded by the rows. There are none when the
   * job has an outcome already, or when one is being written. Undefined while the open jobs of its shard are
   * being read.
   */
  cancel(handle: string): Effects<JobRow> | undefined {
    const shard = this.#shards.get(this.#shardOf(handle))
    if (shard?.isRead !== true) return undefined
    const entry = shard.entries.get(handle)
    if (entry === undefined || entry.state === 'ending') return { rows: [] }
    entry.state = 'cancelling'
    entry.controller?.abort(
      new HeddleError('HDL_CANCELLED', {
        what: handle,
        source: 'user',
        reason: 'a cancel was sent',
      }),
    )
    return {
      rows: [{ kind: 'job-ended', handle, outcome: 'cancelled' }],
      written: () => shard.entries.delete(handle),
    }
  }

  /** Whether nothing of the shard is under way here. */
  isIdle(shard: number): boolean {
    const jobs = this.#shards.get(shard)
    if (jobs === undefined) return true
    return jobs.isRead && jobs.acknowledging.size === 0 && jobs.entries.size === 0
  }

  /** Jobs that were set aside after three interruptions, of all shards of this server. */
  setAside(): readonly OpenJob[] {
    return [...this.#shards.values()].flatMap(({ setAside }) => [...setAside.values()])
  }

  #sureShard(number: number): ShardJobs {
    const shard = this.#shards.get(number)
    if (shard?.isRead === true && this.#options.ownership.trusts(number)) return shard
    throw new HeddleError('HDL_NOT_OWNER', { shard: number, retryAfter: readAgainAfter })
  }

  async #acknowledge(shard: ShardJobs, request: JobRequest): Promise<Acknowledgement> {
    const { handle } = request
    const claim = { space: 'handle', name: handle, holder: handle } as const
    const row: JobRow = { kind: 'job-acknowledged', ...request }
    const taken = await this.#options.committer.write(shard.grant, [row], [claim])
    // A handle that is taken and unknown here was written by a call that was left without an answer.
    const isOpen = taken === undefined || (await this.#isOpen(shard, handle))
    if (isOpen && !shard.isLost) {
      shard.entries.set(handle, newEntry(request, 0))
      this.#startReady(shard)
    }
    while (!this.#options.ownership.trusts(shard.grant.shard) && !shard.isLost) {
      if (!this.#life.isRunning) throw this.#life.closed()
      await new Promise<void>((wake) => this.#unsure.add(wake))
    }
    if (shard.isLost) throw new HeddleError('HDL_OWNERSHIP_LOST', shard.grant)
    return taken === undefined ? 'acknowledged' : 'attached'
  }

  async #isOpen({ grant }: ShardJobs, handle: string): Promise<boolean> {
    const open = await this.#options.database.openJobs([grant.shard])
    return open.some((job) => job.handle === handle)
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
      } catch {
        // The database is away: read again below.
      }
      if (left.every(({ isLost, isRead }) => isLost || isRead)) return
      await this.#pause()
    }
  }

  /** Ends early when it is stopped. */
  async #pause(): Promise<void> {
    const waiting = new WaiterList<void>(this.#options.kernel.clock)
    const options = { deadline: readAgainAfter, signal: this.#stopped.signal }
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
      const interruptions = job.interruptions + (job.started ? 1 : 0)
      if (job.setAside || interruptions >= mostInterruptions) shard.setAside.set(job.handle, job)
      else shard.entries.set(job.handle, newEntry(job, interruptions))
    }
    shard.isRead = true
    this.#startReady(shard)
  }

  #shardOf(handle: string): number {
    return this.#options.shardOf?.(handle) ?? shardOf(handle, this.#options.shards)
  }

  #startReady(shard: ShardJobs): void {
    const { ownership, runner } = this.#options
    if (!this.#life.isRunning || !ownership.trusts(shard.grant.shard)) return
    for (const entry of shard.entries.values()) {
      const { job, version } = entry.request
      if (entry.state !== 'queued' || !runner.has(job, version)) continue
      // The scope keeps it, and waits for it in stop().
      this.#scope.launch(({ signal }) => this.#run(shard, entry, signal))
    }
  }

  async #run(shard: ShardJobs, entry: Entry, stopped: AbortSignal): Promise<void> {
    const { committer, runner } = this.#options
    const { request } = entry
    const { handle } = request
    const controller = new AbortController()
    using _ = new AbortCallback(stopped, (reason) => controller.abort(reason))
    entry.state = 'running'
    entry.controller = controller
    // Not waited for: it only tells the next owner what was running here. A refusal ends the attempt through lost().
    committer.write(shard.grant, [{ kind: 'job-started', handle }]).catch(() => undefined)
    try {
      const outcome = await runner.run(request, controller.signal)
      // A cancel that came first has decided, whatever the attempt made of it.
      if (controller.signal.aborted) return
      entry.state = 'ending'
      if (outcome === undefined) return await this.#putBack(shard, entry)
      await this.#recordEnd(shard, handle, outcome)
      shard.entries.delete(handle)
    } catch {
      // A runner rejects only when its signal aborted: by a cancel, which records the outcome, or because the shard is
      // lost, and its next owner runs the job again.
    }
  }

  /** It is not the fault of the job: it runs again, here if the server goes on, else at the next owner of the shard. */
  async #putBack(shard: ShardJobs, entry: Entry): Promise<void> {
    const { handle } = entry.request
    await this.#options.committer.write(shard.grant, [{ kind: 'job-put-back', handle }])
    await this.#pause()
    if (shard.isLost || entry.state !== 'ending') return
    entry.state = 'queued'
    this.#startReady(shard)
  }

  /** The outcome waits in memory for as long as the database is away (C9). */
  async #recordEnd(shard: ShardJobs, handle: string, outcome: string): Promise<void> {
    for (;;) {
      try {
        await this.#options.committer.write(shard.grant, [{ kind: 'job-ended', handle, outcome }])
        return
      } catch (error) {
        if (shard.isLost || isError(error, 'HDL_OWNERSHIP_LOST')) throw error
        // The committer was stopped: the next owner runs the job again.
        if (isError(error, 'HDL_CLOSED')) throw error
      }
    }
  }
}

function newEntry(request: JobRequest, interruptions: number): Entry {
  return { request, state: 'queued', interruptions, controller: undefined }
}
