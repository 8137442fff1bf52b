/** Campaigns over HTTP, and the statistics of matches. Durations are milliseconds where a name ends in `_ms`. */
import { Type } from 'typebox'
import { closed, contract } from './contract.ts'

const text = Type.String({ minLength: 1, maxLength: 200 })
const texts = Type.Array(text, { maxItems: 100 })
const count = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const probability = Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 0.5 })
const elo = Type.Number({ minimum: -1_000, maximum: 1_000 })

const Sprt = Type.Object(
  {
    kind: Type.Literal('sprt'),
    elo0: elo,
    elo1: elo,
    alpha: Type.Optional(probability),
    beta: Type.Optional(probability),
    model: Type.Optional(Type.Enum(['logistic', 'normalized'])),
  },
  closed,
)

const Spsa = Type.Object(
  {
    kind: Type.Literal('spsa'),
    parameters: Type.Array(
      Type.Object(
        {
          name: text,
          start: Type.Number(),
          min: Type.Number(),
          max: Type.Number(),
          c_end: Type.Number({ exclusiveMinimum: 0 }),
          r_end: Type.Number({ exclusiveMinimum: 0 }),
          integer: Type.Optional(Type.Boolean()),
        },
        closed,
      ),
      { minItems: 1, maxItems: 1_000 },
    ),
    stability: Type.Optional(Type.Number({ minimum: 0 })),
    alpha: Type.Optional(Type.Number()),
    gamma: Type.Optional(Type.Number()),
  },
  closed,
)

const milliseconds = Type.Integer({ minimum: 100, maximum: 86_400_000 })

export const CampaignBody = Type.Object(
  {
    name: text,
    job: text,
    version: Type.Optional(text),
    input: Type.Optional(Type.Unknown()),
    units: count,
    batch: Type.Optional(count),
    outcomes: Type.Optional(texts),
    rule: Type.Optional(Type.Union([Type.Object({ kind: Type.Literal('quota') }, closed), Sprt])),
    proposal: Type.Optional(Spsa),
    definition: Type.Optional({
      ...text,
      description: 'A campaign(…) that the served module exports, in place of the three above.',
    }),
    priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100 })),
    weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 })),
    needs: Type.Optional(
      Type.Object(
        {
          capabilities: Type.Optional(texts),
          tags: Type.Optional(texts),
          memory: Type.Optional(Type.Integer({ minimum: 0 })),
          min_threads: Type.Optional(count),
          max_threads: Type.Optional(count),
          system: Type.Optional(text),
        },
        closed,
      ),
    ),
    lease_ms: Type.Optional(milliseconds),
    beat_ms: Type.Optional(milliseconds),
    stale_ms: Type.Optional(milliseconds),
    idle_beats: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  },
  closed,
)

const Campaign = Type.Object({
  id: Type.String(),
  name: Type.String(),
  owner: Type.String(),
  job: Type.String(),
  version: Type.String(),
  phase: Type.Enum(['running', 'paused', 'ended']),
  ended: Type.Optional(
    Type.Object({ why: Type.String(), detail: Type.String(), at: Type.Number() }),
  ),
  created_at: Type.Number(),
  units: Type.Integer(),
  done: Type.Integer(),
  open: Type.Integer(),
  total: Type.Unknown(),
  outcomes: Type.Array(Type.String()),
  workers: Type.Integer(),
  leases: Type.Integer(),
  excluded: Type.Integer(),
  units_per_second: Type.Number(),
  time_left_ms: Type.Optional(Type.Integer()),
})

const params = Type.Object({ id: Type.String({ minLength: 1, maxLength: 200 }) }, closed)

export const createCampaign = contract({
  method: 'POST',
  path: '/campaigns',
  summary: 'Starts a campaign: a quota of units for the workers of the fleet',
  access: 'submit',
  body: 'json',
  bodySchema: CampaignBody,
  responses: { 201: Campaign },
})

