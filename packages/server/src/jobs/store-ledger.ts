/**
 * Acknowledged jobs on the store, whichever it is: memory, a file, or a PostgreSQL that several servers share.
 *
 *   submit ──▶ acknowledge: one row ──▶ the work runs, or runs already ──▶ its end: one row
 *   start, take-over ──▶ the open jobs of the shards ──▶ the service continues each (C5)
 *
 * What the store knows of an acknowledgement is in core/src/store/acknowledged-jobs.ts (A1 to A6); this file connects
 * it with the service. The history of a job becomes a run of the journal: see job-history.ts.
 *
 *  L1  The end of a work is recorded once its entry has ended; a work that is put back stays open for the next owner.
 *  L2  Each acknowledgement has an id of its own: the same content may be asked for again after it was done. Its shard
 *      is that of the handle, so all requests for one content meet on one server.
 *  L3  A lost shard ends its works: callers that wait for one get an error that may be tried again.
 *  L4  What was set aside stays in the store until an operator retries or cancels it. A retry is a new acknowledgement,
 *      written before the old one is ended: a server that dies in between leaves both, and nothing is lost.
 *  L5  Work that cannot be continued is never ended for that: it is put back when the reason may pass, else set aside.
 *  L6  A job counts as running from the row `running` of a stage to the row that ends, suspends or retries it.
 *  L7  A cancel has its end in the store before it is answered, wherever the work stands: it runs, waits for a seat, waits for its turn
 *      after a crash, or was put back. So has that of the last request that wants the work, by its id.
 */
