/** Many runs: pages, counts, and a stream of what changes. */
import { Type, type Static } from 'typebox'
import { closed, contract } from './contract.ts'
import { CountsSchema, RunOutcomeSchema, orNull, runFilters, view } from './run-words.ts'

/** One line of the list, and the head of a run. */
export const RunSummarySchema = Type.Object({
  id: Type.String(),
  key: orNull(Type.String()),
  title: Type.String(),
  outcome: RunOutcomeSchema,
  started_at: Type.Number(),
  ended_at: orNull(Type.Number()),
  /** Milliseconds in which a process worked on it. Null in a list as long as it has not ended. */
  elapsed_ms: orNull(Type.Number()),
  counts: CountsSchema,
  /** All nodes, whatever their state. */
  nodes: Type.Integer(),
  pid: Type.Integer(),
  host: Type.String(),
  command: Type.String(),
  /** The registered graph it was started from, over HTTP or by a schedule. */
  graph: orNull(Type.String()),
  schedule: orNull(Type.String()),
  /** Whether this server can pause, resume, cancel and retry it. */
  is_steerable: Type.Boolean(),
})

export type RunSummary = Static<typeof RunSummarySchema>

const ListQuery = Type.Object(
  {
    state: Type.Optional(Type.Enum([...runFilters])),
    /** Part of the id, the key, the title or the graph; case does not count. */
    q: Type.Optional(Type.String({ maxLength: 200 })),
    cursor: Type.Optional(Type.String({ maxLength: 64 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 50 })),
  },
  closed,
)

/** A page of runs, newest first. */
const RunPageSchema = Type.Object({
  runs: Type.Array(RunSummarySchema),
  /**
   * The cursor of the next page; null at the end. A search reads a bounded number of runs for each page, so a page
   * may be short, even empty, and have a next one.
   */
  next: orNull(Type.String()),
})

export type RunPage = Static<typeof RunPageSchema>

/** How many runs there are, by outcome. */
export const RunCountsSchema = Type.Object({
  counts: Type.Partial(Type.Record(RunOutcomeSchema, Type.Integer())),
  total: Type.Integer(),
})

export type RunCounts = Static<typeof RunCountsSchema>

/** `event: runs` of GET /runs/events: runs that began, ended or moved since the last frame, with their counts. */
export const RunsChangeSchema = Type.Object({
  at: Type.Number(),
  runs: Type.Array(RunSummarySchema),
  removed: Type.Array(Type.String()),
  counts: RunCountsSchema.properties.counts,
})

export type RunsChange = Static<typeof RunsChangeSchema>

export const listRuns = contract({
  ...view,
  method: 'GET',
  path: '/runs',
  summary: 'A page of runs, newest first',
  query: ListQuery,
  responses: { 200: RunPageSchema },
})

export const countRuns = contract({
  ...view,
  method: 'GET',
  path: '/runs/counts',
  summary: 'How many runs have which outcome',
  responses: { 200: RunCountsSchema },
})

export const followRuns = contract({
  ...view,
  method: 'GET',
  path: '/runs/events',
  summary: 'The beginning, the progress and the end of runs, live',
  responses: { 200: 'sse' },
})
