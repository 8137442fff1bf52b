import type { RunSnapshot } from '../journal/journal.ts'

/** The default concurrency of a run. */
const defaultConcurrency = 5

/** How many nodes a run had running at once, at most. The journal keeps no Infinity: it has null for it. */
export function concurrencyOf({ concurrency }: RunSnapshot['options']): number {
  if (concurrency === undefined) return defaultConcurrency
  return typeof concurrency === 'number' ? concurrency : Infinity
}
