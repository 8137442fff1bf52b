import { describe, errorBounds, readField } from '../errors.ts'
import type { ErrorRecord } from '../journal/journal.ts'

/** The error that a record describes. Its class is lost; name, code, stack and causes are the same. */
export function fromErrorRecord(record: ErrorRecord): Error {
  const { name, message, code, stack, cause, errors } = record
  const options = cause === undefined ? undefined : { cause: fromErrorRecord(cause) }
  const error = new Error(message, options)
  // Not enumerable, like the fields of a thrown error.
  const define = (key: string, value: unknown): void => {
    Object.defineProperty(error, key, { value, configurable: true, writable: true })
  }
  define('name', name)
  define('stack', stack ?? `${name}: ${message}`)
  if (errors !== undefined) define('errors', errors.map(fromErrorRecord))
  return code === undefined ? error : Object.assign(error, { code })
}

/** Whether it is an error. False for a proxy that does not say so: it may throw instead. */
export function isErrorObject(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

/**
 * An error as plain data, with its causes. It never throws, whatever was thrown: the row of a failure
 * must not be lost because of what failed.
 */
export function toErrorRecord(error: unknown, depth = 0): ErrorRecord {
  if (!isErrorObject(error)) return { name: typeof error, message: describe(error) }
  const code = readField(error, 'code')
  const stack = readField(error, 'stack')
  const cause = readField(error, 'cause')
  const errors = readField(error, 'errors')
  const isDeepest = depth >= errorBounds.causes
  return {
    name: describe(readField(error, 'name')),
    message: describe(readField(error, 'message')),
    ...(typeof code === 'string' && { code }),
    ...(typeof stack === 'string' && { stack }),
    ...(cause !== undefined && !isDeepest && { cause: toErrorRecord(cause, depth + 1) }),
    // Those inside are the end: lists of lists would grow with each level.
    ...(Array.isArray(errors) &&
      !isDeepest && {
        errors: errors
          .slice(0, errorBounds.errors)
          .map((each) => toErrorRecord(each, errorBounds.causes)),
      }),
  }
}
