/** Types of errors.ts: the code decides which details there are. Checked by tsc, never run. */
import { HeddleError, isError, type ErrorCode, type ErrorDetails } from '@heddle/core'

declare const caught: unknown

if (isError(caught, 'HDL_TIMEOUT')) {
  const limit: number = caught.details.limit
  void limit
  // @ts-expect-error a timeout has no path
  void caught.details.path
}

// @ts-expect-error an unknown code
isError(caught, 'HDL_TIMEOUTS')

// @ts-expect-error limit is missing
void new HeddleError('HDL_TIMEOUT', { what: 'Job' })

// @ts-expect-error details of another code
void new HeddleError('HDL_CLOSED', { limit: 5 })

const details: ErrorDetails<'HDL_CYCLE'> = { path: ['a', 'b', 'a'] }
void details

/** A switch over `code` can be checked for completeness. */
export function isHarmless(code: ErrorCode): boolean {
  return code === 'HDL_CANCELLED' || code === 'HDL_SUPERSEDED'
}
