/**
 * Runs over HTTP: the requests and the answers. `docs/design/runs-room.md` explains it.
 *
 * Times are milliseconds since 1970 where a name ends in `_at`, milliseconds since the start of the run in columns and
 * bars (`from`, `to`, `ready`, `started`, `ended`), and durations where it ends in `_ms`. A position is the number of a
 * row of the run's history: it grows along the run, and a larger one knows everything that a smaller one does.
 */
import { answerApproval, makeApprovalLink, showApproval } from './run-approvals.ts'
import { compareWith, exportRun, forecastRun } from './run-compare.ts'
import {
  cancelRun,
  listGraphs,
  pauseRun,
  resumeRun,
  retryFromNode,
  sendSignal,
  startRun,
} from './run-control.ts'
import { followRun } from './run-events.ts'
import { listNodes, showRun } from './run-head.ts'
import { countRuns, followRuns, listRuns } from './run-list.ts'
import { readLog, showNode, showResult } from './run-node.ts'
import { showGraph, showTimeline } from './run-pictures.ts'

export {
  activeOutcomes,
  attemptCode,
  endedOutcomes,
  hasEnded,
  isActive,
  places,
  stateCode,
  type RunOutcome,
} from './run-states.ts'
export { runFilters } from './run-words.ts'
export {
  type RunSummary,
  type RunPage,
  type RunCounts,
  type RunsChange,
  listRuns,
  countRuns,
  followRuns,
} from './run-list.ts'
export { type RunHead, type NodeColumns, showRun, listNodes } from './run-head.ts'
export {
  type RecordedError,
  type NodeDetail,
  type LogPage,
  showNode,
  showResult,
  readLog,
} from './run-node.ts'
export { type Timeline, type GraphEdges, showTimeline, showGraph } from './run-pictures.ts'
export { type RunChange, followRun } from './run-events.ts'
export {
  type RunComparison,
  type Forecast,
  compareWith,
  forecastRun,
  exportRun,
  exportFormats,
} from './run-compare.ts'
export {
  type GraphList,
  listGraphs,
  startRun,
  pauseRun,
  resumeRun,
  cancelRun,
  sendSignal,
  retryFromNode,
} from './run-control.ts'
export { makeApprovalLink, showApproval, answerApproval } from './run-approvals.ts'

/** Routes that read. */
const runViewContracts = [
  listRuns,
  countRuns,
  followRuns,
  showRun,
  listNodes,
  showNode,
  showResult,
  readLog,
  showTimeline,
  showGraph,
  followRun,
  compareWith,
  forecastRun,
  exportRun,
] as const

/** Routes that change something. */
const runChangeContracts = [
  listGraphs,
  startRun,
  pauseRun,
  resumeRun,
  cancelRun,
  retryFromNode,
  sendSignal,
  makeApprovalLink,
  showApproval,
  answerApproval,
] as const

export const runContracts = [...runViewContracts, ...runChangeContracts] as const
