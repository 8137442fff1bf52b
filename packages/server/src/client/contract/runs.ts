/**
 * Runs over HTTP: what can be asked and what is answered. `docs/design/runs-room.md` explains it.
 *
 * Times are milliseconds since 1970 where a name ends in `_at`, milliseconds since the start of the run in columns and
 * bars (`from`, `to`, `ready`, `started`, `ended`), and durations where it ends in `_ms`. A position is the number of a
 * row of the run's history: it grows along the run, and a larger one knows everything that a smaller one does.
 */
import { Type, type Static, type TSchema } from 'typebox'
import { contract } from './contract.ts'

const closed = { additionalProperties: false } as const
const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** The states of a node. Columns hold indexes of this list; it is appended to, never reordered. */
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
  /** It ran when its process was killed. */
  'interrupted',
] as const

/** How an attempt ended. Columns hold indexes of this list. */
export const attemptOutcomes = [
  'running',
  'succeeded',
  'failed',
  'cancelled',
  /** Its process ended before it did. */
  'interrupted',
] as const

/** How a run stands, in one word: `finished` of the journal is split by whether everything succeeded. */
export const runOutcomes = [
  'idle',
  'running',
  'paused',
  'draining',
  'succeeded',
  'failed',
  'cancelled',
  /** It has not ended, and the process that ran it is gone. */
  'interrupted',
] as const
export type RunOutcome = (typeof runOutcomes)[number]

/** What `?state=` takes: an outcome, or one of two groups of them. */
export const runFilters = ['active', 'finished', ...runOutcomes] as const

const RunOutcomeSchema = Type.Enum([...runOutcomes])
const PlaceSchema = Type.Enum(['loop', 'thread', 'fleet'])
/** How many nodes are in each state; states without nodes are left out. */
const CountsSchema = Type.Partial(
  Type.Record(Type.Enum([...nodeStates]), Type.Integer({ minimum: 0 })),
)

const RunParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) }, closed)
const NodeParams = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    name: Type.String({ minLength: 1, maxLength: 4_096 }),
  },
  closed,
)

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

/** Newest first. */
const RunPageSchema = Type.Object({
  runs: Type.Array(RunSummarySchema),
  /**
   * The cursor of the next page; null at the end. A search looks at a bounded number of runs for each page, so a page
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

const AtQuery = Type.Object(
  {
    /** As the run stood after this row. */
    position: Type.Optional(Type.Integer({ minimum: 0 })),
    /** As the run stood at this time, in milliseconds since 1970. */
    at: Type.Optional(Type.Number()),
  },
  closed,
)

/** GET /runs/:id. */
export const RunHeadSchema = Type.Object({
  ...RunSummarySchema.properties,
  /** The last row that is taken into account: where a stream of events continues. */
  position: Type.Integer(),
  /** The first and the last row of the run: what a time scrubber moves between. */
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
  /** With what it was started over HTTP. */
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
  /** Only of those that have one: [index, first line of the last error]. */
  errors: Type.Array(Type.Tuple([Type.Integer(), Type.String()])),
  /** Only of blocked nodes: [index, name of the node that failed]. */
  blocked_by: Type.Array(Type.Tuple([Type.Integer(), Type.String()])),
})
export type NodeColumns = Static<typeof NodeColumnsSchema>

/** An error as it was recorded, with everything below it. */
const ErrorSchema = Type.Cyclic(
  {
    Error: Type.Object({
      name: Type.String(),
      message: Type.String(),
      code: Type.Optional(Type.String()),
      stack: Type.Optional(Type.String()),
      cause: Type.Optional(Type.Ref('Error')),
      errors: Type.Optional(Type.Array(Type.Ref('Error'))),
    }),
  },
  'Error',
)
export interface RecordedError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: RecordedError
  readonly errors?: readonly RecordedError[]
}

export const AttemptSchema = Type.Object({
  /** Counts from 1, over all sessions. */
  number: Type.Integer(),
  queued_at: Type.Number(),
  started_at: Type.Number(),
  /** Of a running one: the last that is known of its run. */
  ended_at: Type.Number(),
  outcome: Type.Enum([...attemptOutcomes]),
  error: Type.Optional(ErrorSchema),
  /** Stretches in which it was suspended. */
  suspended: Type.Array(Type.Tuple([Type.Number(), Type.Number()])),
})

