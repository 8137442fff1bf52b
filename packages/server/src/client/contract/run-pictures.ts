/** The data for drawing a run: a bar for each attempt, and the edges of the graph. */
import { Type, type Static } from 'typebox'
import { contract, closed } from './contract.ts'
import { AtQuery, PlaceSchema, RunParams, orNull, view } from './run-words.ts'

const TimelineQuery = Type.Object(
  {
    ...AtQuery.properties,
    from: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50_000, default: 20_000 })),
  },
  closed,
)

/**
 * GET /runs/:id/timeline: one bar for each attempt, in order of their start, as columns of equal length. A lane is
 * a row in which bars do not overlap: the loop has as many as it ran at once, each thread and each worker has its own.
 */
export const TimelineSchema = Type.Object({
  position: Type.Integer(),
  started_at: Type.Number(),
  /** Milliseconds from the start to the last that is known. */
  length_ms: Type.Number(),
  lanes: Type.Array(Type.Object({ place: PlaceSchema, name: Type.String() })),
  total: Type.Integer(),
  from: Type.Integer(),
  next: orNull(Type.Integer()),
  /** Index of the node, as in GET /runs/:id/nodes. */
  node: Type.Array(Type.Integer()),
  /** Counts from 1. */
  attempt: Type.Array(Type.Integer()),
  /** Index in `lanes`. */
  lane: Type.Array(Type.Integer()),
  queued: Type.Array(Type.Number()),
  started: Type.Array(Type.Number()),
  ended: Type.Array(Type.Number()),
  /** Index in {@link attemptOutcomes}. */
  outcome: Type.Array(Type.Integer()),
  /** Stretches in which an attempt was suspended: [index of the bar in this page, from, to]. */
  suspended: Type.Array(Type.Tuple([Type.Integer(), Type.Number(), Type.Number()])),
  /** Stretches in which no attempt ran: [from, to]. In the first page only. */
  idle: Type.Array(Type.Tuple([Type.Number(), Type.Number()])),
  /** The last gaps of the event loop while it ran: [from, to, what ran]. Only of runs of this process. */
  loop_gaps: Type.Array(Type.Tuple([Type.Number(), Type.Number(), Type.String()])),
})

export type Timeline = Static<typeof TimelineSchema>

const GraphQuery = Type.Object(
  {
    from: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50_000, default: 20_000 })),
  },
  closed,
)

/** GET /runs/:id/graph: the edges, by index of the nodes. A page holds all edges that end in its nodes. */
export const GraphSchema = Type.Object({
  position: Type.Integer(),
  total: Type.Integer(),
  from: Type.Integer(),
  next: orNull(Type.Integer()),
  /** Where the dependencies of each node of the page begin in `after`; one more than nodes. */
  offsets: Type.Array(Type.Integer()),
  after: Type.Array(Type.Integer()),
})

export type GraphEdges = Static<typeof GraphSchema>

export const showTimeline = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/timeline',
  summary: 'A bar for each attempt, in lanes',
  params: RunParams,
  query: TimelineQuery,
  responses: { 200: TimelineSchema },
})

export const showGraph = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/graph',
  summary: 'The edges of the graph, by index of the nodes',
  params: RunParams,
  query: GraphQuery,
  responses: { 200: GraphSchema },
})
