/** Makes the outcome of an attempt durable before it counts. */
import { shield, type RunnerContext } from '../attempts/attempt.ts'
import { final } from '../attempts/retry.ts'
import { isError } from '../errors.ts'
import type { CommitGuard } from '../journal/journal.ts'
import { isThenable } from '../kernel/call.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import type { RunArtifacts } from './run-artifacts.ts'

/**
 * A success counts once it is in the journal. A journal that cannot be written ends the run.
 *
 * From the moment in which its value is encoded nothing else can end the attempt: a timeout or a cancel would then
 * make a failure of a success in the journal. Before, they end it, and nothing is written
 * (docs/decisions/0116).
 *
 * `leftovers`: the writes that the attempt still has under way when its job has returned; it throws when the job must
 * not have returned yet.
 */
export function commitOutcome(
  scheduler: Pick<Scheduler, 'cancel'>,
  context: RunnerContext,
  outcome: unknown,
  leftovers: (context: RunnerContext) => Promise<unknown> | undefined,
  makeDurable: (value: unknown, guard: CommitGuard) => Promise<void>,
): unknown {
  const fail = (error: unknown): never => {
    if (!isError(error, 'HDL_NOT_CLONEABLE')) {
      scheduler.cancel({ source: 'shutdown', reason: 'the journal cannot be written', abort: true })
    }
    throw final(error as Error)
  }
  const commit = (value: unknown): unknown => {
    const pending = leftovers(context)
    return pending === undefined ? write(value) : pending.then(() => commit(value))
  }
  const write = (value: unknown): unknown => {
    // How an aborted attempt has ended is known. Any other ends with this error: not by the cancel that follows.
    const onFailure = (error: unknown): unknown => (shield(context) ? fail(error) : value)
    if (context.cancelled) return value
    try {
      return makeDurable(value, new ShieldGuard(context)).then(() => value, onFailure)
    } catch (error) {
      return onFailure(error)
    }
  }
  // Awaiting an available value would cost a small job as much as the job itself.
  return isThenable(outcome) ? Promise.resolve(outcome).then(commit) : commit(outcome)
}

/** A job has ended when its artifacts are written, too. Without a journal, which waits for them itself. */
export function withArtifacts(
  artifacts: RunArtifacts | undefined,
  context: RunnerContext,
  outcome: unknown,
): unknown {
  if (artifacts === undefined) return outcome
  const finish = (value: unknown): unknown => {
    const pending = artifacts.pending(context)
    return pending === undefined ? value : pending.then(() => finish(value))
  }
  return isThenable(outcome) ? Promise.resolve(outcome).then(finish) : finish(outcome)
}

/** Shields the attempt when its result is encoded. */
class ShieldGuard implements CommitGuard {
  readonly #context: RunnerContext

  constructor(context: RunnerContext) {
    this.#context = context
  }

  get cancelled(): boolean {
    return this.#context.cancelled
  }

  close(): boolean {
    return shield(this.#context)
  }
}