/** A value, when it is small enough to be sent; `GET …/result` has the whole of it. */
const ValueSchema = Type.Object({
  /** Bytes of its JSON; null when there is no value. */
  bytes: orNull(Type.Integer()),
  /** Absent when it is longer than `value_limit`. */
  json: Type.Optional(Type.Unknown()),
  /** The first characters of its JSON, when it is too long. */
  head: Type.Optional(Type.String()),
})

/** Why a node waits. `kind` is what a view switches on; `text` is the sentence for people. */
const WaitSchema = Type.Object({
  kind: Type.Enum([
    'dependencies',
    'permits',
    'backoff',
    'paused',
    'draining',
    'suspended',
    'process-gone',
    'unknown',
  ]),
  text: Type.String(),
  /** Names: dependencies that have not ended, or what holds the permits. At most 100. */
  on: Type.Array(Type.String()),
  more: Type.Integer(),
  /** Milliseconds since when, and the wall time at which it ends where that is known. */
  since_at: orNull(Type.Number()),
  until_at: orNull(Type.Number()),
})

const NodeQuery = Type.Object(
  {
    ...AtQuery.properties,
    /** Bytes of JSON up to which the value is sent. */
    value_limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_048_576, default: 16_384 })),
  },
  closed,
)

/** GET /runs/:id/nodes/:name. */
export const NodeDetailSchema = Type.Object({
  position: Type.Integer(),
  index: Type.Integer(),
  name: Type.String(),
  job: Type.String(),
  place: PlaceSchema,
  state: Type.Enum([...nodeStates]),
  parent: orNull(Type.String()),
  after: Type.Array(Type.String()),
  /** Nodes that depend on it. At most 1,000. */
  before: Type.Array(Type.String()),
  before_more: Type.Integer(),
  ready_at: orNull(Type.Number()),
  started_at: orNull(Type.Number()),
  ended_at: orNull(Type.Number()),
  run_ms: Type.Number(),
  queued_ms: Type.Number(),
  slack_ms: orNull(Type.Number()),
  is_critical: Type.Boolean(),
  blocked_by: orNull(Type.String()),
  attempts: Type.Array(AttemptSchema),
  /** The last that it reported; only of a run of this server. */
  progress: orNull(Type.Object({ fraction: Type.Number(), text: orNull(Type.String()) })),
  waits: orNull(WaitSchema),
  result: ValueSchema,
  input: ValueSchema,
  /** How many lines it logged, as far as they are stored. */
  log_lines: Type.Integer(),
})
export type NodeDetail = Omit<Static<typeof NodeDetailSchema>, 'attempts'> & {
  readonly attempts: readonly (Omit<Static<typeof AttemptSchema>, 'error'> & {
    readonly error?: RecordedError
  })[]
}

const LogQuery = Type.Object(
  {
    /** Only of this node. */
    node: Type.Optional(Type.String({ maxLength: 4_096 })),
    /** Only lines that contain this; case does not count. */
    q: Type.Optional(Type.String({ maxLength: 200 })),
    /** From after this row. */
    after: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 5_000, default: 1_000 })),
  },
  closed,
)

/** GET /runs/:id/log. */
export const LogPageSchema = Type.Object({
  lines: Type.Array(
    Type.Object({
      position: Type.Integer(),
      node: Type.String(),
      attempt: Type.Integer(),
      at: Type.Number(),
      text: Type.String(),
    }),
  ),
  /** `after` of the next page; null when no later line is stored yet. */
  next: orNull(Type.Integer()),
  /** Up to which row it was looked at: `after` of a later question for new lines. */
  position: Type.Integer(),
})
export type LogPage = Static<typeof LogPageSchema>

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
  /** Gaps of the event loop: [from, to, what ran]. In the first page only. */
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

