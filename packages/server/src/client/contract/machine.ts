/**
 * For people who look after a server: its event loop and threads, its load over time, its shards, what its code does where,
 * its workers in full, and how the results of campaigns came about.
 */
import { Type } from 'typebox'
import { contract, type ResponseBodyOf } from './contract.ts'

const count = Type.Integer()
const column = Type.Array(Type.Number())
const view = { method: 'GET', access: 'viewer', body: 'none' } as const

export const showLoop = contract({
  ...view,
  path: '/loop',
  summary: 'The event loop of this server: its gaps with what caused them, and the threads',
  responses: {
    200: Type.Object({
      is_watched: Type.Boolean(),
      threshold_ms: Type.Number({ description: 'Gaps from this length on are listed.' }),
      gaps: count,
      longest_ms: Type.Number(),
      delay: Type.Object({ p50: Type.Number(), p99: Type.Number(), max: Type.Number() }),
      /** Gaps that the machine caused: it had no processor for the loop. */
      starved: Type.Object({ gaps: count, longest_ms: Type.Number() }),
      /** Newest first. */
      recent: Type.Array(
        Type.Object({
          started_at: Type.Number(),
          ms: Type.Number(),
          starved_ms: Type.Number(),
          label: Type.Union([Type.String(), Type.Null()], {
            description: 'The job or route that ran.',
          }),
          stack: Type.Array(Type.String(), {
            description: 'function (file:line:column), innermost first.',
          }),
          certain: Type.Boolean({ description: 'False: taken right after it.' }),
        }),
      ),
      threads: Type.Array(
        Type.Object({
          id: count,
          state: Type.String(),
          busy: Type.Boolean(),
          in_flight: count,
          finished: count,
        }),
      ),
      thread_jobs: Type.Array(
        Type.Object({ job: Type.String(), runs: count, mean_ms: Type.Number() }),
      ),
      queued: count,
      crashed: count,
      killed: count,
    }),
  },
})
export type LoopView = ResponseBodyOf<typeof showLoop>

export const showLoad = contract({
  ...view,
  path: '/load',
  summary: 'The load of this server over the last ten minutes, and its last refusals',
  responses: {
    200: Type.Object({
      /** Columns of equal length, one value a second; times in milliseconds since 1970. */
      at: column,
      utilisation: column,
      level: Type.Array(Type.String()),
      requests: column,
      threads_busy: column,
      finished: column,
      refused: column,
      /** Waiting entries of each stage. */
      queued: Type.Record(Type.String(), column),
      /** Newest first. */
      refusals: Type.Array(
        Type.Object({
          at: Type.Number(),
          route: Type.String(),
          status: count,
          retry_after_s: Type.Union([Type.Number(), Type.Null()]),
        }),
      ),
      refused_total: count,
      /** The computations of the last ten minutes that took longest from the submit to the end, slowest first. */
      slowest: Type.Array(
        Type.Object({
          at: Type.Number({ description: 'When it ended.' }),
          job: Type.String(),
          ms: Type.Number(),
          ok: Type.Boolean(),
        }),
      ),
    }),
  },
})
export type LoadView = ResponseBodyOf<typeof showLoad>

export const listServers = contract({
  ...view,
  path: '/servers',
  summary: 'The servers on this store, and which of the 256 shards each of them owns',
  responses: {
    200: Type.Object({
      servers: Type.Array(
        Type.Object({
          server: Type.String(),
          address: Type.Union([Type.String(), Type.Null()]),
          started_at: Type.Union([Type.Number(), Type.Null()]),
          shards: count,
          is_this: Type.Boolean(),
        }),
      ),
      /** For each shard the index in `servers`; -1 without an owner. */
      owners: Type.Array(count),
    }),
  },
})
export type ServersView = ResponseBodyOf<typeof listServers>

export const readInventory = contract({
  ...view,
  path: '/inventory',
  summary: 'What runs on the loop and what elsewhere: the file that the configuration names',
  responses: {
    200: Type.Object({
      /** Null: no file is named. */
      file: Type.Union([Type.String(), Type.Null()]),
      /** Why it cannot be shown; null when it can. */
      problem: Type.Union([Type.String(), Type.Null()]),
      written_at: Type.Union([Type.Number(), Type.Null()]),
      /** The document that `heddle analyze --inventory --json` writes. */
      inventory: Type.Optional(Type.Unknown()),
    }),
  },
})
export type InventoryView = ResponseBodyOf<typeof readInventory>

export const listWorkers = contract({
  ...view,
  path: '/fleet/workers',
  summary:
    'Workers of the fleet, with their leases, their speed and the reason why they get nothing',
  responses: {
    200: Type.Object({
      workers: Type.Array(
        Type.Object({
          worker: Type.String(),
          name: Type.String(),
          owner: Type.String(),
          threads: count,
          memory: Type.Integer({ description: 'Megabytes.' }),
          system: Type.String(),
          capabilities: Type.Array(Type.String()),
          jobs: Type.Array(Type.Object({ name: Type.String(), version: Type.String() })),
          work: Type.Array(
            Type.Object({
              lease: Type.String(),
              of: Type.Union([Type.String(), Type.Null()], {
                description: 'A campaign; null for an attempt of a job.',
              }),
              done: count,
              size: count,
            }),
          ),
          units_per_second: Type.Optional(
            Type.Number({ description: 'In the campaign of its last lease.' }),
          ),
          seen_ms_ago: count,
          why_idle: Type.Optional(Type.String()),
          is_suspect: Type.Boolean({ description: 'It failed in campaigns of several owners.' }),
        }),
      ),
      left_out: Type.Integer({ description: 'Workers beyond the first thousand.' }),
    }),
  },
})
export type WorkersView = ResponseBodyOf<typeof listWorkers>

export const campaignHistory = contract({
  ...view,
  path: '/campaigns/:id/history',
  summary: 'The test and the parameters over time, the results of each worker, the last leases',
  params: Type.Object(
    { id: Type.String({ minLength: 1, maxLength: 200 }) },
    { additionalProperties: false },
  ),
  responses: {
    200: Type.Object({
      /** For a sequential test: columns of equal length, from the closed leases. */
      test: Type.Union([
        Type.Object({
          at: column,
          done: column,
          llr: column,
          lower: Type.Number(),
          upper: Type.Number(),
        }),
        Type.Null(),
      ]),
      /** For tuning, since this server runs the campaign: a list of values for each name. */
      parameters: Type.Union([
        Type.Object({ names: Type.Array(Type.String()), at: column, values: Type.Array(column) }),
        Type.Null(),
      ]),
      workers: Type.Array(
        Type.Object({
          worker: Type.String(),
          leases: count,
          done: count,
          failed: Type.Integer({ description: 'Leases that ended before all units were done.' }),
          residual: Type.Union([Type.Number(), Type.Null()], {
            description: 'Standard deviations between its results and those of all.',
          }),
        }),
      ),
      leases: Type.Array(
        Type.Object({
          lease: Type.String(),
          worker: Type.String(),
          units: count,
          done: count,
          closed: Type.String(),
          excluded: Type.String(),
          granted_at: Type.Number(),
          seen_at: Type.Number(),
        }),
      ),
      left_out: Type.Integer({ description: 'Leases that were too old to be read.' }),
    }),
  },
})
export type CampaignHistory = ResponseBodyOf<typeof campaignHistory>

export const machineContracts = [
  showLoop,
  showLoad,
  listServers,
  readInventory,
  listWorkers,
  campaignHistory,
] as const
