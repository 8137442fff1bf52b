/** Words that all routes of runs share: states, outcomes, parameters. */
import { Type, type TSchema } from 'typebox'

export const closed = { additionalProperties: false } as const

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

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

export const RunOutcomeSchema = Type.Enum([...runOutcomes])

export const PlaceSchema = Type.Enum(['loop', 'thread', 'fleet'])

/** How many nodes are in each state; states without nodes are left out. */
export const CountsSchema = Type.Partial(
  Type.Record(Type.Enum([...nodeStates]), Type.Integer({ minimum: 0 })),
)

export const RunParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) }, closed)

export const NodeParams = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    name: Type.String({ minLength: 1, maxLength: 4_096 }),
  },
  closed,
)

export const AtQuery = Type.Object(
  {
    /** As the run stood after this row. */
    position: Type.Optional(Type.Integer({ minimum: 0 })),
    /** As the run stood at this time, in milliseconds since 1970. */
    at: Type.Optional(Type.Number()),
  },
  closed,
)

export const SignalParams = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    name: Type.String({ minLength: 1, maxLength: 256 }),
  },
  closed,
)

export const view = { access: 'viewer', body: 'none' } as const

export const change = { access: 'operator', body: 'json' } as const
