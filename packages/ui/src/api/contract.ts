/** Types of what the server answers, and the words that its columns point into. */
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
export {
  activeOutcomes,
  attemptOutcomes,
  hasEnded,
  isActive,
  nodeStates,
  places,
  stateCode,
  type NodeWord,
} from '@heddle/server/client'