import { HeddleError, isError } from '@heddle/core'
import {
  AcknowledgedJobs,
  describe,
  mostInterruptions,
  newRunId,
  shardCount,
  shardOf,
  waitFor,
  type Declined,
  type JobAttempt,
  type JobRequest,
  type JobRunner,
  type Kernel,
  type OpenStore,
  type QueuedJob,
  type SetAsideJob,
  type Shards,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import { commonTenant } from '../http/caller.ts'
import type { EarlierLedger } from './earlier-ledger.ts'
import type { History, JobHistory } from './job-history.ts'
import type { JobTable } from './job-table.ts'
import type {
  AcknowledgedWork,
  AcknowledgementLog,
  LedgerEntry,
  QueuedWork,
  SetAsideWork,
} from './ledger.ts'
import type { JobService } from './service.ts'
import type { ServedJob } from './served-job.ts'
import type { StageRow } from './story.ts'

export interface StoreLedgerOptions {
  readonly shards: Pick<Shards, 'ownership' | 'committer' | 'add'>
  readonly database: OpenStore
  readonly kernel: Kernel
  readonly jobs: JobTable
  readonly history: Pick<JobHistory, 'of'>
  readonly onProblem: (what: string, error: unknown) => void
}

/** The methods of the service that are called here. */
type Computing = Pick<JobService, 'takeOver' | 'handOver'>

/** Between the handle and the number of an acknowledgement: no handle has it. */
const separator = ' '

/** The id of an acknowledgement, which the store has for the handle of its job. */
const acknowledgementIdOf = (handle: string, number: string): string => handle + separator + number

const handleOf = (id: string): string => id.slice(0, id.indexOf(separator))

/** The entry of one acknowledgement. */
class StoreEntry implements LedgerEntry {
  readonly acknowledgementId: string
  readonly handle: string
  readonly tenant: string | undefined
  readonly begin: (() => Promise<void>) | undefined
  /** Undefined: it was put back. */
  readonly outcome: Promise<string | undefined>
  readonly #settle: (outcome: string | undefined) => void
  readonly #history: History | undefined
  readonly #isRecalled: boolean
  #attempt: JobAttempt | undefined
  #isRunning = false

  constructor(
    id: string,
    tenant: string | undefined,
    history: History | undefined,
    isRecalled: boolean,
    attempt?: JobAttempt,
  ) {
    this.acknowledgementId = id
    this.tenant = tenant
    this.handle = handleOf(id)
    this.#history = history
    this.#isRecalled = isRecalled
    this.#attempt = attempt
    this.begin = attempt?.begin
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    this.outcome = promise
    this.#settle = resolve
  }

  /** What the store knows of it. */
  attach(attempt: JobAttempt): void {
    this.#attempt = attempt
    if (this.#isRunning) begin(attempt)
  }

  write(row: StageRow): void {
    this.#history?.write(row)
    if (row.kind === 'log' || this.#attempt === undefined) {
      if (row.kind === 'node') this.#isRunning = row.state === 'running'
      return
    }
    // L6
    if (row.state === 'running') begin(this.#attempt)
    else if (row.state === 'suspended' || row.state === 'retrying') this.#attempt.rest()
  }

  putBack(): void {
    this.#history?.putBack()
    this.#settle(undefined)
  }

  end(how: 'finished' | 'cancelled'): void {
    this.#history?.end(how, this.#isRecalled)
    this.#settle(how)
  }
}

/** Why work has not begun, for people. */
const reasons = {
  queued: 'its turn: it was acknowledged before the last stop',
  suspect: 'its turn: it was running when its server died, and such work runs one at a time',
  'put back': 'its next try, after a pause: it was put back',
} as const satisfies Record<QueuedJob['waitsAs'], string>

/** Not awaited: an error ends the attempt. */
function begin(attempt: JobAttempt): void {
  attempt.begin().catch(() => undefined)
}

export class StoreLedger implements AcknowledgementLog, JobRunner {
  readonly acknowledged: AcknowledgedJobs
  readonly #options: StoreLedgerOptions
  /** Those whose acknowledgement this process has written. */
  readonly #entries = new Map<string, StoreEntry>()
  #service: Computing | undefined

  constructor(options: StoreLedgerOptions) {
    this.#options = options
    const { shards, database, kernel } = options
    const { ownership, committer } = shards
    this.acknowledged = new AcknowledgedJobs({
      ownership,
      committer,
      database,
      kernel,
      runner: this,
      shardOf: (id) => shardOf(handleOf(id)),
    })
    shards.add(this.acknowledged)
  }

  /** The service that works. Before the shards are started. */
  connect(service: Computing): void {
    this.#service = service
  }

  /** @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. *Cancellation*: none. */
  async acknowledge(served: ServedJob, work: AcknowledgedWork): Promise<LedgerEntry> {
    const number = newRunId(this.#options.kernel)
    const id = acknowledgementIdOf(work.handle, number)
    const history = this.#options.history.of(number, served, work, false)
    const entry = new StoreEntry(id, work.tenant, history, false)
    this.#entries.set(id, entry)
    try {
      const { name, version } = served
      await this.acknowledged.acknowledge({ handle: id, job: name, version, input: inputOf(work) })
      return entry
    } catch (error) {
      this.#entries.delete(id)
      throw error
    }
  }

  /**
   * Reads the open jobs, in one query, and begins to continue them. Resolves with their number.
   *
   * *Cancellation*: none: it waits for the store.
   * @param earlier Jobs that earlier versions have acknowledged come with them.
   */
  async recall(earlier: Pick<EarlierLedger, 'unfinished' | 'end'>): Promise<number> {
    await this.acknowledged.waitRead(shardCount)
    const moved = await earlier.unfinished()
    await Promise.all(
      moved.map(async (found) => {
        const { work, crashes } = found
        const handle = acknowledgementIdOf(work.handle, found.runId)
        const request = { handle, job: work.job, version: work.version, input: inputOf(work) }
        // Earlier versions set work aside after five crashes: work with fewer is tried once more.
        const most = crashes >= 5 ? mostInterruptions : mostInterruptions - 1
        await this.acknowledged.acknowledge(request, Math.min(crashes, most))
        await earlier.end(found)
      }),
    )
    return this.acknowledged.stats().open
  }

  waitKnown(handle: string, options: WaitOptions = {}): Promise<boolean> {
    return this.acknowledged.waitShardRead(shardOf(handle), options)
  }

  findQueued(handle: string): AcknowledgedWork | undefined {
    const queued = this.acknowledged.queued(shardOf(handle))
    const found = queued.find((each) => handleOf(each.handle) === handle)
    if (found === undefined || !this.has(found.job, found.version)) return undefined
    return workOf(found.input)
  }

  queued(): readonly QueuedWork[] {
    return this.acknowledged
      .queued()
      .filter(({ job, version }) => this.has(job, version))
      .map(({ handle, job, input, waitsAs }) => {
        const { tenant } = workOf(input)
        const isPutBack = waitsAs === 'put back'
        return { handle: handleOf(handle), job, tenant, reason: reasons[waitsAs], isPutBack }
      })
  }

  async cancel(handle: string): Promise<void> {
    const shard = shardOf(handle)
    for (const request of this.acknowledged.queued(shard)) {
      // No computation ends the run that tells of it.
      if (handleOf(request.handle) === handle) this.#recalled(request).end('cancelled')
    }
    const ids = this.acknowledged.open(shard).filter((id) => handleOf(id) === handle)
    await Promise.all(ids.map((id) => this.acknowledged.end(id, 'cancelled')))
  }

  async wasPromised(handle: string, tenant: string | undefined): Promise<boolean> {
    const outcomes = await this.#options.database.familyOutcomes(handle)
    if (tenant !== undefined) return outcomes.includes(outcomeOf('finished', tenant))
    return outcomes.some((outcome) => /^finished\b/.test(outcome))
  }

  setAside(): readonly SetAsideWork[] {
    const waiting = this.acknowledged.waiting().map(({ handle, job, version, input }) => {
      const reason = `no server has ${JSON.stringify(job)}${version === '' ? '' : ` version ${JSON.stringify(version)}`}`
      const { tenant } = workOf(input)
      const shown = { handle: handleOf(handle), job, version, tenant, reason }
      return { ...shown, interruptions: 0, state: 'waiting' as const }
    })
    const aside = this.acknowledged.setAside().map((found) => {
      const { job, version, input, interruptions: crashes } = found
      const handle = handleOf(found.handle)
      const { tenant } = workOf(input)
      const reason = found.reason ?? new HeddleError('HDL_SET_ASIDE', { handle, crashes }).message
      const shown = { handle, job, version, tenant, reason }
      return { ...shown, interruptions: crashes, state: 'set_aside' as const }
    })
    return [...waiting, ...aside]
  }

  /** L4. @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. *Cancellation*: none. */
  async retry(handle: string): Promise<void> {
    for (const aside of this.#listAside(handle)) {
      const id = acknowledgementIdOf(handle, newRunId(this.#options.kernel))
      const { job, version, input } = aside
      await this.acknowledged.acknowledge({ handle: id, job, version, input })
      await this.acknowledged.endSetAside(aside.handle, 'retried')
    }
  }

  /** @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. *Cancellation*: none. */
  async endSetAside(handle: string): Promise<void> {
    for (const aside of this.#listAside(handle)) {
      await this.acknowledged.endSetAside(aside.handle, 'cancelled')
    }
    for (const { handle: id } of this.acknowledged.waiting()) {
      if (handleOf(id) === handle) await this.acknowledged.end(id, 'cancelled')
    }
  }

  #listAside(handle: string): readonly SetAsideJob[] {
    return this.acknowledged.setAside().filter((job) => handleOf(job.handle) === handle)
  }

  /** C13. */
  has(job: string, version: string): boolean {
    return this.#options.jobs.get(job)?.version === version
  }

  /** *Cancellation*: the signal: the shard is lost, or the server stops. */
  async run(request: JobRequest, attempt: JobAttempt): Promise<string | Declined | undefined> {
    const { handle: id } = request
    const { signal } = attempt
    const known = this.#entries.get(id)
    const entry = known ?? this.#recalled(request, attempt)
    const { clock } = this.#options.kernel
    const onAbort = (): void => this.#service!.handOver(entry.handle, signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (known === undefined) {
        const declined = await this.#continue(request, entry, signal)
        if (declined !== undefined) return declined
      } else known.attach(attempt)
      const how = await waitFor(entry.outcome, `Computation "${entry.handle}"`, clock, { signal })
      return how && outcomeOf(how, entry.tenant)
    } finally {
      signal.removeEventListener('abort', onAbort)
      // The next acknowledgement of the same handle may have put its own entry there.
      if (this.#entries.get(id) === entry) this.#entries.delete(id)
    }
  }

  #recalled({ handle: id, job, input }: JobRequest, attempt?: JobAttempt): StoreEntry {
    const { jobs, history } = this.#options
    const served = jobs.get(job)
    const number = id.slice(id.indexOf(separator) + 1)
    const work = workOf(input)
    const rows = served && history.of(number, served, work, true)
    return new StoreEntry(id, work.tenant, rows, true, attempt)
  }

  /** L5. */
  async #continue(
    request: JobRequest,
    entry: StoreEntry,
    signal: AbortSignal,
  ): Promise<Declined | undefined> {
    try {
      await this.#service!.takeOver(workOf(request.input), entry, signal)
      return undefined
    } catch (error) {
      if (signal.aborted) {
        // No computation ends the run that tells of it.
        if (isCancelled(signal.reason)) entry.end('cancelled')
        throw error
      }
      // The server is draining or full for now: it is tried again, here or by the next owner.
      if (error instanceof HeddleError && error.retryable) {
        entry.putBack()
        return undefined
      }
      this.#options.onProblem(`Acknowledged work of ${entry.handle} could not be resumed`, error)
      return { declined: describe(error) }
    }
  }
}

/** By cancel(), not because the shard is lost or the server stops. */
function isCancelled(reason: unknown): boolean {
  return isError(reason, 'HDL_CANCELLED') && reason.details.source === 'user'
}

/** With the tenant, unless it is the common one: a later caller must not learn promises to other tenants. */
function outcomeOf(how: string, tenant: string = commonTenant): string {
  return tenant === commonTenant ? how : `${how} ${tenant}`
}

function inputOf(work: AcknowledgedWork): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(work))
}

function workOf(input: Uint8Array): AcknowledgedWork {
  return JSON.parse(new TextDecoder().decode(input)) as AcknowledgedWork
}
