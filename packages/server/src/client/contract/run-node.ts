/** One node: attempts, errors, why it waits, its result, and the log. */
import { Type, type Static } from 'typebox'
import { contract, closed } from './contract.ts'
import { attemptOutcomes, nodeStates } from './run-states.ts'
import { AtQuery, NodeParams, PlaceSchema, RunParams, orNull, view } from './run-words.ts'

/** An error as it was recorded, with everything below it. */
export const ErrorSchema = Type.Cyclic(
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
  /** For a running one: the last time that is known of its run. */
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

/** The input of an attempt, as it is recorded: without what `job({ redact })` names, and no more than its beginning. */
const InputSchema = Type.Object({
  ...ValueSchema.properties,
  /** Whether `head` is all that was recorded of a longer input: `bytes` are those of `head`. */
  is_cut: Type.Optional(Type.Literal(true)),
})

/** Why a node waits. `kind` is for programs; `text` is the sentence for people. */
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
  /** Input of its last attempt. */
  input: InputSchema,
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
    /** Only lines after this row. */
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
  /** The last row that was searched: `after` of a later question for new lines. */
  position: Type.Integer(),
})

export type LogPage = Static<typeof LogPageSchema>

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