/**
 * Frames of GET /runs/:id/events (`text/event-stream`). The id of each is a position: `Last-Event-ID` (or `?after=`)
 * continues there without a gap. At most 10 a second; what changes twice within a frame is sent once.
 */
const RunEventsQuery = Type.Object(
  {
    after: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Also log lines, of all nodes or of one: `*` or its name. */
    log: Type.Optional(Type.String({ maxLength: 4_096 })),
  },
  closed,
)

/** `event: change`. */
export const RunChangeSchema = Type.Object({
  position: Type.Integer(),
  /** Wall time of the last row. */
  at: Type.Number(),
  /** Present when it changed. */
  outcome: Type.Optional(RunOutcomeSchema),
  counts: CountsSchema,
  /** Nodes that were announced: name, job, place, names of dependencies. Their indexes follow the last one. */
  added: Type.Array(
    Type.Object({
      name: Type.String(),
      job: Type.String(),
      place: PlaceSchema,
      after: Type.Array(Type.String()),
    }),
  ),
  /** [name, index in nodeStates, attempt from 0, wall time, first line of its error], the last of each node. */
  nodes: Type.Array(
    Type.Tuple([
      Type.String(),
      Type.Integer(),
      Type.Integer(),
      Type.Number(),
      orNull(Type.String()),
    ]),
  ),
  /** [position, node, attempt, wall time, text], when they were asked for. */
  log: Type.Array(
    Type.Tuple([Type.Integer(), Type.String(), Type.Integer(), Type.Number(), Type.String()]),
  ),
  /** [node, fraction, text]: of a run of this server. Not part of the history. */
  progress: Type.Array(Type.Tuple([Type.String(), Type.Number(), orNull(Type.String())])),
})
export type RunChange = Static<typeof RunChangeSchema>

/**
 * The other frames: `event: reset` (`{ position }`: too much has happened since `after`; load the run again, the
 * stream continues from this position), `event: beat` (`{ position, at }`, every 10 s without changes), `event: end`
 * (`{ reason: 'finished' | 'draining' | 'removed' }`, after which the server ends the stream; on `draining` reconnect).
 */

/** `event: runs` of GET /runs/events: runs that began, ended or moved since the last frame, with their counts. */
export const RunsChangeSchema = Type.Object({
  at: Type.Number(),
  runs: Type.Array(RunSummarySchema),
  removed: Type.Array(Type.String()),
  counts: RunCountsSchema.properties.counts,
})
export type RunsChange = Static<typeof RunsChangeSchema>

/** Graphs that can be started: GET /graphs. */
const GraphListSchema = Type.Object({
  graphs: Type.Array(
    Type.Object({
      name: Type.String(),
      description: orNull(Type.String()),
      /** JSON Schema of its arguments; null when it takes any. */
      args: orNull(Type.Record(Type.String(), Type.Unknown())),
    }),
  ),
})
export type GraphList = Static<typeof GraphListSchema>

const StartBody = Type.Object(
  {
    graph: Type.String({ minLength: 1, maxLength: 256 }),
    /** Given to the function that makes the graph. */
    args: Type.Optional(Type.Unknown()),
    /** Of two starts with one key the second attaches to the run of the first. */
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    title: Type.Optional(Type.String({ maxLength: 256 })),
    /** Milliseconds since 1970, or a time with a zone (RFC 3339). */
    start_at: Type.Optional(Type.Union([Type.Number(), Type.String({ maxLength: 40 })])),
    /** Starts after so long without another start with this key; the last arguments count. */
    debounce: Type.Optional(
      Type.Object(
        {
          key: Type.String({ minLength: 1, maxLength: 256 }),
          delay_ms: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
          /** At the latest so long after the first. */
          most_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800_000 })),
        },
        closed,
      ),
    ),
  },
  closed,
)

/** 201 when a run was opened, 200 when the key has one already, 202 when it starts later. */
const StartedSchema = Type.Object({
  /** Null while it has not started. */
  run: orNull(Type.String()),
  how: Type.Enum(['started', 'attached', 'resumed', 'recorded', 'delayed']),
  /** Of a delayed start: how to cancel it, and when it is due. */
  start: Type.Optional(Type.String()),
  due_at: Type.Optional(Type.Number()),
})

