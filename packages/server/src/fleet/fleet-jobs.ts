/**
 * Attempts of jobs with `place: 'fleet'` on one server: each is one lease. They live as long as the attempt: the run is
 * what is durable, and an attempt whose server ended runs again with it.
 *
 *     waiting ──offer──▶ offered ──accept──▶ running ──▶ succeeded | failed
 *        ▲                  │                   │
 *        └── not accepted ──┘◀── lease lost ────┘  at most `mostLosses` times, then the attempt fails
 */
import { randomUUID } from 'node:crypto'
import { HeddleError } from '@heddle/core'
import type { FleetAttempt, FleetDispatch } from '@heddle/core/lowlevel'
import type { FleetWorker, Refusal } from './fleet-worker.ts'
import type { Failure } from './fleet.ts'
import {
  defaultTimes,
  type ClosedLease,
  type CloseReason,
  type Lease,
  type LeaseTimes,
  type Report,
  type ReportOutcome,
  type Work,
} from './lease.ts'

interface WaitingJob {
  readonly attempt: FleetAttempt
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  lease: Lease | undefined
  losses: number
  isOver: boolean
}

export interface FleetJobsOptions {
  readonly times?: LeaseTimes
  /** A job waits, or came back. */
  readonly onWaiting: () => void
  /** An attempt was cancelled: its lease ends. */
  readonly close: (lease: Lease, why: CloseReason) => void
  /** Workers that are there, for what explain() says. */
  readonly workers: () => Iterable<FleetWorker>
}

/** Leases that an attempt may lose before it fails: its workers died under it. */
const mostLosses = 3

/** Reasons that say nothing about the job. */
const isHarmless: ReadonlySet<CloseReason> = new Set(['not_accepted', 'handed_back', 'not_held'])

export class FleetJobs implements Work, FleetDispatch {
  readonly isJobs = true
  readonly id: string = `j-${randomUUID().slice(0, 13)}`
  readonly epoch = 1
  readonly times: LeaseTimes
  readonly #options: FleetJobsOptions
  /** By what they need, in order of arrival: a claim looks at each need once. */
  readonly #waiting = new Map<string, WaitingJob[]>()
  readonly #byLease = new Map<Lease, WaitingJob>()
  #waitingCount = 0
  #lastLease = 0

  constructor(options: FleetJobsOptions) {
    this.#options = options
    this.times = options.times ?? defaultTimes
  }

  get waiting(): number {
    return this.#waitingCount
  }

  get running(): number {
    return this.#byLease.size
  }

