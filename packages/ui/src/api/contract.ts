/** Types of the server's answers, and the words that its columns refer to. */
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
