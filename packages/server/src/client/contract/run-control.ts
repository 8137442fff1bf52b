/** Starting and steering runs. */
import { Type, type Static } from 'typebox'
import { closed, contract, storedText } from './contract.ts'
import {
  NodeParams,
  RunOutcomeSchema,
  RunParams,
  SignalParams,
  change,
  orNull,
  view,
} from './run-words.ts'

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

const key = storedText(1, 256)

const StartBody = Type.Object(
  {
    graph: Type.String({ minLength: 1, maxLength: 256 }),
    /** Given to the function that makes the graph. */
    args: Type.Optional(Type.Unknown()),
    /** If two starts have one key, the second attaches to the run of the first. */
    key: Type.Optional(key),
    title: Type.Optional(storedText(0, 256)),
    /** Milliseconds since 1970, or a time with a zone (RFC 3339). */
    start_at: Type.Optional(Type.Union([Type.Number(), Type.String({ maxLength: 40 })])),
    /** Starts after this long without another start with this key; the last arguments count. */
    debounce: Type.Optional(
      Type.Object(
        {
          key,
          delay_ms: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
          /** At the latest this long after the first. */
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
  /** For a delayed start: how to cancel it, and when it is due. */
  start: Type.Optional(Type.String()),
  due_at: Type.Optional(Type.Number()),
})

const CancelBody = Type.Object(
  {
    reason: Type.Optional(storedText(0, 1_000)),
    /** Also ends running nodes, at once. Otherwise they may finish, and nothing new starts. */
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

const SignalBody = Type.Object({ value: Type.Optional(Type.Unknown()) }, closed)

/** It is kept until a job waits for it. */
const SignalledSchema = Type.Object({
  run: Type.String(),
  signal: Type.String(),
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
  summary: 'End a run: running jobs may finish, unless it is aborted',
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
