/**
 * The stages before the failure of a computation, keyed by its error: every waiting caller gets that same error, and
 * callers with more rights get these stages too. Nothing is kept longer than its error.
 */
import type { StageRow } from './story.ts'
import type { Computation } from './computation.ts'

/** Rows that are kept: the last ones. */
const mostRows = 200

export interface FailedWork {
  readonly job: string
  readonly handle: string
  readonly tenant: string
  readonly rows: readonly StageRow[]
}

const byError = new WeakMap<object, FailedWork>()

export function noteFailedComputation(
  error: unknown,
  { served, handle, tenant, story }: Computation,
): void {
  if (typeof error !== 'object' || error === null) return
  byError.set(error, { job: served.name, handle, tenant, rows: story.rows().slice(-mostRows) })
}

export function failedWorkOf(error: unknown): FailedWork | undefined {
  return typeof error === 'object' && error !== null ? byError.get(error) : undefined
}