export const listCampaigns = contract({
  method: 'GET',
  path: '/campaigns',
  summary: 'Campaigns, newest first',
  access: 'viewer',
  body: 'none',
  query: Type.Object(
    {
      before: Type.Optional(
        Type.Number({ description: 'created_at of the last one of the page before.' }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    },
    closed,
  ),
  responses: { 200: Type.Object({ campaigns: Type.Array(Campaign) }) },
})

export const showCampaign = contract({
  method: 'GET',
  path: '/campaigns/:id',
  summary: 'One campaign',
  access: 'viewer',
  body: 'none',
  params,
  responses: { 200: Campaign },
})

export const campaignStats = contract({
  method: 'GET',
  path: '/campaigns/:id/stats',
  summary:
    'What the results of a campaign say: totals, Elo with error bars, the test, the parameters',
  access: 'viewer',
  body: 'none',
  params,
  responses: {
    200: Type.Object({
      campaign: Campaign,
      rule: Type.Unknown(),
      proposal: Type.Optional(Type.Unknown()),
    }),
  },
})

const steer = <const A extends string>(action: A, summary: string) =>
  contract({
    method: 'POST',
    path: `/campaigns/:id/${action}` as const,
    summary,
    access: 'operator',
    body: 'json',
    params,
    bodySchema: Type.Object({ reason: Type.Optional(Type.String({ maxLength: 5_120 })) }, closed),
    responses: { 200: Campaign },
  })

export const stopCampaign = steer('stop', 'Ends a campaign and keeps its counts')
export const pauseCampaign = steer('pause', 'Hands out no units until it is resumed')
export const resumeCampaign = steer('resume', 'Hands out units again')

export const excludeLease = contract({
  method: 'POST',
  path: '/campaigns/:id/exclude',
  summary: 'Takes the results of a closed lease out; its units are done again',
  access: 'operator',
  body: 'json',
  params,
  bodySchema: Type.Object({ lease: text, reason: Type.String({ maxLength: 5_120 }) }, closed),
  responses: { 200: Campaign },
})

export const removeCampaign = contract({
  method: 'DELETE',
  path: '/campaigns/:id',
  summary: 'Removes a campaign that has ended, with the records of its leases and its artifacts',
  access: 'operator',
  body: 'none',
  params,
  responses: { 200: Type.Object({ leases: Type.Integer(), artifact_bytes: Type.Integer() }) },
})

export const calculate = contract({
  method: 'POST',
  path: '/stats/calc',
  summary: 'Elo with error bars and the sequential test for results that are given',
  access: 'viewer',
  body: 'json',
  bodySchema: Type.Object(
    {
      results: Type.Array(Type.Integer({ minimum: 0, maximum: 2 ** 32 }), {
        minItems: 3,
        maxItems: 5,
        description: 'L, D, W of games, or LL, LD, DD or WL, WD, WW of pairs.',
      }),
      elo0: Type.Optional(elo),
      elo1: Type.Optional(elo),
      alpha: Type.Optional(probability),
      beta: Type.Optional(probability),
      model: Type.Optional(Type.Enum(['logistic', 'normalized', 'bayes'])),
    },
    closed,
  ),
  responses: {
    200: Type.Object({
      elo: Type.Number(),
      error: Type.Number(),
      interval: Type.Array(Type.Number()),
      los: Type.Number(),
      sprt: Type.Optional(
        Type.Object({
          lower: Type.Number(),
          upper: Type.Number(),
          llr: Type.Number(),
          elo: Type.Number(),
          interval: Type.Array(Type.Number()),
          los: Type.Number(),
          state: Type.Enum(['running', 'accepted', 'rejected']),
        }),
      ),
    }),
  },
})

export const campaignContracts = [
  createCampaign,
  listCampaigns,
  showCampaign,
  campaignStats,
  stopCampaign,
  pauseCampaign,
  resumeCampaign,
  excludeLease,
  removeCampaign,
  calculate,
] as const
