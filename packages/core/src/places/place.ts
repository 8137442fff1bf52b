import type { PlacePermits } from '../capacity/lane-table.ts'
import type { Job, JobContext } from '../graph/job.ts'

/** The context that a place gets for one attempt of a node. */
export interface PlaceContext extends JobContext {
  /** Milliseconds the place has to settle once `signal` has aborted. Then the attempt ends without it. */
  readonly grace: number
  /** The job waits for the place, not for itself: its timeout stops. `why` is asked by explain(). */
  queued(why?: () => string): void
  /** The job runs now: its timeout starts. */
  started(): void
}

/**
 * Where jobs run. Users may implement it, for instance to send jobs to their own cluster; it must
 * settle within `context.grace` after `context.signal` aborts.
 */
export interface Place {
  run(job: Job, input: unknown, context: PlaceContext): unknown
  /** Which permits of the process an attempt of this job takes. None when absent. */
  permitsOf?(job: Job): PlacePermits
}
