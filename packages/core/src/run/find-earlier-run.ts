/** Which run of a journal is resumed, or used for a new run, when the caller names none. */
import { HeddleError } from '../errors.ts'
import { isProcessGone } from '../files/process-alive.ts'
import type { Journal, RunSnapshot } from '../journal/journal.ts'
import { isHeld } from '../journal/states.ts'

/** Which run `resume: true` means. */
export interface WantedRun {
  readonly title: string | undefined
  /** The nodes that were given to `Graph.only()`: only a run of the same nodes is found. */
  readonly only: readonly string[] | undefined
  /** Whether its results are to be used in a new run. */
  readonly isSource: boolean
}

/**
 * The run to resume: the given one, or the last of this title that no process runs. When that one has succeeded there
 * is nothing to do but to answer with its result: nothing older is resumed unless it is named. One that a killed process still
 * holds is not passed; one that a process runs is found when there is no other. A run that was limited to some nodes
 * (`Graph.only`) is not the run of its title: it is found only for the same nodes.
 * @throws `HDL_UNKNOWN_RUN` when there is none.
 */
export async function findEarlierRun(
  journal: Journal,
  which: string | true,
  { title, only, isSource }: WantedRun,
): Promise<RunSnapshot> {
  if (which !== true) return journal.snapshot(which)
  let passed: { readonly partial: string; readonly only: readonly string[] } | undefined
  let held: string | undefined
  for (const run of await journal.runs()) {
    // Results of another program must not become those of this one.
    if (title !== undefined && run.title !== title) continue
    const selected = onlyOf((await journal.overview(run.id)).options)
    const isSame = isSameSelection(selected, only)
    const isRunning = isHeld(run.state) && (isSource || !isProcessGone(run))
    if (isSame && isRunning) held ??= run.id
    else if (isSame) return journal.snapshot(run.id)
    else if (selected !== undefined) passed ??= { partial: run.id, only: selected }
  }
  if (held !== undefined) return journal.snapshot(held)
  const { address } = journal
  const run = isSource ? 'earlier' : 'unfinished'
  throw new HeddleError('HDL_UNKNOWN_RUN', { run, title, address, ...passed })
}

/** The nodes that a run was limited to, from its options. */
function onlyOf(options: RunSnapshot['options']): readonly string[] | undefined {
  const { only } = options
  return Array.isArray(only) ? only.map(String) : undefined
}

function isSameSelection(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other
  return JSON.stringify(one.toSorted()) === JSON.stringify(other.toSorted())
}
