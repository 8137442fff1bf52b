/**
 * The fleet protocol over HTTP: what workers send. `docs/reference/fleet-protocol.md` explains it; a worker in any language
 * can be written from that page. Unknown fields of a worker are ignored, so that newer ones can talk to older servers.
 */
import { Type } from 'typebox'
import { contract } from './contract.ts'

/** Versions of the protocol that this server speaks. */
export const protocolVersions: readonly number[] = [1]

const name = Type.String({ minLength: 1, maxLength: 200 })
const names = Type.Array(name, { maxItems: 200 })

const WorkerSchema = Type.Object({
  id: Type.String({
    minLength: 8,
    maxLength: 100,
    description: 'Made by the worker, one for each process.',
  }),
  name,
  threads: Type.Integer({ minimum: 1, maximum: 10_000 }),
  memory: Type.Integer({ minimum: 0, description: 'Megabytes.' }),
  capabilities: names,
  tags: names,
  system: name,
  jobs: Type.Array(Type.Object({ name, version: name }), { maxItems: 1_000 }),
  full: Type.Optional(
    Type.Array(name, {
      maxItems: 1_000,
      description: 'Names of its jobs that it has no place free for: none of them is offered.',
    }),
  ),
})

/** Limit of a request that has a result, or as many leases as a worker may have. */
const mostBytes = 4 * 1_024 * 1_024

const leaseFields = {
  lease: Type.String({ minLength: 3, maxLength: 200 }),
  epoch: Type.Integer({ minimum: 0 }),
  worker: Type.String({ minLength: 1, maxLength: 100 }),
}
const nextBeat = Type.Integer({ description: 'Milliseconds until the next beat.' })
const closedReason = Type.Optional(Type.String({ description: 'The lease has ended, and why.' }))

const stopList = Type.Array(Type.Object({ lease: Type.String(), reason: Type.String() }), {
  description: 'Leases whose job is to stop: hand each back when its job has ended.',
})

export const fleetVersion = contract({
  method: 'POST',
  path: '/fleet/version',
  summary: 'Agrees on a version of the protocol: the highest that both sides speak',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object({ protocol: Type.Array(Type.Integer(), { minItems: 1, maxItems: 50 }) }),
  responses: { 200: Type.Object({ protocol: Type.Integer(), server: Type.String() }) },
})

export const fleetRegister = contract({
  method: 'POST',
  path: '/fleet/register',
  summary: 'Introduces a worker',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object({
    protocol: Type.Array(Type.Integer(), { minItems: 1, maxItems: 50 }),
    worker: WorkerSchema,
  }),
  responses: {
    200: Type.Object({ protocol: Type.Integer(), worker: Type.String(), next_beat_ms: nextBeat }),
  },
})

const Offer = Type.Object({
  lease: Type.String(),
  epoch: Type.Integer(),
  accept_within_ms: Type.Integer(),
  next_beat_ms: nextBeat,
  stale_ms: Type.Integer({ description: 'The lease is lost after this long without a call.' }),
  work: Type.Unknown({ description: "A campaign's units, or one attempt of a job." }),
})

export const fleetClaim = contract({
  method: 'POST',
  path: '/fleet/claim',
  summary: 'Asks for work, and waits for it: an offer, or the reason why there is none',
  access: 'worker',
  body: 'json',
  bodyLimit: mostBytes,
  bodySchema: Type.Object({
    worker: WorkerSchema,
    request: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'The same again gets the same offer.',
    }),
    wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
    holds: Type.Optional(Type.Array(Type.String({ maxLength: 200 }), { maxItems: 10_000 })),
    address: Type.Optional(
      Type.String({ maxLength: 100, description: 'Only of another server that sends a claim on.' }),
    ),
  }),
  responses: {
    200: Type.Object({
      offer: Type.Optional(Offer),
      stop: Type.Optional(stopList),
      empty: Type.Optional(
        Type.Object({
          reason: Type.Enum(['no_work', 'busy', 'version', 'capability', 'blocked', 'limit']),
          message: Type.String(),
          retry_after_ms: Type.Integer(),
        }),
      ),
    }),
  },
})

export const fleetAccept = contract({
  method: 'POST',
  path: '/fleet/accept',
  summary: 'Turns an offer into a lease',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object(leaseFields),
  responses: { 200: Type.Object({ lease: Type.String(), next_beat_ms: nextBeat }) },
})

export const fleetBeat = contract({
  method: 'POST',
  path: '/fleet/beat',
  summary: 'Says that leases are being worked on, and how far they are',
  access: 'worker',
  body: 'json',
  bodyLimit: mostBytes,
  bodySchema: Type.Object({
    worker: leaseFields.worker,
    wait_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 60_000,
        description: 'Waits up to this long for the end of a lease, or for a request to stop one.',
      }),
    ),
    leases: Type.Array(
      Type.Object({
        lease: leaseFields.lease,
        epoch: leaseFields.epoch,
        progress: Type.Optional(Type.Integer({ minimum: 0 })),
        fraction: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        text: Type.Optional(Type.String({ maxLength: 1_000 })),
      }),
      { maxItems: 10_000 },
    ),
  }),
  responses: {
    200: Type.Object({
      lost: Type.Array(Type.Object({ lease: Type.String(), reason: Type.String() })),
      stop: Type.Optional(stopList),
      next_beat_ms: nextBeat,
    }),
  },
})

