import type { ErrorRecord } from '@heddle/core/lowlevel'

/** A recorded error as it was, as far as that is known: for what prints errors. */
export function toError(record: ErrorRecord): Error {
  const error = new Error(record.message)
  error.name = record.name
  // Without a stack of its own: that one would name this file.
  error.stack = record.stack ?? `${record.name}: ${record.message}`
  if (record.cause !== undefined) error.cause = toError(record.cause)
  if (record.errors !== undefined) Object.assign(error, { errors: record.errors.map(toError) })
  return error
}
