/** One run: its head, and its nodes as columns. */
import { Type, type Static } from 'typebox'
import { closed, contract } from './contract.ts'
import { RunSummarySchema } from './run-list.ts'
import { AtQuery, CountsSchema, PlaceSchema, RunParams, orNull, view } from './run-words.ts'

/** A stretch in which one process worked on the run. */
const SessionSchema = Type.Object({
  started_at: Type.Number(),
  ended_at: Type.Number(),
  pid: Type.Integer(),
  host: Type.String(),
  command: Type.String(),
})

const CriticalPathSchema = Type.Object({
  /** Milliseconds from the first start to the last end. */
  length_ms: Type.Number(),
  nodes: Type.Array(
    Type.Object({
      name: Type.String(),
      ms: Type.Number(),
      /** Between the end of the one before and its own start. */
      wait_ms: Type.Number(),
    }),
  ),
  /** How many nodes of the path were left out of `nodes`: at most 1,000 are shown. */
  left_out: Type.Integer(),
})

/** GET /runs/:id. */
export const RunHeadSchema = Type.Object({
  ...RunSummarySchema.properties,
  /** The last row that is taken into account: where a stream of events continues. */
  position: Type.Integer(),
  /** The first and the last row of the run: the range of the time scrubber. */
  rows: Type.Tuple([Type.Integer(), Type.Integer()]),
  elapsed_ms: Type.Number(),
  /** Milliseconds of all attempts, added up. */
  busy_ms: Type.Number(),
  /** Milliseconds in which nodes were ready and waited for a permit, added up. */
  queued_ms: Type.Number(),
  /** Wall time of the answer, or of the row that was asked for. */
  until_at: Type.Number(),
  attempts: Type.Integer(),
  /** Limits of the run: concurrency, resources, retries. */
  options: Type.Record(Type.String(), Type.Unknown()),
  /** The arguments with which it was started over HTTP. */
  args: Type.Optional(Type.Unknown()),
  sessions: Type.Array(SessionSchema),
  critical_path: CriticalPathSchema,
  /** Jobs in order of their first node. */
  jobs: Type.Array(
    Type.Object({
      name: Type.String(),
      place: PlaceSchema,
      nodes: Type.Integer(),
      counts: CountsSchema,
    }),
  ),
  forked_from: orNull(Type.String()),
})

export type RunHead = Static<typeof RunHeadSchema>

const NodesQuery = Type.Object(
  {
    ...AtQuery.properties,
    /** Index of the first node. */
    from: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 20_000, default: 10_000 })),
  },
  closed,
)

/**
 * GET /runs/:id/nodes: a page of nodes, as columns of equal length. The index of a node is its place in the order in
 * which nodes were announced; it never changes, so pages and frames of events can be put together.
 */
export const NodeColumnsSchema = Type.Object({
  position: Type.Integer(),
  total: Type.Integer(),
  from: Type.Integer(),
  /** Index of the first node of the next page; null at the end. */
  next: orNull(Type.Integer()),
  /** What `job` and `place` point into. */
  jobs: Type.Array(Type.String()),
  places: Type.Array(PlaceSchema),
  name: Type.Array(Type.String()),
  /** Index in `jobs`. */
  job: Type.Array(Type.Integer()),
  /** Index in `places`. */
  place: Type.Array(Type.Integer()),
  /** Index in {@link nodeStates}. */
  state: Type.Array(Type.Integer()),
  attempts: Type.Array(Type.Integer()),
  /** Milliseconds since the start of the run; -1: not yet. */
  ready: Type.Array(Type.Number()),
  started: Type.Array(Type.Number()),
  ended: Type.Array(Type.Number()),
  /** Milliseconds it could have ended later; -1: not known. 0: on the critical path. */
  slack: Type.Array(Type.Number()),
  /** Index of the map or sub-graph that it belongs to; -1: none. */
  parent: Type.Array(Type.Integer()),
  /** Only of nodes that have one: [index, first line of the last error]. */
  errors: Type.Array(Type.Tuple([Type.Integer(), Type.String()])),
  /** Only of blocked nodes: [index, name of the node that failed]. */
  blocked_by: Type.Array(Type.Tuple([Type.Integer(), Type.String()])),
})

export type NodeColumns = Static<typeof NodeColumnsSchema>

export const showRun = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id',
  summary: 'One run: counts, times, critical path',
  params: RunParams,
  query: AtQuery,
  responses: { 200: RunHeadSchema },
})

export const listNodes = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/nodes',
  summary: 'A page of nodes, as columns',
  params: RunParams,
  query: NodesQuery,
  responses: { 200: NodeColumnsSchema },
})
