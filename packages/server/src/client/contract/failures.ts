/** What is behind the reference of a failure, for operators. */
import { Type, type Static } from 'typebox'
import { contract } from './contract.ts'
import { ErrorSchema, type RecordedError } from './run-node.ts'
import { orNull } from './run-words.ts'

const AttemptSchema = Type.Object({
  /** `prepare`, or `items` for the results that a job makes one by one. */
  stage: Type.String(),
  started_at: Type.Number(),
  ended_at: Type.Number(),
  outcome: Type.Enum(['succeeded', 'failed', 'cancelled']),
  error: Type.Optional(ErrorSchema),
})

const FailureSchema = Type.Object({
  reference: Type.String(),
  at: Type.Number(),
  route: Type.String(),
  code: Type.String(),
  error: ErrorSchema,
  /** Null for a failure of the server itself. */
  job: orNull(Type.String()),
  handle: orNull(Type.String()),
  attempts: Type.Array(AttemptSchema),
  /** At most the last 200 rows of the computation are kept: attempts and log lines together. */
  log: Type.Array(Type.Object({ at: Type.Number(), stage: Type.String(), text: Type.String() })),
})

export type FailureDetail = Omit<Static<typeof FailureSchema>, 'error' | 'attempts'> & {
  readonly error: RecordedError
  readonly attempts: (Omit<Static<typeof AttemptSchema>, 'error'> & {
    readonly error?: RecordedError
  })[]
}

export const showFailure = contract({
  method: 'GET',
  path: '/failures/:reference',
  summary: 'The error behind a reference: one of the last 1,000 failures that this server answered',
  access: 'operator',
  body: 'none',
  params: Type.Object({
    reference: Type.String({ description: '`reference` of an error, or X-Request-Id.' }),
  }),
  responses: { 200: FailureSchema },
})

export const failureContracts = [showFailure] as const
