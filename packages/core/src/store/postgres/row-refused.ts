import { describe, HeddleError } from '../../errors.ts'
import type { PostgresAddress } from './address.ts'
import { isRefused } from './database-link.ts'

/** Codes that say that a value cannot be held: of a wrong form, absent or forbidden in its column, too large. */
const ofRows = /^(22|54|23502|23514)/

/** D6: the error of a row that PostgreSQL cannot hold, or that cannot be encoded; undefined for any other error. */
export function rowRefusedBy(
  { shown }: PostgresAddress,
  error: unknown,
): HeddleError<'HDL_ROW_REFUSED'> | undefined {
  if (error instanceof HeddleError && !(isRefused(error) && ofRows.test(error.sqlState))) {
    return undefined
  }
  const cause = error instanceof HeddleError ? error.cause : error
  return new HeddleError('HDL_ROW_REFUSED', { store: shown, cause: describe(cause) }, { cause })
}
