/**
 * The list of runs: pages of the server, kept current by events.
 *
 * Invariants, quoted by the tests:
 *  U1  A run is in the list once, and the list is newest first.
 *  U2  A run that no longer fits the filter leaves the list; one that begins to fit it enters, if it is newer than the
 *      last one that is shown or there is no next page.
 *  U3  At most `most` runs are kept: a list that is open for a week does not grow.
 */
import { hasEnded, isActive, type RunOutcome, type RunSummary } from '../../api/contract.ts'

export interface RunFilter {
  readonly state: string
  readonly q: string
}

/** The same filter as in the server, for a run that an event brings. */
export function fits(run: RunSummary, { state, q }: RunFilter): boolean {
  if (state === 'active' && !isActive(run.outcome)) return false
  if (state === 'finished' && !hasEnded(run.outcome)) return false
  if (
    state !== '' &&
    state !== 'active' &&
    state !== 'finished' &&
    run.outcome !== (state as RunOutcome)
  )
    return false
  if (q === '') return true
  const wanted = q.toLowerCase()
  return [run.id, run.key, run.title, run.graph].some((text) =>
    text?.toLowerCase().includes(wanted),
  )
}

export interface RunListState {
  readonly runs: readonly RunSummary[]
  readonly next: string | null
}

const most = 2_000

export function takeIn(
  list: RunListState,
  changed: readonly RunSummary[],
  removed: readonly string[],
  filter: RunFilter,
): RunListState {
  const gone = new Set(removed)
  const byId = new Map(list.runs.filter((run) => !gone.has(run.id)).map((run) => [run.id, run]))
  const oldest = list.next === null ? -Infinity : (list.runs.at(-1)?.started_at ?? -Infinity)
  for (const run of changed) {
    if (!fits(run, filter)) byId.delete(run.id)
    else if (byId.has(run.id) || run.started_at >= oldest) byId.set(run.id, run)
  }
  const runs = [...byId.values()].sort(
    (a, b) => b.started_at - a.started_at || (a.id < b.id ? 1 : -1),
  )
  return { runs: runs.slice(0, most), next: list.next }
}
