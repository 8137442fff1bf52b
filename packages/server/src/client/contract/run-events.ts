/** The events of a run, live. */
import { Type, type Static } from 'typebox'
import { closed, contract } from './contract.ts'
import {
  CountsSchema,
  PlaceSchema,
  RunOutcomeSchema,
  RunParams,
  orNull,
  view,
} from './run-words.ts'

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

export const followRun = contract({
  ...view,
  method: 'GET',
  path: '/runs/:id/events',
  summary: 'What happens in a run, as it happens; Last-Event-ID is a position of its history',
  params: RunParams,
  query: RunEventsQuery,
  responses: { 200: 'sse' },
})
