/** How a run stands, in one word: `finished` in the journal means only that nothing is left to do. */
import type { JournaledState, RunSummary } from './journal.ts'

export type RunOutcome = Exclude<JournaledState, 'finished'> | 'succeeded' | 'failed'

/** A node that was skipped in a run which was not cancelled was taken out of it on purpose. */
export function outcomeOf({ state, counts }: Pick<RunSummary, 'state' | 'counts'>): RunOutcome {
  if (state !== 'finished') return state
  const { succeeded: _succeeded, skipped: _skipped, ...others } = counts
  return Object.values(others).some((count) => count > 0) ? 'failed' : 'succeeded'
}

/** Whether a run has something left to do and no process runs it: what `resume` continues. */
export function hasWorkLeft(run: Pick<RunSummary, 'state' | 'counts'>): boolean {
  const outcome = outcomeOf(run)
  return outcome === 'interrupted' || outcome === 'cancelled' || outcome === 'failed'
}
