// oxlint-disable-next-line import/no-unassigned-import -- it throws on a Node that is too old
import './kernel/node-version.ts'
export {
  HeddleError,
  isError,
  type CancelSource,
  type ErrorCode,
  type ErrorDetails,
} from './errors.ts'
export {
  job,
  type Job,
  type JobContext,
  type JobFunction,
  type JobOptions,
  type LoopContext,
  type Needs,
  type NeedsOf,
  type PlaceName,
  type SignalOptions,
  type StepOptions,
} from './graph/job.ts'
export type { ArtifactContent, ArtifactInfo } from './artifacts/artifact-store.ts'
export { bytes, isBytes, type Bytes } from './graph/bytes.ts'
export type { Redact } from './graph/redact.ts'
export type { InputSchema } from './graph/input-schema.ts'
export {
  Graph,
  type BuiltGraph,
  type ElementError,
  type ElementResult,
  type Elements,
  type Failures,
  type GraphNode,
  type InputOf,
  type MapCounts,
  type MapOptions,
  type MapOutput,
  type MapSpec,
  type NodeOptions,
  type NodeRef,
  type OutputOf,
  type Over,
  type ReadResult,
  type SubgraphOptions,
  type SubgraphSpec,
  type When,
} from './graph/graph.ts'
export type { Concurrency, ResourceOptions, Resources } from './capacity/resources.ts'
export type { Place, PlaceContext } from './places/place.ts'
export type { ArtifactOptions } from './run/run-artifacts.ts'
export type { ThreadOptions } from './run/run-threads.ts'
export { run, startRun, type GraphResult, type Run } from './run/run.ts'
export type { RunOptions } from './run/run-options.ts'
export {
  Scheduler,
  type AddOptions,
  type CancelOptions,
  type NodeFunction,
  type RemoveOptions,
  type SchedulerOptions,
  type SchedulerStats,
} from './scheduler/scheduler.ts'
export type { NodeContext } from './scheduler/node-attempt.ts'
export type { Observer, RunEvent, RunState } from './scheduler/events.ts'
export type { Explanation } from './scheduler/explain.ts'
export type { CriticalPath, Forecast, WhatIfOptions } from './scheduler/insight.ts'
export type { NodeState } from './scheduler/node.ts'
export type { RunResult } from './scheduler/result.ts'
export { final, retryAfter } from './attempts/retry.ts'
export {
  openScope,
  withScope,
  type CancelOptions as ScopeCancelOptions,
  type Scope,
  type ScopeContext,
  type ScopeOptions,
  type ScopeStats,
  type ScopeTask,
  type ShieldOptions,
  type TaskOptions,
} from './sync/scope.ts'