const CancelBody = Type.Object(
  {
    reason: Type.Optional(Type.String({ maxLength: 1_000 })),
    /** Also what runs, at once. Otherwise it may finish, and nothing new starts. */
    abort: Type.Optional(Type.Boolean({ default: false })),
  },
  closed,
)

/** Answer of pause, resume and cancel: how the run stands, and whether the call changed that. */
const SteeredSchema = Type.Object({
  run: Type.String(),
  outcome: RunOutcomeSchema,
  changed: Type.Boolean(),
})

const SignalParams = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    name: Type.String({ minLength: 1, maxLength: 256 }),
  },
  closed,
)
const SignalBody = Type.Object({ value: Type.Optional(Type.Unknown()) }, closed)
/** It is kept until a job waits for it. */
const SignalledSchema = Type.Object({
  run: Type.String(),
  signal: Type.String(),
})

const CompareQuery = Type.Object({ with: Type.String({ minLength: 1, maxLength: 256 }) }, closed)
const ChangeSchema = Type.Object({
  before: Type.Number(),
  now: Type.Number(),
  change: Type.Number(),
  percent: orNull(Type.Number()),
})
/** GET /runs/:id/compare?with=: from `with` (before) to `id` (now). Lists hold at most 1,000 entries. */
export const ComparisonSchema = Type.Object({
  before: RunSummarySchema,
  now: RunSummarySchema,
  total: ChangeSchema,
  critical_path: ChangeSchema,
  nodes: Type.Array(
    Type.Object({ ...ChangeSchema.properties, node: Type.String(), effect: orNull(Type.Number()) }),
  ),
  nodes_more: Type.Integer(),
  same: Type.Integer(),
  graph: Type.Array(
    Type.Object({
      kind: Type.Enum(['added', 'removed', 'job', 'dependencies', 'input', 'version']),
      node: Type.String(),
      text: Type.String(),
    }),
  ),
  graph_more: Type.Integer(),
  outcomes: Type.Array(
    Type.Object({
      node: Type.String(),
      before: Type.Enum([...nodeStates]),
      now: Type.Enum([...nodeStates]),
    }),
  ),
  outcomes_more: Type.Integer(),
  limits: Type.Array(
    Type.Object({ limit: Type.String(), before: Type.Unknown(), now: Type.Unknown() }),
  ),
})
export type RunComparison = Static<typeof ComparisonSchema>

const ForecastQuery = Type.Object(
  { concurrency: Type.Integer({ minimum: 1, maximum: 1_000_000 }) },
  closed,
)
/** GET /runs/:id/forecast?concurrency=8: what the run would have taken, played with its own durations. */
const ForecastSchema = Type.Object({
  duration_ms: Type.Number(),
  recorded_ms: Type.Number(),
  /** No concurrency makes it shorter than this. */
  critical_path_ms: Type.Number(),
})
export type Forecast = Static<typeof ForecastSchema>

/** What `GET /runs/:id/export/:format` makes: a Chrome trace, a drawing, all rows, the graph. */
const exportFormats = ['trace', 'mermaid', 'rows', 'graph'] as const
const ExportParams = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    format: Type.Enum([...exportFormats]),
  },
  closed,
)

