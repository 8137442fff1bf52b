/** Which runs go when a journal is pruned. The same for all journals. */
import { HeddleError } from '../errors.ts'
import { throwIfAborted } from '../kernel/abort.ts'
import type { Clock } from '../kernel/clock.ts'
import { checkCount, checkMoment, checkOptions, type OptionNames } from '../kernel/check.ts'
import { pauseFor } from '../kernel/wait-for.ts'
import type { PruneOptions, RunSummary } from './journal.ts'
import { isEnd } from './states.ts'

/** What decides whether a run goes, besides its size. */
export type AgedRun = Pick<RunSummary, 'state' | 'startedAt' | 'endedAt'>

/** A run that goes, and what it takes. */
export interface SizedRun {
  readonly summary: RunSummary
  readonly bytes: number
}

/**
 * Reads the runs of a journal for a prune. Sizes and counts of nodes are read from every row of a run: they are asked for where they
 * are needed, and never of a run that stays unless the sizes of all decide.
 */
export interface PruneSource<R extends AgedRun> {
  /** From the newest run to the oldest, a page with each call. Empty when there are no more. */
  nextPage(): Promise<readonly R[]>
  /** What each takes, about. */
  bytesOf(runs: readonly R[]): Promise<readonly number[]>
  /** Undefined: it was removed meanwhile. */
  summariesOf(runs: readonly R[]): Promise<readonly (RunSummary | undefined)[]>
}

const optionNames = {
  before: 1,
  keep: 1,
  maxBytes: 1,
  interrupted: 1,
  dryRun: 1,
  signal: 1,
} satisfies OptionNames<PruneOptions>

/** Throws for options that no journal takes. */
export function checkPrune(options: PruneOptions): void {
  checkOptions(options, optionNames)
  const { before, keep, maxBytes } = options
  if (keep !== undefined) checkCount('keep', keep, 0)
  if (maxBytes !== undefined) checkCount('maxBytes', maxBytes, 0)
  if (before !== undefined) checkMoment('before', before)
  if (before === undefined && keep === undefined && maxBytes === undefined) {
    const expected = 'with a bound: before, keep or maxBytes'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'prune', value: options, expected })
  }
}

/** The runs that go, newest first. */
export async function chooseRuns<R extends AgedRun>(
  options: PruneOptions,
  source: PruneSource<R>,
  clock: Clock,
): Promise<(R & SizedRun)[]> {
  const choice = new PruneChoice(options)
  const chosen: (R & SizedRun)[] = []
  for (;;) {
    throwIfAborted('The prune', options.signal)
    const page = await inTurnWithWriters(clock, () => source.nextPage())
    if (page.length === 0) return chosen
    const all = choice.needsSizes ? await inTurnWithWriters(clock, () => source.bytesOf(page)) : []
    const going = page
      .map((run, index) => ({ run, bytes: all[index] }))
      .filter(({ run, bytes }) => choice.goes(run, bytes))
    if (going.length === 0) continue
    const runs = going.map(({ run }) => run)
    const [bytes, summaries] = await inTurnWithWriters(clock, async () => [
      choice.needsSizes ? going.map((each) => each.bytes!) : await source.bytesOf(runs),
      await source.summariesOf(runs),
    ])
    for (const [index, run] of runs.entries()) {
      const summary = summaries[index]
      if (summary !== undefined) chosen.push({ ...run, summary, bytes: bytes[index]! })
    }
  }
}

/** Says of each run, from the newest to the oldest, whether it goes. */
export class PruneChoice {
  readonly #options: PruneOptions
  #seen = 0
  #bytes = 0

  constructor(options: PruneOptions) {
    this.#options = options
  }

  /** Whether the sizes of all runs decide, also of those that stay. */
  get needsSizes(): boolean {
    return this.#options.maxBytes !== undefined
  }

  goes({ state, startedAt, endedAt = startedAt }: AgedRun, bytes = 0): boolean {
    const { before = -Infinity, keep = Infinity, maxBytes = Infinity, interrupted } = this.#options
    const isBeyond = ++this.#seen > keep || this.#bytes + bytes > maxBytes || endedAt < before
    const goes = isBeyond && (isEnd(state) || (state === 'interrupted' && interrupted === true))
    if (!goes) this.#bytes += bytes
    return goes
  }
}

/**
 * Outcomes of acknowledged jobs are removed with the runs of their time: those that were recorded before `before`, or
 * before the end of the newest removed run. None when no run is removed by another bound.
 */
export function outcomesBefore({ before }: PruneOptions, runs: readonly AgedRun[]): number {
  const ends = runs.map(({ startedAt, endedAt = startedAt }) => endedAt)
  return before ?? ends.reduce((newest, end) => Math.max(newest, end), -Infinity)
}

/** Carries out a slice of a prune, and waits five times as long as it took: writers keep five sixths of the database. */
export async function inTurnWithWriters<T>(clock: Clock, slice: () => Promise<T>): Promise<T> {
  const start = clock.now()
  const answer = await slice()
  await pauseFor(5 * (clock.now() - start), clock)
  return answer
}
