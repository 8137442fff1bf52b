/**
 * The counts of a campaign: of closed leases, which are stored, and of all leases, which are shown and used by the
 * rules (P2: by differences, never by a sum over leases).
 */
import type { Lease, Report } from '../fleet/lease.ts'
import type { CampaignState } from './campaign-state.ts'
import type { Reducer } from './campaign-parts.ts'
import type { LeaseRecord } from './records.ts'

export class CampaignTotals {
  readonly #reducer: Reducer
  /** Total of closed leases. */
  #closedTotal: unknown
  #closedDone: number
  /** Total of all leases, where results can be taken out again. */
  #liveTotal: unknown
  #openDone = 0
  #excluded: number

  constructor(reducer: Reducer, { total, done, excluded }: CampaignState) {
    this.#reducer = reducer
    this.#closedTotal = total
    this.#liveTotal = total
    this.#closedDone = done
    this.#excluded = excluded
  }

  /** Units that are counted. */
  get done(): number {
    return this.#closedDone + this.#openDone
  }

  get total(): unknown {
    return this.#liveTotal
  }

  get excluded(): number {
    return this.#excluded
  }

  /** What is stored. */
  get closed(): Pick<CampaignState, 'total' | 'done' | 'excluded'> {
    return { total: this.#closedTotal, done: this.#closedDone, excluded: this.#excluded }
  }

  /** Whether a report changes the total at once: results of single leases can be taken out again. */
  get canSubtract(): boolean {
    return this.#reducer.subtract !== undefined
  }

  /** Adds a report. Called before the lease itself is updated. */
  report(lease: Lease, report: Report): void {
    const { add, subtract } = this.#reducer
    this.#openDone += report.done - lease.done
    if (subtract === undefined) return
    if (lease.sequence > 0) this.#liveTotal = subtract(this.#liveTotal, lease.result)
    this.#liveTotal = add(this.#liveTotal, report.result)
  }

  /** The difference between a report and the one before it. */
  fresh(lease: Lease, report: Report): unknown {
    const { subtract } = this.#reducer
    const isFirst = lease.sequence === 0 || subtract === undefined
    return isFirst ? report.result : subtract(report.result, lease.result)
  }

  close(lease: Lease): void {
    this.#openDone -= lease.done
    this.#closedDone += lease.done
    if (lease.sequence === 0) return
    this.#closedTotal = this.#reducer.add(this.#closedTotal, lease.result)
    if (!this.canSubtract) this.#liveTotal = this.#closedTotal
  }

  /** A lease that was read from the store and is open. */
  restore(lease: Lease): void {
    this.#openDone += lease.done
    if (lease.sequence > 0 && this.canSubtract) {
      this.#liveTotal = this.#reducer.add(this.#liveTotal, lease.result)
    }
  }

  /** P5. `others` are all closed leases that count, needed only where results cannot be subtracted. */
  exclude(
    record: LeaseRecord,
    others: readonly Pick<LeaseRecord, 'sequence' | 'result'>[] = [],
  ): void {
    this.#closedDone -= record.done
    this.#excluded++
    if (record.sequence === 0) return
    const { add, subtract, initial } = this.#reducer
    if (subtract === undefined) {
      this.#closedTotal = others.reduce<unknown>(
        (total, each) => (each.sequence > 0 ? add(total, JSON.parse(each.result)) : total),
        initial,
      )
      this.#liveTotal = this.#closedTotal
      return
    }
    const result: unknown = JSON.parse(record.result)
    this.#closedTotal = subtract(this.#closedTotal, result)
    this.#liveTotal = subtract(this.#liveTotal, result)
  }
}
