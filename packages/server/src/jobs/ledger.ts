/** The writes of a service about the work that it has acknowledged. The store ledger implements it. */
import type { NodeHeader, WaitOptions } from '@heddle/core/lowlevel'
import type { ServedJob } from './served-job.ts'
import type { StageRow } from './story.ts'
import type { Family } from './supersets.ts'

export interface AcknowledgedWork {
  readonly job: string
  readonly handle: string
  readonly input: unknown
  /** Absent in rows that were written before there were tenants. */
  readonly tenant?: string | undefined
  readonly priority: number
  /** Version of the job for which the handle was made. */
  readonly version: string
  /** Ignores stored results. */
  readonly force: boolean
  /** Which other inputs it answers for. */
  readonly family?: Family | undefined
}

export type StageName = 'prepare' | 'items'

/** Work that was acknowledged. */
export interface LedgerEntry {
  /** Unique to the acknowledgement: a handle may be acknowledged again. */
  readonly acknowledgementId: string
  /** The code of the job may run once this resolves. Absent when it was acknowledged in this life. */
  readonly begin?: (() => Promise<void>) | undefined
  /** A step of a stage, or a line that its job has logged. */
  write(row: StageRow): void
  /** It is about to be stopped, and is continued later: whatever happens next is not its fault. */
  putBack(): void
  /** The end: nothing is written after it. */
  end(how: 'finished' | 'cancelled'): void
}

/** Where a service records the work it has acknowledged. */
export interface AcknowledgementLog {
  /** Resolves when the work is durable. *Cancellation*: none. @throws `HDL_STORE_FAILED`, `HDL_NOT_OWNER`. */
  acknowledge(served: ServedJob, work: AcknowledgedWork): Promise<LedgerEntry>
  /**
   * Resolves when it is known which work of this handle's shard is open, after a start or a take-over. True when that had to be waited
   * for. *Cancellation*: ends the wait.
   */
  waitKnown(handle: string, options?: WaitOptions): Promise<boolean>
  /** Work of this handle that is open, can be run here, and has not begun. */
  findQueued(handle: string): AcknowledgedWork | undefined
  /** All work that is open, can be run here, and has not begun; and why. */
  queued(): readonly QueuedWork[]
  /**
   * Ends what is open of this handle, without a result: aborts it in the same step, and resolves when its end is durable.
   * *Cancellation*: none. @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`.
   */
  cancel(handle: string): Promise<void>
  /**
   * Whether this tenant was promised the results of this handle, and the work has ended since. *Cancellation*: none.
   * @param tenant Undefined for any.
   */
  wasPromised(handle: string, tenant: string | undefined): Promise<boolean>
  /** Jobs of this server's shards that do not run, and the reasons. */
  setAside(): readonly SetAsideWork[]
  /** Runs it again as if it had just been acknowledged. *Cancellation*: none. @throws `HDL_NOT_OWNER`. */
  retry(handle: string): Promise<void>
  /** Ends it without a result. *Cancellation*: none. @throws `HDL_NOT_OWNER`. */
  endSetAside(handle: string): Promise<void>
}

export interface QueuedWork extends Pick<AcknowledgedWork, 'job' | 'handle' | 'tenant'> {
  /** Why it has not begun. */
  readonly reason: string
  /** Whether this process has tried it before. */
  readonly isPutBack: boolean
}

export interface SetAsideWork extends Pick<AcknowledgedWork, 'job' | 'handle' | 'tenant'> {
  /** Whether it runs by itself as soon as a server has its job in its version (C13). */
  readonly state: 'set_aside' | 'waiting'
  readonly version: string
  readonly interruptions: number
  readonly reason: string
}

/** The nodes of a run that records the history of a work. */
export function nodesOf({ name, prepare, item }: ServedJob): readonly NodeHeader[] {
  // The input is the value of a node of its own: redacted fields are hidden there too.
  const hidden = prepare.redact === undefined ? undefined : { redact: prepare.redact }
  return [
    { name: 'input', job: name, place: 'loop', after: [], ...hidden },
    { name: 'prepare', job: prepare.name, place: prepare.place, after: ['input'], ...hidden },
    ...(item === undefined
      ? []
      : [{ name: 'items', job: item.name, place: item.place, after: ['prepare'] }]),
  ]
}
