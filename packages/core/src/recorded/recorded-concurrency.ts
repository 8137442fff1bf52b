import type { RunSnapshot } from '../journal/journal.ts'

/** What a run has when no option is given. */
const defaultConcurrency = 5

/** How many nodes a run had running at once, at most. The journal keeps no Infinity: it has null for it. */
export function concurrencyOf({ concurrency }: RunSnapshot['options']): number {
  if (concurrency === undefined) return defaultConcurrency
  return typeof concurrency === 'number' ? concurrency : Infinity
}
