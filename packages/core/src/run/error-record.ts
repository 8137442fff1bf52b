import { describe, readField } from '../errors.ts'
import type { ErrorRecord } from '../journal/journal.ts'

/** Causes may be circular, and nobody reads the tenth. */
const deepestCause = 8

/**
 * An error as plain data, with its causes. It never throws, whatever was thrown: the row of a failure
 * must not be lost because of what failed.
 */
export function toErrorRecord(error: unknown, depth = 0): ErrorRecord {
  if (!(error instanceof Error)) return { name: typeof error, message: describe(error) }
  const code = readField(error, 'code')
  const stack = readField(error, 'stack')
  const cause = readField(error, 'cause')
  return {
    name: describe(readField(error, 'name')),
    message: describe(readField(error, 'message')),
    ...(typeof code === 'string' && { code }),
    ...(typeof stack === 'string' && { stack }),
    ...(cause !== undefined && depth < deepestCause && { cause: toErrorRecord(cause, depth + 1) }),
  }
}