const view = { access: 'viewer', body: 'none' } as const
const change = { access: 'operator', body: 'json' } as const

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
  summary: 'Runs that begin, move and end, as they do',
  responses: { 200: 'sse' },
})
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
export const showNode = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/nodes/:name',
  summary: 'One node: attempts, errors, why it waits, result',
  params: NodeParams,
  query: NodeQuery,
  responses: { 200: NodeDetailSchema },
})
export const showResult = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/nodes/:name/result',
  summary: 'What a node returned, as JSON',
  params: NodeParams,
  responses: { 200: Type.Unknown() },
})
export const readLog = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/log',
  summary: 'Lines that nodes logged',
  params: RunParams,
  query: LogQuery,
  responses: { 200: LogPageSchema },
})
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
export const followRun = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/events',
  summary: 'What happens in a run, as it happens; Last-Event-ID is a position of its history',
  params: RunParams,
  query: RunEventsQuery,
  responses: { 200: 'sse' },
})
export const compareWith = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/compare',
  summary: 'What changed since another run',
  params: RunParams,
  query: CompareQuery,
  responses: { 200: ComparisonSchema },
})
export const forecastRun = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/forecast',
  summary: 'How long the run would have taken with another concurrency',
  params: RunParams,
  query: ForecastQuery,
  responses: { 200: ForecastSchema },
})
export const exportRun = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/export/:format',
  summary: 'The run in a format of another tool',
  params: ExportParams,
  responses: { 200: 'text' },
})
export const listGraphs = contract({
  ...view,
  method: 'GET',
  path: '/graphs',
  summary: 'Graphs that can be started',
  responses: { 200: GraphListSchema },
})
export const startRun = contract({
  ...change,
  method: 'POST',
  path: '/runs',
  summary: 'Start a registered graph: now, at a time, or after a pause',
  bodySchema: StartBody,
  responses: { 200: StartedSchema, 201: StartedSchema, 202: StartedSchema },
})
export const pauseRun = contract({
  ...change,
  method: 'POST',
  path: '/runs/:id/pause',
  summary: 'Start nothing new until it is resumed',
  params: RunParams,
  responses: { 200: SteeredSchema },
})
export const resumeRun = contract({
  ...change,
  method: 'POST',
  path: '/runs/:id/resume',
  summary: 'Continue a run that was paused or interrupted, or that ended without success',
  params: RunParams,
  responses: { 200: SteeredSchema },
})
export const cancelRun = contract({
  ...change,
  method: 'POST',
  path: '/runs/:id/cancel',
  summary: 'End a run: what runs may finish, unless it is aborted',
  params: RunParams,
  bodySchema: CancelBody,
  responses: { 200: SteeredSchema },
})
export const sendSignal = contract({
  ...change,
  method: 'POST',
  path: '/runs/:id/signals/:name',
  summary: 'Send a value to a job that waits for it',
  params: SignalParams,
  bodySchema: SignalBody,
  responses: { 202: SignalledSchema },
})

export const retryFromNode = contract({
  ...change,
  method: 'POST',
  path: '/runs/:id/nodes/:name/retry',
  summary:
    'Run a node again, with all that is computed from it, in a new run that uses the other results',
  params: NodeParams,
  bodySchema: Type.Object({}, closed),
  responses: { 201: Type.Object({ run: Type.String(), forked_from: Type.String() }) },
})

const LinkBody = Type.Object(
  {
    /** What is asked; shown on the page. */
    text: Type.Optional(Type.String({ maxLength: 2_000 })),
    /** The answers to choose from: one is the value of the signal. */
    choices: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 10 }),
    ),
    /** A day when absent, at most 30 days. */
    expires_in_ms: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 2_592_000_000 })),
  },
  closed,
)
const SecretParams = Type.Object(
  { secret: Type.String({ pattern: '^[\\w-]{43}$', expected: 'a whole link' }) },
  closed,
)
export const makeApprovalLink = contract({
  ...change,
  method: 'POST',
  path: '/runs/:id/signals/:name/links',
  summary: 'A link by which someone without an account sends a signal, once',
  params: SignalParams,
  bodySchema: LinkBody,
  responses: { 201: Type.Object({ link: Type.String(), expires_at: Type.Number() }) },
})
export const showApproval = contract({
  method: 'GET',
  path: '/approvals/:secret',
  summary: 'The page of an approval link; looking at it does not use it',
  access: 'public',
  body: 'none',
  params: SecretParams,
  responses: { 200: 'text', 410: 'text' },
})
export const answerApproval = contract({
  method: 'POST',
  path: '/approvals/:secret',
  summary: 'Answer by an approval link, which works once',
  access: 'public',
  body: 'form',
  hasSecret: true,
  params: SecretParams,
  bodySchema: Type.Object({ value: Type.String({ minLength: 1, maxLength: 64 }) }, closed),
  responses: { 200: 'text', 410: 'text' },
})

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
