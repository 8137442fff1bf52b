import { errorBounds } from '@heddle/core/lowlevel'
import { formatError } from '../text/format.ts'
import { remedyFor } from './system-error.ts'

/** An error as programs read it. */
export interface PrintedError {
  readonly message: string
  /** Class of the error. */
  readonly name?: string
  readonly code?: string
  /** What to do about it. */
  readonly help?: string
  /** Messages of the errors that it stands for, such as those of an AggregateError: the first of them. */
  readonly errors?: readonly string[]
}

export function errorRecord(error: unknown): PrintedError {
  if (!(error instanceof Error)) return { message: formatError(error) }
  const {
    code,
    help = remedyFor(error),
    errors,
  } = error as {
    code?: unknown
    help?: unknown
    errors?: unknown
  }
  return {
    message: error.message,
    name: error.name,
    ...(typeof code === 'string' && { code }),
    ...(typeof help === 'string' && { help }),
    ...(Array.isArray(errors) && { errors: errors.slice(0, errorBounds.errors).map(formatError) }),
  }
}
