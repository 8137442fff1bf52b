/**
 * Attempts of jobs with `place: 'fleet'` on one server: each is one lease. Their owner is durable elsewhere (a run,
 * or an acknowledged computation) and asks again after a restart; the lease continues meanwhile, and is handed to the
 * next caller of the same attempt.
 *
 *     waiting ──offer──▶ offered ──accept──▶ running ──▶ succeeded | failed
 *        ▲                  │                   │  │
 *        └── not accepted ──┘◀── lease lost ────┘  └── the server ends ──▶ unclaimed ──the run asks again──▶ running
 *             at most `mostLosses` times, then the attempt fails                └── not within a stale period ──▶
 *             closed
 *
 *  J1  A lease of a job is held only after its row is durable, and its last report is acknowledged only after the
 *      result is.
 *  J2  After a restart or a take-over every lease continues: the attempt that asks for its key gets it, or its result.
 *  J3  A server that ends closes no lease.
 *  J4  An attempt that is aborted while a worker runs it ends when the job has ended there, or when the grace is over:
 *      later
 *      work, also the next attempt of the same job, does not run beside it. An offer of it is taken back at once.
 */
import { HeddleError, final, isError, openScope, retryAfter, type Scope } from '@heddle/core'
import {
  describe,
  endsBefore,
  fromErrorRecord,
  isSmallJson,
  Life,
  LinkedList,
  pauseFor,
  shardCount,
  shardOf,
  type ErrorRecord,
  type FleetAttempt,
  type FleetDispatch,
  type FleetNeeds,
  type Grant,
  type Kernel,
  type ListItem,
  type ServiceState,
  type ShardRole,
  type StopOptions,
  type TableRow,
  type Tables,
  type Timer,
} from '@heddle/core/lowlevel'
import { commonTenant } from '../http/caller.ts'
import type { FleetWorker, Refusal, WorkerDescription, WorkerIdentity } from './fleet-worker.ts'
import type { Failure } from './fleet.ts'
import {
  jobLeaseRecord,
  jobLeaseTable,
  readHolder,
  readResultText,
  type JobLeaseRecord,
} from './job-records.ts'
import { JobShard, type JobShardHost } from './job-shard.ts'
import {
  defaultTimes,
  Lease,
  type CloseReason,
  type LeaseTimes,
  type ResultPlace,
} from './lease.ts'
import { refusalOf, whyWaiting } from './why-waiting.ts'
import type { WorkerGroups } from './worker-groups.ts'

export interface WaitingJob extends ListItem<WaitingJob> {
  readonly key: string
  readonly attempt: FleetAttempt
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  lease: Lease | undefined
  losses: number
  isOver: boolean
  /** Its lease has finished, and its result is being read. */
  isReading: boolean
  /** Its worker was asked to stop: until when it waits for that. */
  stopping: Timer | undefined
}

export interface FleetJobsOptions {
  readonly kernel: Kernel
  readonly times?: LeaseTimes
  readonly ownership: { trusts(shard: number): boolean }
  readonly committer: { write(grant: Grant, rows: readonly TableRow[]): Promise<unknown> }
  readonly tables: Tables
  /** A job waits, or came back. */
  readonly onWaiting: () => void
  /** An attempt was cancelled while a worker runs it. */
  readonly askStop: (lease: Lease, reason: string) => void
  /** An attempt was cancelled: its lease ends. */
  readonly close: (lease: Lease, why: CloseReason) => void
  /** Puts a lease that was read from the store into the book. */
  readonly restore: (lease: Lease) => void
  /** Another server owns the shard: its leases are forgotten. */
  readonly drop: (shard: JobShard) => void
  /** The worker that a restored lease belongs to. */
  readonly workerOf: (description: WorkerDescription, identity: WorkerIdentity) => FleetWorker
  /** Reads a result that is not in the report. */
  readonly readResult: (at: ResultPlace) => Promise<unknown>
  /** Workers that are there, for what explain() says. */
  readonly workers: WorkerGroups
  readonly shards?: number
}

/** Leases that an attempt may lose before it fails: its workers died under it. */
const mostLosses = 3
/** Milliseconds until a shard that could not be read is read again. */
const readAgainAfter = 500

/** Reasons that say nothing about the job. */
const isHarmless: ReadonlySet<CloseReason> = new Set(['not_accepted', 'handed_back', 'not_held'])

