/**
 * Pages of a list of runs, newest first: the part that is the same in every journal.
 *
 * Runs have numbers that grow; a page starts below the number that the page before ended with. So a page costs the same
 * however many runs there are, and runs that begin or are removed meanwhile are neither repeated nor skipped.
 *
 *  N1  A page reads a bounded number of runs. It may be short, even empty, and still have a next one.
 */
import { checkCount } from '../kernel/check.ts'
import type {
  JournaledState,
  RunListEntry,
  RunListOptions,
  RunListPage,
  RunSummary,
} from './journal.ts'
import { outcomeOf, type RunOutcome } from './run-outcome.ts'
import { isEnd, storedRunStates } from './states.ts'
import type { RunState } from '../scheduler/events.ts'

/** Runs that a page reads by default: some 20 ms in the reading thread. */
const lookedAt = 10_000
const mostListed = 1_000

/** The data of a run before its nodes are counted. */
export interface ListedRun {
  readonly number: number
  readonly id: string
  readonly key?: string | null | undefined
  readonly title: string
  readonly state: JournaledState
}

export interface RunListSource<R extends ListedRun> {
  /** Runs below a number, newest first. */
  read(before: number, size: number): Promise<readonly R[]> | readonly R[]
  labelsOf(run: R): Promise<RunListEntry['labels']>
  /** The whole of one, with its nodes counted. */
  summaryOf(run: R): Promise<RunSummary> | RunSummary
}

export async function listRuns<R extends ListedRun>(
  options: RunListOptions,
  source: RunListSource<R>,
): Promise<RunListPage> {
  const limit = Math.min(mostListed, checkCount('limit', options.limit, 1))
  const most = checkCount('most', options.most ?? lookedAt, 1)
  const wanted = options.outcomes === undefined ? undefined : new Set(options.outcomes)
  const text = options.text?.toLowerCase() ?? ''
  const runs: RunListEntry[] = []
  let { before = Number.MAX_SAFE_INTEGER } = options
  // More than is shown at once pays only where most of it is left out.
  let size = Math.min(200, limit + 1)
  for (let looked = 0; looked < most; size = 200) {
    const page = await source.read(before, size)
    for (const run of page) {
      if (runs.length === limit) return { runs, next: before }
      before = run.number
      looked++
      if (text !== '' && !hasText(run, text)) continue
      if (wanted !== undefined && !mayBe(run.state, wanted)) continue
      const labels = await source.labelsOf(run)
      if (!hasLabels(labels, options.labels)) continue
      const summary = await source.summaryOf(run)
      if (wanted === undefined || wanted.has(outcomeOf(summary))) runs.push({ ...summary, labels })
    }
    if (page.length < size) return { runs, next: undefined }
  }
  return { runs, next: before }
}

function hasText({ id, key, title }: ListedRun, text: string): boolean {
  return [id, key, title].some((each) => each?.toLowerCase().includes(text) === true)
}

function hasLabels(labels: RunListEntry['labels'], wanted: RunListOptions['labels'] = {}): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value)
}

function mayBe(state: JournaledState, wanted: ReadonlySet<RunOutcome>): boolean {
  if (state !== 'finished') return wanted.has(state)
  return wanted.has('succeeded') || wanted.has('failed')
}

/** The states under which runs that are in this one now are stored. */
export function storedStatesIn(state: JournaledState): readonly RunState[] {
  return state === 'interrupted' ? openStates : [state]
}

/** Whether these are states of runs that have not ended: few, however many runs there are. */
export function areOpen(states: readonly RunState[] | undefined): boolean {
  return states !== undefined && !states.some(isEnd)
}

/** The states under which runs of these outcomes are stored; undefined when that leaves none out. */
export function storedStatesOf(
  outcomes: readonly RunOutcome[] | undefined,
): readonly RunState[] | undefined {
  if (outcomes === undefined) return undefined
  const states = new Set<RunState>()
  for (const outcome of outcomes) {
    if (outcome === 'succeeded' || outcome === 'failed') states.add('finished')
    else if (outcome === 'interrupted') {
      for (const state of openStates) states.add(state)
    } else states.add(outcome)
  }
  return [...states]
}

const openStates = storedRunStates.filter((state) => state !== 'finished' && state !== 'cancelled')

/** The labels among the options of a run. */
export function labelsOf(options: unknown): Readonly<Record<string, string>> {
  const labels: unknown = (options as { labels?: unknown } | null | undefined)?.labels
  if (typeof labels !== 'object' || labels === null) return {}
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(labels)) {
    if (typeof value === 'string') texts[name] = value
  }
  return texts
}
