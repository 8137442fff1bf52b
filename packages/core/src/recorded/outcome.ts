/** How a run ended, in one word: `finished` in the journal means only that nothing is left to do. */
import type { JournaledState, RunSummary } from '../journal/journal.ts'
import { hasWorkLeft } from '../run/resume.ts'

export type RunOutcome = Exclude<JournaledState, 'finished'> | 'succeeded' | 'failed'

export function outcomeOf(run: Pick<RunSummary, 'state' | 'counts'>): RunOutcome {
  if (run.state !== 'finished') return run.state
  return hasWorkLeft(run) ? 'failed' : 'succeeded'
}
