/** Which runs go when a journal is pruned. The same for all journals. */
import { HeddleError } from '../errors.ts'
import type { Clock } from '../kernel/clock.ts'
import { checkCount, checkMoment, checkOptions, type OptionNames } from '../kernel/check.ts'
import type { PruneOptions, RunSummary } from './journal.ts'
import { isEnd } from './states.ts'

/** A run and what it takes. */
export interface SizedRun {
  readonly summary: RunSummary
  readonly bytes: number
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

/** Says of each run, from the newest to the oldest, whether it goes. */
export class PruneChoice {
  readonly #options: PruneOptions
  #seen = 0
  #bytes = 0

  constructor(options: PruneOptions) {
    this.#options = options
  }

  goes({ summary, bytes }: SizedRun): boolean {
    const { before = -Infinity, keep = Infinity, maxBytes = Infinity, interrupted } = this.#options
    const { state, startedAt, endedAt = startedAt } = summary
    const isBeyond = ++this.#seen > keep || this.#bytes + bytes > maxBytes || endedAt < before
    const goes = isBeyond && (isEnd(state) || (state === 'interrupted' && interrupted === true))
    if (!goes) this.#bytes += bytes
    return goes
  }
}

/**
 * Outcomes of acknowledged jobs go with the runs of their time: those that were recorded before `before`, or before the
 * end of the newest run that goes. None when no run goes by another bound.
 */
export function outcomesBefore({ before }: PruneOptions, runs: readonly RunSummary[]): number {
  const ends = runs.map(({ startedAt, endedAt = startedAt }) => endedAt)
  return before ?? ends.reduce((newest, end) => Math.max(newest, end), -Infinity)
}

/** Carries out a slice of a prune, and waits nine times as long as it took: those who write keep most of the database. */
export async function inTurnWithWriters<T>(clock: Clock, slice: () => Promise<T>): Promise<T> {
  const start = clock.now()
  const answer = await slice()
  const rest = 9 * (clock.now() - start)
  await new Promise<void>((resolve) => void clock.setTimer(rest, resolve))
  return answer
}
