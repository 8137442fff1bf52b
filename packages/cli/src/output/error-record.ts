import { formatError } from '../view/format.ts'
import { remedyFor } from './system-error.ts'

/** An error as programs read it. */
export interface ErrorRecord {
  readonly message: string
  /** Class of the error. */
  readonly name?: string
  readonly code?: string
  /** What to do about it. */
  readonly help?: string
}

export function errorRecord(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { message: formatError(error) }
  const { code, help = remedyFor(error) } = error as { code?: unknown; help?: unknown }
  return {
    message: error.message,
    name: error.name,
    ...(typeof code === 'string' && { code }),
    ...(typeof help === 'string' && { help }),
  }
}
