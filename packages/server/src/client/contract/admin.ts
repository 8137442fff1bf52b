/** Routes of the server itself: health, metrics, drain, and this table. */
import { Type } from 'typebox'
import { closed, contract } from './contract.ts'

export const drainServer = contract({
  method: 'POST',
  path: '/drain',
  summary: 'Take no new work, end when the rest is done',
  access: 'admin',
  body: 'json',
  bodySchema: Type.Object(
    {
      deadline_ms: Type.Optional(
        Type.Number({
          minimum: 0,
          description: 'For work that was admitted.',
          expected: 'a number of milliseconds',
        }),
      ),
    },
    closed,
  ),
  responses: { 202: Type.Object({ state: Type.String() }) },
})

export const health = contract({
  method: 'GET',
  path: '/healthz',
  summary: 'Alive, with figures',
  access: 'public',
  body: 'none',
  responses: {
    200: Type.Object({
      status: Type.Enum(['ok', 'degraded']),
      causes: Type.Array(Type.String()),
      state: Type.String(),
      draining: Type.Boolean(),
    }),
  },
})

const Readiness = Type.Object({
  ready: Type.Boolean(),
  draining: Type.Boolean(),
  causes: Type.Array(Type.String()),
})

export const ready = contract({
  method: 'GET',
  path: '/readyz',
  summary: 'Ready for work, or 503 with the reason',
  access: 'public',
  body: 'none',
  responses: { 200: Readiness, 503: Readiness },
})

export const metrics = contract({
  method: 'GET',
  path: '/metrics',
  summary: 'Figures for Prometheus',
  access: 'public',
  body: 'none',
  responses: { 200: 'text' },
})

export const openApiDocument = contract({
  method: 'GET',
  path: '/openapi.json',
  summary: 'This table as OpenAPI 3.1',
  access: 'public',
  body: 'none',
  responses: { 200: Type.Unknown() },
})

export const adminContracts = [drainServer, health, ready, metrics, openApiDocument] as const
