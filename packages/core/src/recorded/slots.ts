import type { RunSnapshot } from '../journal/journal.ts'

/** What a run has when nobody says anything. */
const defaultSlots = 5

/** How many nodes a run had running at once, at most. The journal keeps no Infinity: it has null for it. */
export function slotsOf({ concurrency }: RunSnapshot['options']): number {
  if (concurrency === undefined) return defaultSlots
  return typeof concurrency === 'number' ? concurrency : Infinity
}