export const fleetInput = contract({
  method: 'GET',
  path: '/fleet/inputs/:lease',
  summary: 'The input of a job that is not in its offer: bytes in the encoding of the journal',
  access: 'worker',
  body: 'none',
  params: Type.Object({ lease: leaseFields.lease }),
  query: Type.Object(
    { epoch: leaseFields.epoch, worker: leaseFields.worker },
    { additionalProperties: false },
  ),
  responses: { 200: 'bytes' },
})

export const fleetUpdate = contract({
  method: 'POST',
  path: '/fleet/update',
  summary: 'Reports the progress of a lease: cumulative and numbered',
  access: 'worker',
  body: 'json',
  bodyLimit: mostBytes,
  bodySchema: Type.Object({
    ...leaseFields,
    sequence: Type.Integer({ minimum: 1 }),
    done: Type.Integer({ minimum: 0 }),
    result: Type.Optional(Type.Unknown()),
    artifact: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Instead of `result`: the artifact of this lease that has its bytes.',
      }),
    ),
  }),
  responses: {
    200: Type.Object({
      counted: Type.Boolean({ description: 'False for a report that was counted before.' }),
      closed: closedReason,
      problem: Type.Optional(Type.String()),
      next_beat_ms: nextBeat,
    }),
  },
})

export const fleetParams = contract({
  method: 'POST',
  path: '/fleet/params',
  summary: 'Parameters for the next report of a lease',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object(leaseFields),
  responses: { 200: Type.Object({ parameters: Type.Unknown() }) },
})

export const fleetFail = contract({
  method: 'POST',
  path: '/fleet/fail',
  summary: 'Ends a lease: it failed, or the worker hands it back',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object({
    ...leaseFields,
    stage: Type.Enum(['start', 'run', 'hand_back']),
    message: Type.String({ maxLength: 100_000 }),
    retryable: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String({ maxLength: 200 })),
    stack: Type.Optional(Type.String({ maxLength: 100_000 })),
    retry_after_ms: Type.Optional(
      Type.Number({ minimum: 0, description: 'Delay before the next attempt.' }),
    ),
    error: Type.Optional(
      Type.Unknown({ description: 'What was thrown: name, message, code, stack, cause.' }),
    ),
  }),
  responses: { 200: Type.Object({ ended: Type.Boolean() }) },
})

export const fleetStop = contract({
  method: 'POST',
  path: '/fleet/stop',
  summary: 'Stops the campaign of a lease; a worker without that right ends its own lease only',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object({ ...leaseFields, reason: Type.String({ maxLength: 100_000 }) }),
  responses: { 200: Type.Object({ stopped: Type.Boolean() }) },
})

export const fleetLog = contract({
  method: 'POST',
  path: '/fleet/log',
  summary: 'Writes a line to the log of the server, or of the job that a lease is of',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object({
    worker: leaseFields.worker,
    lease: Type.Optional(leaseFields.lease),
    epoch: Type.Optional(leaseFields.epoch),
    campaign: Type.Optional(Type.String({ maxLength: 200, description: 'Needs the lease too.' })),
    text: Type.String({ maxLength: 200_000 }),
  }),
  responses: {
    200: Type.Object({ logged: Type.Integer({ description: 'Characters that were kept.' }) }),
  },
})

export const fleetLeave = contract({
  method: 'POST',
  path: '/fleet/leave',
  summary: 'The worker ends: its offers and leases go back',
  access: 'worker',
  body: 'json',
  bodySchema: Type.Object({ worker: leaseFields.worker }),
  responses: { 200: Type.Object({ left: Type.Boolean() }) },
})

export const fleetSummary = contract({
  method: 'GET',
  path: '/fleet/summary',
  summary: 'Workers, claims and leases, and why workers get nothing',
  access: 'viewer',
  body: 'none',
  query: Type.Object(
    { workers: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })) },
    { additionalProperties: false },
  ),
  responses: {
    200: Type.Object({
      workers: Type.Integer(),
      active: Type.Integer(),
      waiting: Type.Integer(),
      offered: Type.Integer(),
      held: Type.Integer(),
      granted: Type.Integer(),
      closed: Type.Record(Type.String(), Type.Integer()),
      jobs_waiting: Type.Integer(),
      list: Type.Array(
        Type.Object({
          worker: Type.String(),
          name: Type.String(),
          owner: Type.String(),
          threads: Type.Integer(),
          capabilities: Type.Array(Type.String()),
          leases: Type.Array(Type.String()),
          seen_ms_ago: Type.Integer(),
          why_idle: Type.Optional(Type.String()),
        }),
      ),
    }),
  },
})

export const fleetContracts = [
  fleetVersion,
  fleetRegister,
  fleetClaim,
  fleetAccept,
  fleetBeat,
  fleetInput,
  fleetUpdate,
  fleetParams,
  fleetFail,
  fleetStop,
  fleetLog,
  fleetLeave,
  fleetSummary,
] as const
