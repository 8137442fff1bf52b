/**
 * The words for the states of nodes, attempts and runs, and the codes that stand for them in columns. The dashboard loads this
 * file too, so it imports types only. Lists are appended to, never reordered: old tabs and new servers meet.
 */
// oxlint-disable-next-line no-restricted-imports -- types only: the dashboard loads nothing of core
import type { NodeState, PlaceName } from '@heddle/core'
import type { RunOutcome } from '@heddle/core/lowlevel'

/** The states of a node. Columns hold indexes of this list. */
export const nodeStates = [
  'waiting',
  'ready',
  'running',
  'retrying',
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
  'suspended',
  /** It ran when its process was killed. */
  'interrupted',
] as const satisfies readonly (NodeState | 'interrupted')[]

export type NodeWord = (typeof nodeStates)[number]

/** The index of a state in a column. */
export const stateCode: Readonly<Record<NodeState | NodeWord, number>> = codesOf(nodeStates)

/** How an attempt ended. Columns hold indexes of this list. */
export const attemptOutcomes = [
  'running',
  'succeeded',
  'failed',
  'cancelled',
  /** The process of the run ended before the run. */
  'interrupted',
] as const

/** The index of an outcome in a column. */
export const attemptCode: Readonly<Record<(typeof attemptOutcomes)[number], number>> =
  codesOf(attemptOutcomes)

/** The states of a run that has not ended and whose process lives. */
export const activeOutcomes = ['idle', 'running', 'paused', 'draining'] as const

/** The states of a run that has ended. */
export const endedOutcomes = ['succeeded', 'failed', 'cancelled'] as const

/** How a run stands, in one word: `finished` of the journal is split by whether everything succeeded. */
export const runOutcomes = [
  ...activeOutcomes,
  ...endedOutcomes,
  /** It has not ended, and the process that ran it is gone. */
  'interrupted',
] as const satisfies readonly RunOutcome[]

export type { RunOutcome }

export function isActive(outcome: RunOutcome): boolean {
  return (activeOutcomes as readonly RunOutcome[]).includes(outcome)
}

export function hasEnded(outcome: RunOutcome): boolean {
  return (endedOutcomes as readonly RunOutcome[]).includes(outcome)
}

/** Where attempts run. Columns hold indexes of this list. */
export const places = ['loop', 'thread', 'fleet'] as const satisfies readonly PlaceName[]

function codesOf<Word extends string>(words: readonly Word[]): Readonly<Record<Word, number>> {
  return Object.fromEntries(words.map((word, code) => [word, code])) as Record<Word, number>
}
