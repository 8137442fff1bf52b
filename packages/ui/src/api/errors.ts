/** What to say of a call that did not succeed. */

interface Refusal {
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

/** Whether what was asked for does not exist. */
export function isMissing(error: unknown): boolean {
  return (error as { readonly status?: number } | undefined)?.status === 404
}
