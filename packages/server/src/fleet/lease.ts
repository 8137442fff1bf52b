import type { FleetWorker } from './fleet-worker.ts'

/** The states of docs/design/fleet.md, "Lease". */
export type LeaseState = 'offered' | 'accepting' | 'held' | 'closing' | 'closed'

/** Why a lease ended. Part of the protocol: workers and people read these words. */
export type CloseReason =
  | 'finished'
  | 'failed'
  | 'stale'
  | 'no_progress'
  | 'handed_back'
  | 'invalid_report'
  | 'campaign_ended'
  | 'cancelled'
  | 'blocked'
  | 'not_accepted'
  | 'not_held'
  | 'takeover'

/** Milliseconds, and beats. */
export interface LeaseTimes {
  /** Between two beats. */
  readonly beat: number
  /** Without any contact, after which a lease is stale. */
  readonly stale: number
  /** Beats without progress after which a lease is closed (L8); 0 for never. */
  readonly idleBeats: number
}

export const defaultTimes: LeaseTimes = { beat: 120_000, stale: 360_000, idleBeats: 30 }

/** Where a result is that was too large for a message, or is not JSON. */
export interface ResultPlace {
  readonly run: string
  readonly artifact: string
}

/** Cumulative: everything that this lease has done so far. */
export interface Report {
  /** Counts from 1. */
  readonly sequence: number
  /** Units that are done. */
  readonly done: number
  readonly result: unknown
  /** Instead of `result`. */
  readonly resultAt?: ResultPlace | undefined
}

export type ReportOutcome =
  | { readonly kind: 'counted' }
  | { readonly kind: 'closed'; readonly why: CloseReason; readonly problem?: string }

/**
 * The work behind leases: a campaign, or the jobs of one server. It keeps accounts of units and writes the rows that
 * must survive; the book knows states, epochs and time. Not for users to implement.
 */
export interface Work {
  readonly id: string
  readonly times: LeaseTimes
  /** The next number for a lease, never given before. */
  nextLease(): number
  /** The epoch that a new lease gets. */
  readonly epoch: number
  /** The facts about the work that the answer to a claim contains. */
  describe(lease: Lease): object
  /**
   * L2: resolves when the lease is durable.
   * @throws `HDL_STORE_FAILED`, `HDL_OWNERSHIP_LOST`.
   */
  grant(lease: Lease): Promise<void>
  /** Counts a report, in one step. `saved()` says when it is durable. */
  report(lease: Lease, report: Report): ReportOutcome
  /** Resolves when everything decided so far is durable. */
  saved(): Promise<void>
  /** The lease has ended. Its units return when that is durable (L3), at once when it was only an offer. */
  release(lease: Lease, why: CloseReason, wasOffer: boolean): void
  /** L6: these leases were seen. */
  seen(leases: readonly Lease[]): void
  /** The outcome of a lease that is not in memory; undefined when there is no such lease. */
  closedLease(number: number): Promise<ClosedLease | undefined>
}

export interface ClosedLease {
  readonly why: string
  readonly sequence: number
  readonly worker: string
  /** The worker that claimed it (L4). */
  readonly owner: string
  readonly epoch: number
}

export interface LeaseInit {
  readonly work: Work
  readonly number: number
  readonly epoch: number
  readonly worker: FleetWorker
  readonly start: number
  readonly size: number
}

/** The right of one worker to one piece of work. The book owns its state, the work its accounts. */
export class Lease {
  readonly work: Work
  readonly number: number
  readonly id: string
  readonly epoch: number
  readonly worker: FleetWorker
  /** Where its worker was when it got the lease: later calls may come from elsewhere. */
  readonly address: string
  /** Owner of its worker at the time of the lease. */
  readonly owner: string
  readonly tenant: string
  /**
   * Threads of its worker at the time of the lease: counted until the lease ends, whatever the
   * worker says later.
   */
  readonly threads: number
  readonly start: number
  readonly size: number
  /** The claim that it answered. */
  request = ''

  state: LeaseState = 'offered'
  /** When the worker was seen last, on the monotonic clock. */
  seenAt = 0
  /** When that was written last. */
  seenWrittenAt = 0
  progress = 0
  idleBeats = 0
  /** Set by the campaign that hands out parameters with it (P8). */
  parameters: unknown

  sequence = 0
  done = 0
  result: unknown
  resultAt: ResultPlace | undefined
  reportedAt = 0

  // Whether the store has the grant.
  isGrantSaved = false
  savedSequence = 0
  /** Milliseconds since 1970. */
  grantedAt: number | undefined
  closedWhy: CloseReason | undefined
  /** The worker is asked to stop, and why. It holds the lease until its job has ended. */
  stopReason: string | undefined
  /** A claim has said so. */
  isStopTold = false

  // In the list of its stale period, or of offers.
  list: object | undefined
  previous: Lease | undefined
  next: Lease | undefined

  constructor({ work, number, epoch, worker, start, size }: LeaseInit) {
    this.work = work
    this.number = number
    this.id = leaseId(work.id, number)
    this.epoch = epoch
    this.worker = worker
    this.address = worker.identity.address
    this.owner = worker.identity.owner
    this.tenant = worker.identity.tenant
    this.threads = worker.threads
    this.start = start
    this.size = size
  }
}

export function leaseId(work: string, number: number): string {
  return `${work}.${number}`
}

/** The work and the number in the id of a lease; undefined when it is not one. */
export function parseLeaseId(id: string): { work: string; number: number } | undefined {
  const dot = id.lastIndexOf('.')
  const number = Number(id.slice(dot + 1))
  if (dot <= 0 || !Number.isSafeInteger(number) || number < 1) return undefined
  return { work: id.slice(0, dot), number }
}