/** What is left of an earlier life of the server: a lease that runs, or the result of one. */
interface Unclaimed {
  readonly lease: Lease
  readonly shard: JobShard
  readonly key: string
  readonly timer: Timer
  isFinished: boolean
}

export class FleetJobs implements FleetDispatch, ShardRole {
  readonly times: LeaseTimes
  readonly #options: FleetJobsOptions
  readonly #host: JobShardHost
  readonly #shards = new Map<number, JobShard>()
  readonly #byId = new Map<string, JobShard>()
  /**
   * Keyed by tenant and by their needs, in order of arrival: a claim checks each need of its tenant
   * once (W9).
   */
  readonly #waiting = new Map<string, Map<string, LinkedList<WaitingJob>>>()
  /** Jobs of shards that are being read: they may have a lease there. */
  readonly #held = new Map<JobShard, WaitingJob[]>()
  readonly #byLease = new Map<Lease, WaitingJob>()
  readonly #byKey = new Map<string, WaitingJob>()
  readonly #unclaimed = new Map<string, Unclaimed>()
  /** The same ones: a report costs the same however many a restart has left (L9). */
  readonly #unclaimedByLease = new Map<Lease, Unclaimed>()
  /** Reading of shards: stop() ends it and waits for it. */
  readonly #background: Scope
  readonly #life: Life
  readonly #reads = new Set<Promise<void>>()
  #unread: JobShard[] = []
  #waitingCount = 0

