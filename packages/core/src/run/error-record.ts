import { describe } from '../errors.ts'
import type { ErrorRecord } from '../journal/journal.ts'

/** Causes may be circular, and nobody reads the tenth. */
const deepestCause = 8

/** Reads a field of somebody else's error, which may be a getter that throws. */
function read(error: Error & { readonly code?: unknown }, key: keyof typeof error): unknown {
  try {
    return error[key]
  } catch {
    return undefined
  }
}

/**
 * An error as plain data, with its causes. It never throws, whatever was thrown: the row of a failure
 * must not be lost because of what failed.
 */
export function toErrorRecord(error: unknown, depth = 0): ErrorRecord {
  if (!(error instanceof Error)) return { name: typeof error, message: describe(error) }
  const code = read(error, 'code')
  const stack = read(error, 'stack')
  const cause = read(error, 'cause')
  return {
    name: describe(read(error, 'name')),
    message: describe(read(error, 'message')),
    ...(typeof code === 'string' && { code }),
    ...(typeof stack === 'string' && { stack }),
    ...(cause !== undefined && depth < deepestCause && { cause: toErrorRecord(cause, depth + 1) }),
  }
}
