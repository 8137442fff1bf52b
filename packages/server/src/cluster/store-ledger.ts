/**
 * Acknowledged jobs on a store that several servers share.
 *
 *   submit ──▶ acknowledge: one row ──▶ the work runs, or runs already ──▶ its end: one row
 *   take-over ──▶ the open jobs of the shard ──▶ the service continues each (C5)
 *
 * What the store knows of an acknowledgement is in core/src/store/acknowledged-jobs.ts (A1 to A6); this file connects it with
 * the service.
 *
 *  L1  The end of a work is recorded once its entry has ended; a work that is put back stays open for the next owner.
 *  L2  Each acknowledgement has an id of its own: the same content may be asked for again after it was done. Its shard is
 *      that of the handle, so all requests for one content meet on one server.
 *  L3  A shard that is lost ends its works: whoever waits for one gets an error that may be tried again.
 *  L4  What was set aside stays in the store until an operator retries or cancels it. A retry is a new acknowledgement, written
 *      before the old one is ended: a server that dies in between leaves both, and nothing is lost.
 *  L5  Work that cannot be continued for a reason that may pass is put back, never ended.
 */
import { HeddleError } from '@heddle/core'
import {
  AcknowledgedJobs,
  newRunId,
  shardOf,
  waitFor,
  type JobRequest,
  type JobRunner,
  type Kernel,
  type OpenStore,
  type Shards,
} from '@heddle/core/lowlevel'
import type { JobTable } from '../jobs/job-table.ts'
import type {
  AcknowledgedWork,
  AcknowledgementLog,
  LedgerEntry,
  SetAsideWork,
  Unfinished,
} from '../jobs/ledger.ts'
import type { JobService } from '../jobs/service.ts'
import type { ServedJob } from '../jobs/served-job.ts'

export interface StoreLedgerOptions {
  readonly shards: Shards
  readonly database: OpenStore
  readonly kernel: Kernel
  readonly jobs: JobTable
  readonly onProblem: (what: string, error: unknown) => void
}

type OpenJob = ReturnType<AcknowledgedJobs['setAside']>[number]

/** Between the handle and the number of an acknowledgement: no handle has it. */
const separator = ' '

const handleOf = (id: string): string => id.slice(0, id.indexOf(separator))

/** The entry of one acknowledgement. */
class StoreEntry implements LedgerEntry {
  readonly runId: string
  readonly handle: string
  /** Undefined: it was put back. */
  readonly outcome: Promise<string | undefined>
  readonly #settle: (outcome: string | undefined) => void

  constructor(id: string) {
    this.runId = id
    this.handle = handleOf(id)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    this.outcome = promise
    this.#settle = resolve
  }

  // Rows of the stages are not kept: the store has the acknowledgement and the end.
  write(): void {}

  putBack(): void {
    this.#settle(undefined)
  }

  end(how: 'finished' | 'cancelled'): void {
    this.#settle(how)
  }
}

export class StoreLedger implements AcknowledgementLog, JobRunner {
  readonly acknowledged: AcknowledgedJobs
  readonly #options: StoreLedgerOptions
  /** Those whose acknowledgement this process has written. */
  readonly #entries = new Map<string, StoreEntry>()
  /** Set aside, and ended since by an operator. */
  readonly #ended = new WeakSet<OpenJob>()
  #service: Pick<JobService, 'takeOver' | 'handOver'> | undefined

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
  connect(service: Pick<JobService, 'takeOver' | 'handOver'>): void {
    this.#service = service
  }

  /** @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. *Cancellation*: none. */
  async acknowledge(served: ServedJob, work: AcknowledgedWork): Promise<LedgerEntry> {
    const entry = new StoreEntry(work.handle + separator + newRunId(this.#options.kernel))
    const { runId: handle } = entry
    const input = new TextEncoder().encode(JSON.stringify(work))
    this.#entries.set(handle, entry)
    try {
      const { name, version } = served
      await this.acknowledged.acknowledge({ handle, job: name, version, input })
      return entry
    } catch (error) {
      this.#entries.delete(handle)
      throw error
    }
  }

  setAside(): readonly SetAsideWork[] {
    return this.#listAside().map(({ handle, job, input, interruptions }) => {
      const { tenant } = workOf(input)
      return { handle: handleOf(handle), job, tenant, interruptions: interruptions + 1 }
    })
  }

  /** L4. @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. *Cancellation*: none. */
  async retry(handle: string): Promise<void> {
    for (const aside of this.#listAside(handle)) {
      const id = handle + separator + newRunId(this.#options.kernel)
      const { job, version, input } = aside
      await this.acknowledged.acknowledge({ handle: id, job, version, input })
      await this.#end(aside, 'retried')
    }
  }

  /** @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. *Cancellation*: none. */
  async endSetAside(handle: string): Promise<void> {
    for (const aside of this.#listAside(handle)) await this.#end(aside, 'cancelled')
  }

  #listAside(handle?: string): readonly OpenJob[] {
    const all = this.acknowledged.setAside().filter((job) => !this.#ended.has(job))
    return handle === undefined ? all : all.filter((job) => handleOf(job.handle) === handle)
  }

  async #end(aside: OpenJob, outcome: 'retried' | 'cancelled'): Promise<void> {
    const { shards } = this.#options
    const { handle } = aside
    await shards.write(shards.grantOf(handleOf(handle)), [{ kind: 'job-ended', handle, outcome }])
    this.#ended.add(aside)
  }

  /** What was acknowledged is continued shard by shard, as they are acquired. *Cancellation*: none. */
  async unfinished(): Promise<readonly Unfinished[]> {
    return []
  }

  /** *Cancellation*: none. */
  async resume(runId: string): Promise<LedgerEntry> {
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: runId, address: 'the store' })
  }

  /** C13. */
  has(job: string, version: string): boolean {
    return this.#options.jobs.get(job)?.version === version
  }

  /** *Cancellation*: the signal: the shard is lost, or the server stops. */
  async run(request: JobRequest, signal: AbortSignal): Promise<string | undefined> {
    const { handle: id } = request
    const known = this.#entries.get(id)
    const entry = known ?? new StoreEntry(id)
    const { clock } = this.#options.kernel
    const onAbort = (): void => this.#service!.handOver(entry.handle, signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (known === undefined) await this.#continue(request, entry, signal)
      return await waitFor(entry.outcome, `Computation "${entry.handle}"`, clock, { signal })
    } finally {
      signal.removeEventListener('abort', onAbort)
      // The next acknowledgement of the same handle may have put its own entry there.
      if (this.#entries.get(id) === entry) this.#entries.delete(id)
    }
  }

  async #continue(request: JobRequest, entry: StoreEntry, signal: AbortSignal): Promise<void> {
    try {
      await this.#service!.takeOver(workOf(request.input), entry, signal)
    } catch (error) {
      if (signal.aborted) throw error
      // The server is draining or full for now: it is tried again, here or by the next owner. What cannot change ends it.
      if (error instanceof HeddleError && error.retryable) return entry.putBack()
      this.#options.onProblem(`Acknowledged work of ${entry.handle} could not be resumed`, error)
      entry.end('cancelled')
    }
  }
}

function workOf(input: Uint8Array): AcknowledgedWork {
  return JSON.parse(new TextDecoder().decode(input)) as AcknowledgedWork
}
