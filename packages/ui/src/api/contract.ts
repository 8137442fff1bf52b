/** Types of what the server answers, and the lists that its columns point into (checked against it by a test). */
export type {
  Forecast,
  GraphEdges,
  GraphList,
  LogPage,
  NodeColumns,
  NodeDetail,
  RecordedError,
  RunChange,
  RunComparison,
  RunCounts,
  RunHead,
  RunOutcome,
  RunPage,
  RunsChange,
  RunSummary,
  Timeline,
} from '@heddle/server/client'

/** What `state` of a column points into. */
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
  'interrupted',
] as const
export type NodeWord = (typeof nodeStates)[number]

/** The index of a state in a column. */
export const stateCode: Readonly<Record<NodeWord, number>> = Object.fromEntries(
  nodeStates.map((state, code) => [state, code]),
) as Record<NodeWord, number>

/** What `outcome` of a bar points into. */
export const attemptOutcomes = [
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'interrupted',
] as const
