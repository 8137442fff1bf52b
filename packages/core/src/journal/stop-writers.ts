import type { Clock } from '../kernel/clock.ts'
import { waitFor } from '../kernel/wait-for.ts'

/** Milliseconds that stop() of a journal waits for pending rows when its caller sets no deadline. */
export const stopDeadline = 60_000

/**
 * Ends the writers of a journal, then lets go of the store, however the writers ended.
 *
 * *Cancellation*: `enough` ends the wait for the writers: callers that wait for a row get its outcome, or the error
 * that letting go of the store ends it with.
 * @throws the error with which a writer was ended.
 */
export async function stopWriters(
  writers: readonly AsyncDisposable[],
  clock: Clock,
  enough: AbortSignal,
  release: () => Promise<void>,
): Promise<void> {
  const ended = Promise.allSettled(writers.map((writer) => writer[Symbol.asyncDispose]()))
  const outcomes = await waitFor(ended, 'Writers', clock, { signal: enough }).catch(() => [])
  await release()
  const lost = outcomes.find(({ status }) => status === 'rejected')
  if (lost?.status === 'rejected') throw lost.reason
}
