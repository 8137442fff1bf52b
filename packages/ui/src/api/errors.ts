/** What to say of a call that did not succeed. */
import type { CallError } from '@heddle/server/client'

interface Refusal {
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

/** A sentence for people. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, retryAfterMs } = error as Refusal
  if (isUnreachable(error)) return 'The server cannot be reached.'
  if (retryAfterMs === undefined) return message
  return `${message} Try again in ${Math.ceil(retryAfterMs / 1_000)} s.`
}

/** Whether no answer came: each browser has its own words for that. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError && /fetch|network|load failed/i.test(error.message)
}

/** Whether the same call may succeed later: a view asks again by itself. */
export function isPassing(error: unknown): boolean {
  return isUnreachable(error) || (error as Partial<CallError> | undefined)?.retryable === true
}

/** Whether the requested thing does not exist. */
export function isMissing(error: unknown): boolean {
  return (error as { readonly status?: number } | undefined)?.status === 404
}

/** Whether the server has refused the call for good: there is no use in sending it again. */
export function isRefused(error: unknown): boolean {
  const { status = 0, retryable = true } = (error ?? {}) as Partial<CallError>
  return status >= 400 && status < 500 && !retryable
}
