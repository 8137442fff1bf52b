/** Schemas that all routes of runs share: outcomes, counts, parameters. */
import { closed } from './contract.ts'
import { Type, type TSchema } from 'typebox'
import { nodeStates, places, runOutcomes } from './run-states.ts'

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** What `?state=` takes: an outcome, or one of two groups of them. */
export const runFilters = ['active', 'finished', ...runOutcomes] as const

export const RunOutcomeSchema = Type.Enum([...runOutcomes])

export const PlaceSchema = Type.Enum([...places])

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
    /** Asks for the state of the run after this row. */
    position: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Asks for the state of the run at this time, in milliseconds since 1970. */
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
