/** How a run ended, in one word: `finished` in the journal means only that nothing is left to do. */
import type { NodeState } from '@heddle/core'
import type { RunOutcome, RunSummary } from '@heddle/core/lowlevel'
import { formatCount } from '../text/format.ts'
import type { Style } from '../text/line.ts'
import type { Symbols } from '../text/symbols.ts'

/** What `--state` takes. */
export const stateChoices = [
  'succeeded',
  'failed',
  'finished',
  'cancelled',
  'interrupted',
  'running',
  'paused',
  'draining',
] as const

export type StateChoice = (typeof stateChoices)[number]

/** The end of a run that no process runs: "has succeeded", "was interrupted". */
export function endOf(outcome: RunOutcome): string {
  const isPassive = outcome === 'cancelled' || outcome === 'interrupted'
  return `${isPassive ? 'was' : 'has'} ${outcome}`
}

export function outcomeSymbol(outcome: RunOutcome, { states, warning }: Symbols): string {
  switch (outcome) {
    case 'interrupted':
      return warning
    case 'idle':
    case 'paused':
    case 'draining':
      return states.running
    case 'succeeded':
    case 'failed':
    case 'running':
    case 'cancelled':
      return states[outcome]
  }
}

export const outcomeStyles: Readonly<Record<RunOutcome, Style>> = {
  idle: 'dim',
  running: 'cyan',
  paused: 'yellow',
  draining: 'yellow',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'yellow',
  interrupted: 'yellow',
}

const countWords: readonly (readonly [NodeState, string])[] = [
  ['failed', 'failed'],
  ['blocked', 'blocked'],
  ['cancelled', 'stopped'],
  ['skipped', 'skipped'],
  ['running', 'running'],
  ['suspended', 'suspended'],
  ['retrying', 'retrying'],
  ['ready', 'ready'],
  ['waiting', 'waiting'],
  ['succeeded', 'done'],
]

/** `1 failed, 2 blocked, 5 done`. */
export function countsText(counts: RunSummary['counts']): string {
  const parts = countWords
    .filter(([state]) => (counts[state] ?? 0) > 0)
    .map(([state, word]) => `${formatCount(counts[state]!)} ${word}`)
  return parts.join(', ') || 'no jobs'
}
