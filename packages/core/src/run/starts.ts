/**
 * The start of a job in a run that is recorded.
 *
 *   start ── set aside ──▶ HDL_NODE_SET_ASIDE                             (R5)
 *     ├── the run was interrupted ──▶ its start is durable ──▶ the job    (R6)
 *     └── else ──▶ the job
 *
 * A job that ends the process at once would leave no trace of its start in a journal that is written behind the run. To
 * wait for the journal before each job would cost every run as much as its successes do; so only a run that was
 * interrupted before does it.
 */
import type { RunnerContext } from '../attempts/attempt.ts'
import { final } from '../attempts/retry.ts'
import { HeddleError, readField, reasonError, type ErrorCode } from '../errors.ts'
import { mostInterruptions } from '../kernel/most-interruptions.ts'
import type { RunWriter } from '../journal/journal.ts'
import { isErrorObject } from './error-record.ts'

/**
 * Calls the job of a node, an element or a step that was running this many times when the process ended.
 * @throws `HDL_NODE_SET_ASIDE`.
 */
export type BeginJob = (
  context: RunnerContext,
  interruptions: number,
  call: () => unknown,
) => unknown

/** Whether an error, or its record in the journal, means that something was set aside. */
export function isSetAside(error: unknown): boolean {
  const code: ErrorCode = 'HDL_NODE_SET_ASIDE'
  return isErrorObject(error) && readField(error, 'code') === code
}

export function beginJobs(
  writer: Pick<RunWriter, 'runId' | 'flush'>,
  wasInterrupted: boolean,
): BeginJob {
  const { runId: run } = writer
  return (context, interruptions, call) => {
    const { name: node } = context
    if (interruptions >= mostInterruptions) {
      throw final(new HeddleError('HDL_NODE_SET_ASIDE', { node, interruptions, run }))
    }
    if (!wasInterrupted) return call()
    return writer.flush().then(() => {
      if (context.cancelled) throw reasonError(node, context.signal.reason)
      return call()
    })
  }
}
