/** Runs, as views ask for them. */
import type { CallOptions, ReplyBody } from '@heddle/server/client'
import { call } from './client.ts'
import type {
  Forecast,
  GraphEdges,
  GraphList,
  LogPage,
  NodeColumns,
  NodeDetail,
  RunComparison,
  RunCounts,
  RunHead,
  RunOutcome,
  RunPage,
  Timeline,
} from './contract.ts'

export type RunListQuery = NonNullable<CallOptions<'GET /runs'>['query']>

export function listRuns(query: RunListQuery, signal?: AbortSignal): Promise<RunPage> {
  return call('GET /runs', { query: { ...query }, ...(signal && { signal }) })
}

export function countRuns(signal?: AbortSignal): Promise<RunCounts> {
  return call('GET /runs/counts', { ...(signal && { signal }) })
}

export function readHead(id: string, signal: AbortSignal): Promise<RunHead> {
  return call('GET /runs/:id', { params: { id }, signal })
}

export function readNodes(id: string, from: number, signal: AbortSignal): Promise<NodeColumns> {
  return call('GET /runs/:id/nodes', { params: { id }, query: { from, limit: 20_000 }, signal })
}

export function readEdges(id: string, from: number, signal: AbortSignal): Promise<GraphEdges> {
  return call('GET /runs/:id/graph', { params: { id }, query: { from, limit: 50_000 }, signal })
}

export function readTimeline(id: string, from: number, signal: AbortSignal): Promise<Timeline> {
  return call('GET /runs/:id/timeline', { params: { id }, query: { from, limit: 50_000 }, signal })
}

export function readNode(id: string, name: string, signal: AbortSignal): Promise<NodeDetail> {
  return call('GET /runs/:id/nodes/:name', { params: { id, name }, signal })
}

export type Artifact = ReplyBody<'GET /artifacts/:run'>['artifacts'][number]

/** Files that a node, or a whole run or campaign, has left, in the order in which they were written. */
export async function listArtifacts(
  run: string,
  by: string | undefined,
  signal: AbortSignal,
): Promise<readonly Artifact[]> {
  const query = by === undefined ? {} : { by }
  return (await call('GET /artifacts/:run', { params: { run }, query, signal })).artifacts
}

export function readLog(
  id: string,
  query: { readonly node?: string; readonly q?: string; readonly after?: number },
  signal: AbortSignal,
): Promise<LogPage> {
  return call('GET /runs/:id/log', { params: { id }, query: { ...query, limit: 2_000 }, signal })
}

export function compareRuns(
  id: string,
  other: string,
  signal: AbortSignal,
): Promise<RunComparison> {
  return call('GET /runs/:id/compare', { params: { id }, query: { with: other }, signal })
}

export function forecastRun(
  id: string,
  concurrency: number,
  signal: AbortSignal,
): Promise<Forecast> {
  return call('GET /runs/:id/forecast', { params: { id }, query: { concurrency }, signal })
}

/** How a run stands after it was steered, and whether the call changed that. */
interface Steered {
  readonly run: string
  readonly outcome: RunOutcome
  readonly changed: boolean
}

export function pauseRun(id: string): Promise<Steered> {
  return call('POST /runs/:id/pause', { params: { id } })
}

export function resumeRun(id: string): Promise<Steered> {
  return call('POST /runs/:id/resume', { params: { id } })
}

export function cancelRun(id: string, abort: boolean): Promise<Steered> {
  // Without a reason, the server records the caller.
  return call('POST /runs/:id/cancel', { params: { id }, body: { abort } })
}

/** Starts a run that reuses the results of this one, except those of the node and its dependents. */
export function retryNode(
  id: string,
  name: string,
): Promise<{ readonly run: string; readonly forked_from: string }> {
  return call('POST /runs/:id/nodes/:name/retry', { params: { id, name } })
}

export function sendSignal(id: string, name: string, value: unknown): Promise<unknown> {
  return call('POST /runs/:id/signals/:name', { params: { id, name }, body: { value } })
}

export function listGraphs(): Promise<GraphList> {
  return call('GET /graphs')
}

export function startRun(body: {
  readonly graph: string
  readonly args?: unknown
  readonly title?: string
  readonly key?: string
}): Promise<{ readonly run: string | null }> {
  return call('POST /runs', { body })
}
