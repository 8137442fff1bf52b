/**
 * The decisions of a campaign that are not written. A write takes all of them in one step, so that later decisions go
 * into the next write; a failed write puts them back in front.
 */
import type { Lease } from '../fleet/lease.ts'
import type { LeaseRecord } from './records.ts'
import type { UnitRange } from './unit-ranges.ts'

/** A lease that is closed: its rest returns when that is durable. */
export interface ClosingLease {
  readonly lease: Lease
  readonly rest: UnitRange
}

export interface ExcludedLease {
  readonly record: LeaseRecord
  readonly rest: UnitRange
}

/** Leases of a campaign that has ended, in one batch. */
const leftInBatch = 200

export class CampaignDue {
  readonly leases: Set<Lease>
  readonly closing: ClosingLease[]
  readonly excluding: ExcludedLease[]
  /** Closed by the end of the campaign: written after it, a few at a time. */
  readonly left: Lease[]
  hasState: boolean

  constructor(given: Partial<Pick<CampaignDue, 'closing' | 'excluding' | 'left'>> = {}) {
    this.leases = new Set()
    this.closing = given.closing ?? []
    this.excluding = given.excluding ?? []
    this.left = given.left ?? []
    this.hasState = false
  }

  get isEmpty(): boolean {
    return !this.hasState && this.leases.size === 0 && this.left.length === 0
  }

  /** What becomes due from now on. `isEndSaved`: leases that the end of the campaign left open may be written. */
  split(isEndSaved: boolean): { readonly now: CampaignDue; readonly later: CampaignDue } {
    const count = isEndSaved ? leftInBatch : 0
    const now = new CampaignDue({ closing: this.closing, excluding: this.excluding })
    now.hasState = this.hasState
    for (const lease of this.leases) now.leases.add(lease)
    for (const lease of this.left.slice(0, count)) now.leases.add(lease)
    return { now, later: new CampaignDue({ left: this.left.slice(count) }) }
  }

  /** Joins two: rows that could not be written come first. */
  joined(later: CampaignDue): CampaignDue {
    const both = new CampaignDue({
      closing: [...this.closing, ...later.closing],
      excluding: [...this.excluding, ...later.excluding],
      left: [...this.left, ...later.left],
    })
    both.hasState = this.hasState || later.hasState
    for (const lease of [...this.leases, ...later.leases]) both.leases.add(lease)
    return both
  }
}