  /**
   * Runs one attempt on a worker.
   *
   * *Cancellation*: the lease ends, and the worker stops at its next beat.
   * *Fairness*: in order of arrival among attempts with the same needs.
   */
  run(attempt: FleetAttempt): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const job: WaitingJob = {
        attempt,
        resolve,
        reject,
        lease: undefined,
        losses: 0,
        isOver: false,
      }
      const { signal } = attempt
      const stop = (): void => this.#cancel(job)
      const end = <A>(settle: (value: A) => void) => {
        return (value: A): void => {
          job.isOver = true
          signal.removeEventListener('abort', stop)
          settle(value)
        }
      }
      Object.assign(job, { resolve: end(resolve), reject: end(reject) })
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop, { once: true })
      this.#enqueue(job)
    })
  }

  /** Why an attempt waits: for what explain() says. */
  whyWaiting({
    job,
    version,
    capabilities,
  }: Pick<FleetAttempt, 'job' | 'version' | 'capabilities'>): string {
    const workers = [...this.#options.workers()]
    if (workers.length === 0) return 'no worker is connected'
    const able = workers.filter(({ description }) =>
      capabilities.every((each) => description.capabilities.includes(each)),
    )
    const names = workers.slice(0, 5).map(({ name }) => name)
    const there = `${workers.length} connected: ${names.join(', ')}${workers.length > 5 ? ', …' : ''}`
    if (able.length === 0) {
      const missing = capabilities.find((each) =>
        workers.every(({ description }) => !description.capabilities.includes(each)),
      )
      return `no worker with capability ${missing ?? capabilities.join(' and ')} (${there})`
    }
    const has = able.filter(({ description }) =>
      description.jobs.some((each) => each.name === job && each.version === version),
    )
    if (has.length === 0) return `no worker has ${job} version ${version} (${there})`
    const busy = has.filter(({ leases }) => leases.size > 0).length
    return `${busy} of ${has.length} workers that can run it are busy (${there})`
  }

  /** The first job that this worker can run, or why there is none; undefined when no job waits. */
  take(worker: FleetWorker): WaitingJob | Refusal | undefined {
    let refusal: Refusal | undefined
    for (const [key, jobs] of this.#waiting) {
      const refused = refusalOf(worker, jobs[0]!.attempt)
      if (refused !== undefined) {
        refusal = refused
        continue
      }
      const job = jobs.shift()!
      if (jobs.length === 0) this.#waiting.delete(key)
      this.#waitingCount--
      return job
    }
    return refusal
  }

  offered(lease: Lease, job: WaitingJob): void {
    job.lease = lease
    this.#byLease.set(lease, job)
  }

  // ── Work ──────────────────────────────────────────────────────────────────────────────────────

  nextLease(): number {
    return ++this.#lastLease
  }

  describe(lease: Lease): object {
    const { job, version, name, attempt, input } = this.#byLease.get(lease)!.attempt
    return { job, version, name, attempt, input }
  }

  async grant(lease: Lease): Promise<void> {
    this.#byLease.get(lease)?.attempt.onStart()
  }

  report(lease: Lease, report: Report): ReportOutcome {
    const job = this.#byLease.get(lease)
    lease.sequence = report.sequence
    if (report.done < 1) return { kind: 'counted' }
    lease.done = 1
    job?.resolve(report.result)
    return { kind: 'closed', why: 'finished' }
  }

  async saved(): Promise<void> {
    // Nothing of it is durable: the run is.
  }

  failed(lease: Lease, { message, retryable, name, stack }: Failure): void {
    const error = new HeddleError('HDL_JOB_FAILED', { problem: message, retryable })
    error.cause = Object.assign(new Error(message), name === undefined ? {} : { name }, {
      stack: stack ?? '',
    })
    this.#byLease.get(lease)?.reject(error)
  }

  release(lease: Lease, why: CloseReason): void {
    const job = this.#byLease.get(lease)
    this.#byLease.delete(lease)
    if (job === undefined || job.isOver) return
    job.lease = undefined
    if (!isHarmless.has(why)) job.losses++
    if (job.losses > mostLosses) {
      job.reject(new HeddleError('HDL_LEASE_ENDED', { lease: lease.id, reason: why }))
    } else {
      job.attempt.onWaiting()
      this.#enqueue(job)
    }
  }

  seen(): void {
    // See saved().
  }

  async closedLease(): Promise<ClosedLease | undefined> {
    return undefined
  }

  /** What a worker logs or reports as progress for a lease. */
  log(lease: Lease, text: string): void {
    this.#byLease.get(lease)?.attempt.onLog(text)
  }

  progress(lease: Lease, fraction: number, text: string | undefined): void {
    this.#byLease.get(lease)?.attempt.onProgress(fraction, text)
  }

  #enqueue(job: WaitingJob): void {
    const key = keyOf(job.attempt)
    const jobs = this.#waiting.get(key)
    if (jobs === undefined) this.#waiting.set(key, [job])
    else jobs.push(job)
    this.#waitingCount++
    this.#options.onWaiting()
  }

  #cancel(job: WaitingJob): void {
    job.reject(job.attempt.signal.reason)
    if (job.lease !== undefined) return this.#options.close(job.lease, 'cancelled')
    const key = keyOf(job.attempt)
    const jobs = this.#waiting.get(key)
    const index = jobs?.indexOf(job) ?? -1
    if (index < 0) return
    jobs!.splice(index, 1)
    this.#waitingCount--
    if (jobs!.length === 0) this.#waiting.delete(key)
  }
}

function keyOf({ job, version, capabilities }: FleetAttempt): string {
  return JSON.stringify([job, version, capabilities])
}

function refusalOf(
  worker: FleetWorker,
  { job, version, capabilities }: FleetAttempt,
): Refusal | undefined {
  const { description } = worker
  const missing = capabilities.find((each) => !description.capabilities.includes(each))
  if (missing !== undefined) {
    return { reason: 'capability', message: `job ${job} needs capability ${missing}` }
  }
  const versions = description.jobs.filter((each) => each.name === job).map((each) => each.version)
  if (versions.length === 0)
    return { reason: 'capability', message: `job ${job} waits, which this worker does not have` }
  if (versions.includes(version)) return undefined
  const message = `job ${job} waits in version ${version}; this worker has ${versions.join(', ')}`
  return { reason: 'version', message }
}
