/** Where the critical path of a run that has ended is taken from: the journal, or the scheduler of this process. */
import type { GraphResult, Run } from '@heddle/core'

/**
 * Above this many nodes the scheduler's critical path is used: reading the nodes back takes
 * noticeably long.
 */
const mostNodesReadBack = 20_000

/** Whether the scheduler of this process does not know everything that ran, or the run is small enough to be read back. */
export function needsJournal(
  run: Pick<Run, 'isRecorded' | 'isResumed'>,
  { reused, succeeded }: Pick<GraphResult, 'reused' | 'succeeded'>,
): boolean {
  const isPartial = run.isRecorded || run.isResumed || reused.length > 0
  return isPartial || succeeded.length <= mostNodesReadBack
}