  constructor(options: FleetJobsOptions) {
    this.#options = options
    this.times = options.times ?? defaultTimes
    const { kernel, committer } = options
    this.#background = openScope({ name: 'Jobs of the fleet', kernel })
    this.#life = new Life({
      what: 'The fleet',
      clock: kernel.clock,
      deadline: 5_000,
      stop: (enough) => this.#stopAll(enough),
    })
    this.#host = {
      kernel,
      times: this.times,
      write: async (grant, rows) => {
        await committer.write(grant, rows)
      },
      describe: (lease) => this.#describe(lease),
      recordOf: (lease) => this.#recordOf(lease),
      onGranted: (lease) => this.#byLease.get(lease)?.attempt.onStart(),
      onFinished: (lease) => this.#finish(this.#byLease.get(lease), lease),
      onReleased: (lease, why) => this.#release(lease, why),
    }
  }

  get waiting(): number {
    return this.#waitingCount
  }

  get running(): number {
    return this.#byLease.size
  }

  /** Attempts of a tenant that wait. */
  waitingOf(tenant: string): number {
    let count = 0
    for (const jobs of this.#waiting.get(tenant)?.values() ?? []) count += jobs.size
    return count
  }

  /**
   * Runs one attempt on a worker.
   *
   * *Cancellation*: the worker is asked to stop, and the lease ends with the job or with the grace (J4). When the server
   * ends, the lease continues (J3).
   * *Fairness*: in order of arrival among attempts with the same needs.
   */
  run(attempt: FleetAttempt): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { signal } = attempt
      const key = keyOfAttempt(attempt)
      const stop = (): void => this.#cancel(job)
      const end = <A>(settle: (value: A) => void) => {
        return (value: A): void => {
          job.isOver = true
          job.stopping?.cancel()
          if (this.#byKey.get(key) === job) this.#byKey.delete(key)
          signal.removeEventListener('abort', stop)
          settle(value)
        }
      }
      const job: WaitingJob = {
        key,
        attempt,
        resolve: end(resolve),
        reject: end(reject),
        lease: undefined,
        losses: 0,
        isOver: false,
        isReading: false,
        stopping: undefined,
        list: undefined,
        previous: undefined,
        next: undefined,
      }
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop, { once: true })
      this.#byKey.set(key, job)
      this.#begin(job)
    })
  }

  /** Why an attempt waits: for what explain() says. */
  whyWaiting(attempt: FleetNeeds): string {
    return whyWaiting(attempt, this.#options.workers)
  }

  /** The first job that this worker can run, or why there is none; undefined when no job waits. */
  take(worker: FleetWorker): WaitingJob | Refusal | undefined {
    let refusal: Refusal | undefined
    for (const jobs of this.#waiting.get(worker.identity.tenant)?.values() ?? []) {
      const job = jobs.first!
      const refused = refusalOf(worker, job.attempt)
      if (refused !== undefined) {
        refusal = refused
        continue
      }
      // L12: without a shard that it is sure of, this server hands out nothing.
      if (this.#findShard(job) === undefined) return unsure
      this.#unqueue(job)
      return job
    }
    return refusal
  }

  /** The shard of a lease of this job. Called right after take(). */
  workOf(job: WaitingJob): JobShard {
    return this.#findShard(job)!
  }

  offered(lease: Lease, job: WaitingJob): void {
    job.lease = lease
    this.#byLease.set(lease, job)
  }

  /** For people. */
  nameOf(lease: Lease): string {
    const attempt = this.#byLease.get(lease)?.attempt
    return attempt === undefined
      ? `The job of lease ${lease.id}`
      : `${attempt.name} (${attempt.job})`
  }

  failed(lease: Lease, failure: Failure): void {
    this.#byLease.get(lease)?.reject(errorOf(failure))
  }

  /** What a worker logs or reports as progress for a lease. */
  log(lease: Lease, text: string): void {
    this.#byLease.get(lease)?.attempt.onLog(text)
  }

  progress(lease: Lease, fraction: number, text: string | undefined): void {
    this.#byLease.get(lease)?.attempt.onProgress(fraction, text)
  }

  /** The run or computation that the job of a lease belongs to, and its node. @throws `HDL_NOT_OWNER` until its run has asked for it. */
  artifactsOf(lease: Lease): { readonly run: string; readonly by: string } {
    const job = this.#byLease.get(lease)
    if (job === undefined) {
      throw new HeddleError('HDL_NOT_OWNER', { shard: 0, retryAfter: readAgainAfter })
    }
    return { run: job.key.slice(0, job.key.indexOf('/')), by: job.attempt.name }
  }

  /** The input of the job of a lease. @throws `HDL_NOT_OWNER` until its run has asked for it. */
  inputOf(lease: Lease): { readonly name: string; readonly input: unknown } {
    const job = this.#byLease.get(lease)
    if (job !== undefined) return job.attempt
    throw new HeddleError('HDL_NOT_OWNER', { shard: 0, retryAfter: readAgainAfter })
  }

  find(id: string): JobShard | undefined {
    return this.#byId.get(id)
  }

  /** Whether this server answers for the leases of a shard now. @throws `HDL_NOT_OWNER`. */
  checkOwner(id: string): void {
    const shard = shardOf(id, this.#options.shards)
    const owned = this.#shards.get(shard)
    if (owned?.isRead === true && this.#options.ownership.trusts(shard)) return
    throw new HeddleError('HDL_NOT_OWNER', { shard, retryAfter: readAgainAfter })
  }

  // ── Ownership ─────────────────────────────────────────────────────────────────────────────────

  acquired(grant: Grant): void {
    const id = jobShardIds(this.#options.shards)[grant.shard]!
    const shard = new JobShard(id, grant, this.#host)
    this.#shards.set(grant.shard, shard)
    this.#byId.set(id, shard)
    if (this.#unread.push(shard) > 1) return
    // Shards that are acquired together are read together.
    const read = this.#background.start(async ({ signal }) => {
      await Promise.resolve()
      await this.#readAll(this.#unread.splice(0), signal)
    })
    const end = (): void => void this.#reads.delete(read)
    this.#reads.add(read)
    read.then(end, end)
  }

  lost(grant: Grant): void {
    const shard = this.#shards.get(grant.shard)
    if (shard === undefined || shard.epoch !== grant.epoch) return
    this.#shards.delete(grant.shard)
    this.#byId.delete(shard.id)
    shard.stop(new HeddleError('HDL_OWNERSHIP_LOST', grant))
    for (const unclaimed of this.#unclaimed.values()) {
      if (unclaimed.shard === shard) this.#dropUnclaimed(unclaimed)
    }
    this.#options.drop(shard)
    for (const [lease, job] of this.#byLease) {
      if (lease.work !== shard) continue
      this.#byLease.delete(lease)
      job.lease = undefined
      if (job.stopping !== undefined) job.reject(job.attempt.signal.reason)
      // Attempts that another server owns now are aborted by their run; the others get another lease.
      if (!job.isOver && shardOfJob(job, this.#options.shards) !== grant.shard) this.#enqueue(job)
    }
    for (const job of this.#held.get(shard) ?? []) this.#enqueue(job)
    this.#held.delete(shard)
  }

  resume(): void {
    if (this.#waitingCount > 0) this.#options.onWaiting()
  }

  isIdle(number: number): boolean {
    const shard = this.#shards.get(number)
    if (shard === undefined) return true
    if (!shard.isRead || !shard.isIdle) return false
    for (const { work } of this.#byLease.keys()) if (work === shard) return false
    for (const unclaimed of this.#unclaimed.values()) if (unclaimed.shard === shard) return false
    return true
  }

  /** Resolves when everything acquired so far has been read. */
  async waitRead(): Promise<void> {
    while (this.#reads.size > 0) await Promise.allSettled(this.#reads)
  }

  /** J3. Due rows are written; nothing is closed. *Cancellation*: at the deadline, unwritten rows are left. */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState; readonly waiting: number; readonly running: number } {
    return { state: this.#life.state, waiting: this.waiting, running: this.running }
  }

  async #stopAll(enough: AbortSignal): Promise<void> {
    this.#background.cancel('the fleet stops', { source: 'shutdown' })
    const saved = Promise.allSettled([...this.#shards.values()].map((shard) => shard.saved()))
    await endsBefore(enough, saved, this.#options.kernel.clock)
    for (const unclaimed of this.#unclaimed.values()) this.#dropUnclaimed(unclaimed)
    for (const shard of this.#shards.values()) {
      shard.stop(new HeddleError('HDL_CLOSED', { what: 'The fleet' }))
    }
    // A read that the database does not answer changes nothing: it is left at the deadline, or after its grace.
    const read = Promise.allSettled([this.#background.join()])
    await endsBefore(enough, read, this.#options.kernel.clock)
  }

  async #readAll(shards: readonly JobShard[], signal: AbortSignal): Promise<void> {
    const { tables, kernel, shards: count } = this.#options
    while (!signal.aborted) {
      const left = shards.filter(({ isLost, isRead }) => !isLost && !isRead)
      if (left.length === 0) return
      try {
        const rows = await tables.ofShards(
          jobLeaseTable,
          left.map(({ right }) => right.shard),
        )
        if (signal.aborted) return
        const byShard = Map.groupBy(rows, ({ id }) =>
          shardOf(id.slice(0, id.lastIndexOf('.')), count),
        )
        for (const shard of left) {
          if (!shard.isLost) this.#continue(shard, byShard.get(shard.right.shard) ?? [])
        }
        return
      } catch {
        // The database is away: read again after a pause.
        await pauseFor(readAgainAfter, kernel.clock, signal)
      }
    }
  }

  /** J2. */
  #continue(shard: JobShard, rows: readonly JobLeaseRecord[]): void {
    shard.isRead = true
    for (const row of rows) this.#restore(shard, row)
    for (const job of this.#held.get(shard) ?? []) if (!job.isOver) this.#begin(job)
    this.#held.delete(shard)
  }

  #restore(shard: JobShard, row: JobLeaseRecord): void {
    const { number, epoch, sequence, key } = row
    const { description, identity } = readHolder(row.holder)
    const worker = this.#options.workerOf(description, identity)
    const lease = new Lease({ work: shard, number, epoch, worker, start: 0, size: 1 })
    lease.sequence = sequence
    lease.isGrantSaved = true
    lease.grantedAt = row.grantedAt
    const isFinished = row.result !== ''
    if (isFinished) {
      lease.done = 1
      Object.assign(lease, readResultText(row.result))
      shard.keepFinished(lease)
    } else this.#options.restore(lease)
    this.#keepUnclaimed(lease, key, isFinished)
    // Its run may have asked before this was read.
    const job = this.#byKey.get(key)
    if (job !== undefined && job.lease === undefined && this.#unqueue(job)) this.#begin(job)
  }

  /** No run has asked for it: it was cancelled, or changed. */
  #onUnclaimed(key: string): void {
    const unclaimed = this.#unclaimed.get(key)
    if (unclaimed === undefined) return
    this.#dropUnclaimed(unclaimed)
    if (!unclaimed.isFinished) this.#options.close(unclaimed.lease, 'cancelled')
  }

  #dropUnclaimed(unclaimed: Unclaimed): void {
    const { key, lease, timer } = unclaimed
    timer.cancel()
    this.#unclaimedByLease.delete(lease)
    if (this.#unclaimed.get(key) === unclaimed) this.#unclaimed.delete(key)
  }

  // ── Leases ────────────────────────────────────────────────────────────────────────────────────

  #describe(lease: Lease): object {
    const { job, version, name, attempt, key, grace, input } = this.#byLease.get(lease)!.attempt
    const given = isSmallJson(input) ? { input: input ?? null } : { input_bytes: true }
    return { job, version, name, attempt, key, grace_ms: grace, ...given }
  }

  #recordOf(lease: Lease): JobLeaseRecord | undefined {
    const key = this.#byLease.get(lease)?.key ?? this.#unclaimedOf(lease)?.key
    if (key === undefined) return undefined
    return jobLeaseRecord(lease, key, this.#options.kernel.clock.wallTime())
  }

  #unclaimedOf(lease: Lease): Unclaimed | undefined {
    return this.#unclaimedByLease.get(lease)
  }

  #release(lease: Lease, why: CloseReason): void {
    const job = this.#byLease.get(lease)
    this.#byLease.delete(lease)
    if (job === undefined) return this.#releaseUnclaimed(lease, why)
    if (job.isOver || job.isReading) return
    if (job.stopping !== undefined) return job.reject(job.attempt.signal.reason)
    job.lease = undefined
    if (!isHarmless.has(why)) job.losses++
    if (job.losses > mostLosses) {
      const reason = `${why} on worker ${lease.worker.name} at ${lease.address}`
      job.reject(new HeddleError('HDL_LEASE_ENDED', { lease: lease.id, reason }))
    } else {
      job.attempt.onWaiting()
      this.#begin(job)
    }
  }

  /** Its worker was faster than the run that has to ask for it. */
  #releaseUnclaimed(lease: Lease, why: CloseReason): void {
    const unclaimed = this.#unclaimedOf(lease)
    if (unclaimed === undefined) return
    if (why === 'finished') unclaimed.isFinished = true
    else this.#dropUnclaimed(unclaimed)
  }

  #begin(job: WaitingJob): void {
    const shard = this.#ownShard(job)
    if (shard?.isRead === false) {
      const held = this.#held.get(shard)
      if (held === undefined) this.#held.set(shard, [job])
      else held.push(job)
      return
    }
    const unclaimed = this.#unclaimed.get(job.key)
    if (unclaimed === undefined) return this.#enqueue(job)
    this.#dropUnclaimed(unclaimed)
    const { lease } = unclaimed
    if (unclaimed.isFinished) return this.#finish(job, lease)
    this.offered(lease, job)
    job.attempt.onStart()
  }

  #enqueue(job: WaitingJob): void {
    const { tenant, needs } = lineOf(job)
    let lines = this.#waiting.get(tenant)
    if (lines === undefined) this.#waiting.set(tenant, (lines = new Map()))
    let jobs = lines.get(needs)
    if (jobs === undefined) lines.set(needs, (jobs = new LinkedList()))
    jobs.push(job)
    this.#waitingCount++
    this.#options.onWaiting()
  }

  /** False when it does not wait. */
  #unqueue(job: WaitingJob): boolean {
    const { tenant, needs } = lineOf(job)
    const lines = this.#waiting.get(tenant)
    const jobs = lines?.get(needs)
    if (lines === undefined || jobs?.remove(job) !== true) return false
    this.#waitingCount--
    if (jobs.size === 0) lines.delete(needs)
    if (lines.size === 0) this.#waiting.delete(tenant)
    return true
  }

  #finish(job: WaitingJob | undefined, { result, resultAt }: Lease): void {
    if (job === undefined) return
    if (resultAt === undefined) return job.resolve(result)
    job.isReading = true
    const read = this.#background.start(async () => this.#options.readResult(resultAt))
    read.then(job.resolve, job.reject)
  }

  #cancel(job: WaitingJob): void {
    const { attempt, lease } = job
    const { reason } = attempt.signal
    if (lease === undefined || job.isReading) {
      job.reject(reason)
      return void this.#unqueue(job)
    }
    if (isServerEnd(reason)) {
      job.reject(reason)
      return this.#leaveRunning(lease, job.key)
    }
    if (lease.state === 'held') return this.#stop(job, lease)
    job.reject(reason)
    this.#options.close(lease, 'cancelled')
  }

  /** J4. */
  #stop(job: WaitingJob, lease: Lease): void {
    const { attempt } = job
    // A moment later than the timer of the attempt's grace, which ends the attempt without it.
    job.stopping = this.#options.kernel.clock.setTimer(attempt.grace + 1, () =>
      this.#options.close(lease, 'cancelled'),
    )
    this.#options.askStop(lease, describe(attempt.signal.reason))
  }

  /** J3. */
  #leaveRunning(lease: Lease, key: string): void {
    this.#byLease.delete(lease)
    this.#keepUnclaimed(lease, key, false)
  }

  #keepUnclaimed(lease: Lease, key: string, isFinished: boolean): void {
    const { clock } = this.#options.kernel
    const timer = clock.setTimer(this.times.stale, () => this.#onUnclaimed(key))
    const shard = lease.work as JobShard
    const unclaimed: Unclaimed = { lease, shard, key, timer, isFinished }
    this.#unclaimed.set(key, unclaimed)
    this.#unclaimedByLease.set(lease, unclaimed)
  }

  /** The shard of the job's owner, where this server has it. */
  #ownShard(job: WaitingJob): JobShard | undefined {
    return this.#shards.get(shardOfJob(job, this.#options.shards))
  }

  /** Where a lease is written: with the job's owner, or in any shard that this server is sure of. */
  #findShard(job: WaitingJob): JobShard | undefined {
    const own = this.#ownShard(job)
    if (own !== undefined && this.#isSure(own)) return own
    for (const shard of this.#shards.values()) if (this.#isSure(shard)) return shard
    return undefined
  }

  #isSure({ isRead, right }: JobShard): boolean {
    return isRead && this.#options.ownership.trusts(right.shard)
  }
}

/** The error of a job on its worker, in the form in which it would be thrown here. */
function errorOf({ message, retryable, retryAfter: delay, name, stack, error }: Failure): Error {
  const record = error ?? {
    name: name ?? 'Error',
    message,
    ...(stack === undefined ? {} : { stack }),
  }
  const asked = delay === undefined ? undefined : retryAfter(delay, causeOf(record))
  const thrown = asked ?? fromErrorRecord(record)
  return retryable ? thrown : final(thrown)
}

/** An error that asks for a delay has the original error as its cause. */
function causeOf(record: ErrorRecord): Error | undefined {
  if (record.code !== 'HDL_RETRY_AFTER') return fromErrorRecord(record)
  return record.cause === undefined ? undefined : fromErrorRecord(record.cause)
}

/** One attempt of one piece of work: the same after a restart, another for a retry. */
function keyOfAttempt({ key, attempt }: Pick<FleetAttempt, 'key' | 'attempt'>): string {
  return `${key.includes('/') ? key : `${key}/`}#${attempt}`
}

/** The shard of its owner: a run, or a computation. */
function shardOfJob({ key }: WaitingJob, shards: number | undefined): number {
  return shardOf(key.slice(0, key.indexOf('/')), shards)
}

/** Where it waits: with those of its tenant that the same workers can run. */
function lineOf({ attempt }: WaitingJob): { readonly tenant: string; readonly needs: string } {
  const { job, version, capabilities, tenant = commonTenant } = attempt
  return { tenant, needs: JSON.stringify([job, version, capabilities]) }
}

/** The server ends or gave the shard away: the work itself continues. */
function isServerEnd(reason: unknown): boolean {
  if (isError(reason, 'HDL_OWNERSHIP_LOST')) return true
  return isError(reason, 'HDL_CANCELLED') && serverEnds.has(reason.details.source)
}

const serverEnds: ReadonlySet<string> = new Set(['shutdown', 'drain', 'takeover'])

const unsure: Refusal = {
  reason: 'busy',
  message: 'the server is not sure of its shards',
  retryAfter: 1_000,
}

const knownIds = new Map<number, readonly string[]>()

/** A name for the leases of each shard, which hashes to that shard: every server makes the same. */
function jobShardIds(shards: number = shardCount): readonly string[] {
  let ids = knownIds.get(shards)
  if (ids === undefined) knownIds.set(shards, (ids = makeShardIds(shards)))
  return ids
}

function makeShardIds(shards: number): readonly string[] {
  const ids = new Map<number, string>()
  for (let number = 1; ids.size < shards; number++) {
    const id = `j-${number}`
    const shard = shardOf(id, shards)
    if (!ids.has(shard)) ids.set(shard, id)
  }
  return Array.from({ length: shards }, (_, shard) => ids.get(shard)!)
}
