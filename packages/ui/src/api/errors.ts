/** What to say of a call that did not succeed. */

interface Refusal {
  readonly code?: string
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

/** A sentence for people. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, retryAfterMs } = error as Refusal
  if (error instanceof TypeError && /fetch|network/i.test(message)) {
    return 'The server cannot be reached. The view is filled again as soon as it answers.'
  }
  if (retryAfterMs === undefined) return message
  return `${message} Try again in ${Math.ceil(retryAfterMs / 1_000)} s.`
}

export function codeOf(error: unknown): string | undefined {
  return (error as Refusal | undefined)?.code
}
