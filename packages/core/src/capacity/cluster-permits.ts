import { Permits } from '../kernel/permits.ts'

/** The shares of the other servers in a limit. */
export interface SharesElsewhere {
  readonly servers: number
  /** Permits that are theirs, in use or not. */
  readonly permits: number
}

/**
 * Permits of one limit for all servers on a store. `capacity` is the share of this process: the whole limit until the process
 * joins the others (cluster-limits.ts), and nothing while it is not sure of its share.
 */
export class ClusterPermits extends Permits {
  /** Limit of all servers together. */
  readonly limit: number
  /** Whether the share counts now. Asked for each start: a process that was stopped must notice before it takes. */
  isTrusted: () => boolean = () => true
  elsewhere: SharesElsewhere = { servers: 0, permits: 0 }

  constructor(limit: number) {
    super(limit)
    this.limit = limit
  }

  /** The count for this process: attempts that still run keep their permits when the share was lowered. */
  get share(): number {
    return Math.max(this.capacity, this.used)
  }

  override hasRoom(count: number): boolean {
    return count <= this.capacity - this.used && this.isTrusted()
  }

  /** The share grows when the others need less. */
  override canEverHave(count: number): boolean {
    return count <= this.limit
  }
}
