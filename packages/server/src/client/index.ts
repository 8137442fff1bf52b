/**
 * What programs and pages use to call a server. It imports nothing of the server but the types of its routes and the words
 * for states.
 */
export {
  CallError,
  connect,
  type CallOptions,
  type Client,
  type ClientOptions,
  type Reply,
  type ReplyBody,
  type Route,
} from './client.ts'
export type { EventOptions, ServerEvent } from './events.ts'
export type { Access, BodyKind, ErrorBody } from './contract/contract.ts'
export type { FailureDetail } from './contract/failures.ts'
export type { Computation, Pending, Result } from './contract/jobs.ts'
export type {
  CampaignHistory,
  InventoryView,
  LoadView,
  LoopView,
  ServersView,
  WorkersView,
} from './contract/machine.ts'
export type { Action, SessionInfo, Token, User } from './contract/people.ts'
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
} from './contract/runs.ts'
export {
  activeOutcomes,
  attemptOutcomes,
  hasEnded,
  isActive,
  nodeStates,
  places,
  stateCode,
  type NodeWord,
} from './contract/run-states.ts'
export type { Firing, ScheduleInfo } from './contract/schedules.ts'
