/** Routes of served jobs: submit, fetch, cancel, and what operators do with stored results. */
import { Type, type Static } from 'typebox'
import { closed, contract, milliseconds, storedPattern } from './contract.ts'

const handle = Type.String({ description: 'From the submit.' })
const index = (description: string) =>
  Type.Integer({
    minimum: -999_999_999,
    maximum: 999_999_999,
    description,
    expected: '0 or a negative whole number',
  })
const wait = Type.Optional(milliseconds(0, 'Milliseconds to wait for the result.'))

export const Result = Type.Object(
  {
    handle,
    index: Type.Integer(),
    total: Type.Integer(),
    result: Type.Unknown(),
    request: Type.Optional(Type.String()),
  },
  { $id: 'Result' },
)
export type Result = Static<typeof Result>

export const Pending = Type.Object(
  {
    handle,
    index: Type.Integer(),
    total: Type.Integer(),
    state: Type.Enum(['pending', 'done']),
    request: Type.Optional(Type.String()),
  },
  { $id: 'Pending' },
)
export type Pending = Static<typeof Pending>

export const listJobs = contract({
  method: 'GET',
  path: '/jobs',
  summary: 'The jobs, their stages and limits',
  access: 'viewer',
  body: 'none',
  responses: {
    200: Type.Object({
      jobs: Type.Array(
        Type.Object({
          name: Type.String(),
          stages: Type.Array(Type.Object({ job: Type.String(), place: Type.String() })),
          limits: Type.Unknown(),
          when_abandoned: Type.Enum(['cancel', 'keep']),
          /** JSON Schema of its input, where the job names one. */
          input: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        }),
      ),
    }),
  },
})

export const submitJob = contract({
  method: 'POST',
  path: '/jobs/:name',
  summary: 'Submit work: the body is the input',
  access: 'submit',
  body: 'json',
  params: Type.Object({ name: Type.String({ description: 'A name that GET /jobs lists.' }) }),
  query: Type.Object({
    wait,
    index: Type.Optional(index('Which result to wait for. 0 when absent.')),
    slot: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'A newer request in this slot supersedes the older one.',
        expected: 'a name of 1 to 256 characters',
      }),
    ),
    priority: Type.Optional(
      Type.Enum([0, 1, 3], {
        description: '0 interactive, 1 usual, 3 prefetch. 1 when absent.',
        expected: '0 (interactive), 1 (usual) or 3 (prefetch)',
      }),
    ),
    force: Type.Optional(
      Type.Boolean({ description: 'Compute again, even if a result is stored.' }),
    ),
  }),
  bodySchema: Type.Unknown(),
  responses: { 200: Result, 202: Pending },
})

export const fetchResult = contract({
  method: 'GET',
  path: '/results/:handle/:index',
  summary: 'Fetch a result',
  access: 'viewer',
  body: 'none',
  params: Type.Object({ handle, index: index('0, -1, -2 …') }),
  query: Type.Object({ wait }),
  responses: { 200: Result, 202: Pending },
})

const CancelState = Type.Object({
  request: Type.String(),
  state: Type.Enum(['cancelled', 'already_cancelled', 'already_done']),
})
export type CancelState = Static<typeof CancelState>

export const cancelRequest = contract({
  method: 'DELETE',
  path: '/requests/:id',
  summary: 'Cancel a request',
  access: 'submit',
  body: 'none',
  params: Type.Object({
    id: Type.String({ description: 'X-Request-Id, or the id from the answer.' }),
  }),
  responses: { 200: CancelState },
})

export const Computation = Type.Object(
  {
    handle,
    job: Type.String(),
    tenant: Type.String(),
    state: Type.Enum(['looking', 'queued', 'preparing', 'making', 'waiting', 'set_aside'], {
      description:
        'waiting: acknowledged before the last stop, and not started again yet. set_aside: not resumed, and why.',
    }),
    priority: Type.Integer(),
    total: Type.Optional(Type.Integer()),
    waiting: Type.Integer({ description: 'Callers that wait for a result.' }),
    held: Type.Boolean({ description: 'Acknowledged: it continues without a caller.' }),
    waits_for: Type.Optional(Type.String({ description: 'Why it does not run now.' })),
    age_ms: Type.Optional(
      Type.Integer({
        description:
          'Since this server took it; absent for computations that an earlier process took.',
      }),
    ),
  },
  { $id: 'Computation' },
)
export type Computation = Static<typeof Computation>

const ComputationList = Type.Object({
  computations: Type.Array(Computation),
  total: Type.Integer(),
  servers_missing: Type.Optional(
    Type.Integer({
      description: 'Servers that did not answer: their computations are not listed.',
    }),
  ),
})
export type ComputationList = Static<typeof ComputationList>

export const listComputations = contract({
  method: 'GET',
  path: '/computations',
  summary:
    'Queued and running computations on all servers with the reasons for waiting, and those that were set aside',
  access: 'viewer',
  body: 'none',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000, description: '100 when absent.' }),
    ),
  }),
  responses: { 200: ComputationList },
})

export const cancelComputation = contract({
  method: 'DELETE',
  path: '/computations/:handle',
  summary: 'Cancel a computation for all its callers, also one of before the last restart',
  access: 'submit',
  body: 'none',
  params: Type.Object({ handle }),
  responses: {
    200: Type.Object({ handle, state: Type.Enum(['cancelled', 'already_done']) }),
  },
})

export const retryComputation = contract({
  method: 'POST',
  path: '/computations/:handle/retry',
  summary: 'Run a computation again that was set aside',
  access: 'operator',
  body: 'none',
  params: Type.Object({ handle }),
  responses: {
    202: Type.Object({ handle, state: Type.Literal('retried') }),
  },
})

export const manageCache = contract({
  method: 'POST',
  path: '/cache',
  summary: 'Look at the stored results, or delete them',
  access: 'operator',
  body: 'json',
  bodySchema: Type.Object(
    {
      action: Type.Enum(['info', 'flush', 'delete'], {
        expected: '"info", "flush" or "delete"',
      }),
      handle: Type.Optional(
        Type.String({
          minLength: 1,
          pattern: storedPattern,
          description: 'Whose results to delete.',
          expected: 'the handle whose results to delete',
        }),
      ),
    },
    closed,
  ),
  responses: {
    200: Type.Object({
      success: Type.Boolean(),
      handle: Type.Optional(Type.String()),
      cache: Type.Optional(Type.Unknown()),
    }),
  },
})

export const jobContracts = [
  listJobs,
  submitJob,
  fetchResult,
  cancelRequest,
  listComputations,
  cancelComputation,
  retryComputation,
  manageCache,
] as const
