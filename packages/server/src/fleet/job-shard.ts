/**
 * The leases of jobs in one shard, as the lease book sees them. Its rows are in job-records.ts.
 *
 *     granted: a row ──▶ finished: the row has the result ──▶ no row, when the run has had time to record it
 *         └── failed, lost, cancelled ──▶ no row
 */
import type { Grant, Kernel, TableRow, Timer } from '@heddle/core/lowlevel'
import { SaveLoop } from '../campaigns/save-loop.ts'
import { jobLeaseForgotten, jobLeaseSaved, type JobLeaseRecord } from './job-records.ts'
import type {
  ClosedLease,
  CloseReason,
  Lease,
  LeaseTimes,
  Report,
  ReportOutcome,
  Work,
} from './lease.ts'

/** The calls of a shard to the jobs that it serves. */
export interface JobShardHost {
  readonly kernel: Kernel
  readonly times: LeaseTimes
  /** @throws `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. */
  write(grant: Grant, rows: readonly TableRow[]): Promise<void>
  describe(lease: Lease): object
  recordOf(lease: Lease): JobLeaseRecord | undefined
  onGranted(lease: Lease): void
  onFinished(lease: Lease): void
  onReleased(lease: Lease, why: CloseReason): void
}

/** Milliseconds for which a result stays stored: the run that waits for it records it long before. */
const keepResult = 60_000

/** Lease numbers start again with each epoch, and are never reused: an epoch has room for 4 billion. */
const numbersPerEpoch = 2 ** 32

export class JobShard implements Work {
  readonly isJobs = true
  readonly id: string
  /** The right to write it. */
  readonly right: Grant
  readonly times: LeaseTimes
  isRead = false
  isLost = false
  readonly #host: JobShardHost
  readonly #saves: SaveLoop
  /** Keyed by lease: the row to write, or undefined when it is to be deleted. */
  readonly #due = new Map<string, JobLeaseRecord | undefined>()
  /** Finished leases whose row is kept, in the order of their end. */
  readonly #finished = new Map<number, { readonly lease: Lease; readonly at: number }>()
  #timer: Timer | undefined
  #lastLease = 0

  constructor(id: string, right: Grant, host: JobShardHost) {
    this.id = id
    this.right = right
    this.times = host.times
    this.#host = host
    this.#saves = new SaveLoop({
      kernel: host.kernel,
      write: () => this.#writeDue(),
      isDue: () => this.#due.size > 0,
    })
  }

  get epoch(): number {
    return this.right.epoch
  }

  /** Whether nothing of it is stored or due. */
  get isIdle(): boolean {
    return this.#saves.isIdle && this.#finished.size === 0
  }

  nextLease(): number {
    return this.epoch * numbersPerEpoch + ++this.#lastLease
  }

  describe(lease: Lease): object {
    return this.#host.describe(lease)
  }

  /** L2. */
  async grant(lease: Lease): Promise<void> {
    const record = this.#host.recordOf(lease)
    if (record !== undefined) this.#due.set(lease.id, record)
    await this.#saves.save()
    lease.isGrantSaved = true
    this.#host.onGranted(lease)
  }

  report(lease: Lease, report: Report): ReportOutcome {
    lease.sequence = report.sequence
    if (report.done < 1) return { kind: 'counted' }
    lease.done = 1
    lease.result = report.result
    lease.resultAt = report.resultAt
    return { kind: 'closed', why: 'finished' }
  }

  /** Resolves when everything decided so far is durable. *Cancellation*: none. */
  saved(): Promise<void> {
    return this.#saves.save()
  }

  release(lease: Lease, why: CloseReason, wasOffer: boolean): void {
    if (why === 'finished') {
      this.#due.set(lease.id, this.#host.recordOf(lease))
      this.#finished.set(lease.number, { lease, at: this.#now() })
      this.#forgetLater()
      this.#host.onFinished(lease)
    } else if (!wasOffer || this.#due.has(lease.id)) this.#due.set(lease.id, undefined)
    this.#saves.saveSoon()
    this.#host.onReleased(lease, why)
  }

  /** L6: a restart gives each lease a full period, so nothing has to be written. */
  seen(): void {
    // Nothing.
  }

  async closedLease(number: number): Promise<ClosedLease | undefined> {
    const closed = this.#finished.get(number)
    if (closed === undefined) return undefined
    await this.saved()
    const { sequence, worker, owner, epoch } = closed.lease
    return { why: 'finished', sequence, worker: worker.id, owner, epoch }
  }

  /** A row of an earlier life of the server: its lease, as finished as it was. */
  keepFinished(lease: Lease): void {
    this.#finished.set(lease.number, { lease, at: this.#now() })
    this.#forgetLater()
  }

  /** Removes the row of a lease that is not in the book. */
  forget(id: string): void {
    this.#due.set(id, undefined)
    this.#saves.saveSoon()
  }

  /** Another server owns the shard now, or this one stops. Nothing more is written. */
  stop(reason: Error): void {
    this.isLost = true
    this.#saves.stop(reason)
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async #writeDue(): Promise<void> {
    const due = [...this.#due]
    const rows = due.map(([id, record]) =>
      record === undefined ? jobLeaseForgotten(id) : jobLeaseSaved(record),
    )
    await this.#host.write(this.right, rows)
    // Decisions about a lease that were made in the meantime stay due.
    for (const [id, record] of due) if (this.#due.get(id) === record) this.#due.delete(id)
  }

  #forgetLater(): void {
    if (this.#timer !== undefined || this.isLost) return
    this.#timer = this.#host.kernel.clock.setTimer(keepResult, () => {
      this.#timer = undefined
      const before = this.#now() - keepResult
      for (const [number, { lease, at }] of this.#finished) {
        if (at > before) break
        this.#finished.delete(number)
        this.#due.set(lease.id, undefined)
      }
      this.#saves.saveSoon()
      if (this.#finished.size > 0) this.#forgetLater()
    })
  }

  #now(): number {
    return this.#host.kernel.clock.now()
  }
}
