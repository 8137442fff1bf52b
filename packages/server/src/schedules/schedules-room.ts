/** The room of schedules: graphs that are run by the clock, and starts that wait for their time. */
import { HeddleError, isError } from '@heddle/core'
import type { Clock, Tables } from '@heddle/core/lowlevel'
import * as contracts from '../client/contract/schedules.ts'
import type { Room } from '../http/room.ts'
import type { Caller } from '../http/caller.ts'
import { route, type Route } from '../http/route.ts'
import { maySee } from '../http/tenancy.ts'
import type { Audit } from '../people/audit.ts'
import { refuseGraph, type GraphTable } from '../runs/graph-table.ts'
import type { DelayedStarts } from './delayed-starts.ts'
import { DueTimes } from './due-times.ts'
import type { IsShown, Schedules, ScheduleView } from './schedules.ts'
import type { FiringRecord, StartRecord } from './schedule-tables.ts'
import { Ticker } from './ticker.ts'

export interface SchedulesRoomOptions {
  readonly schedules: Schedules
  readonly starts: DelayedStarts
  readonly tables: Tables
  readonly graphs: GraphTable
  /** Whether other servers use the store. */
  readonly isShared: boolean
  readonly clock: Clock
  readonly log: (level: 'info' | 'warning', text: string) => void
  readonly audit: Audit
}

export interface SchedulesRoom extends Room {
  /** Something has changed that may make a firing or a start due: look soon. */
  poke(): void
}

export function openSchedulesRoom(options: SchedulesRoomOptions): SchedulesRoom {
  const { schedules, starts, tables, clock, log } = options
  const ticker = new Ticker({
    parts: [schedules, starts],
    tables,
    clock,
    log,
    ...(options.isShared && { every: 5_000 }),
  })
  return {
    name: 'schedules',
    poke: () => ticker.poke(),
    routes: [
      ...scheduleRoutes(options, () => ticker.poke()),
      route(contracts.listStarts, async ({ query, caller }) => ({
        starts: (await starts.list(query.limit ?? 100, shownTo(caller))).map(startView),
      })),
      route(
        contracts.cancelStart,
        async (call) => {
          const { id } = call.params
          await starts.cancel(id)
          await options.audit(call, 'start cancelled', id)
          return { start: id, state: 'cancelled' as const }
        },
        { tenancy: ({ params, caller }) => starts.check(params.id, shownTo(caller)) },
      ),
    ],
    async start() {
      await schedules.start()
      await starts.start()
      await ticker.start()
    },
    // Later due times are decided by another server, or after the next start.
    async drain({ signal }) {
      await ticker.stop({ signal, deadline: Infinity })
      return { isClean: true }
    },
    stop: () => ticker.stop(),
    stats: () => ({ ...schedules.stats(), ...starts.stats() }),
    metrics: () => [
      {
        name: 'heddle_schedule_firings_open',
        help: 'Due times whose run is decided but has not started.',
        type: 'gauge',
        samples: [{ value: schedules.stats().open }],
      },
      {
        name: 'heddle_delayed_starts',
        help: 'Starts of runs that wait for their time.',
        type: 'gauge',
        samples: [{ value: starts.stats().waiting }],
      },
    ],
  }
}

function scheduleRoutes(options: SchedulesRoomOptions, poke: () => void): Route[] {
  const { schedules, tables, graphs, audit } = options
  const inTenant = {
    tenancy: ({ params, caller }: ScheduleCall) => schedules.check(params.id, shownTo(caller)),
  }
  return [
    route(contracts.listSchedules, async ({ caller }) => ({
      schedules: (await schedules.list(shownTo(caller))).map(scheduleView),
    })),
    route(contracts.makeSchedule, async (call) => {
      const { body, caller, reply } = call
      const { name, cron, timezone = 'UTC', overlap = 'skip', missed = 'once' } = body
      const { graph, args, paused: isPaused = false } = body
      if (!graphs.has(graph)) refuseGraph(graphs, graph)
      const input = { name, cron, timezone, overlap, missed, graph, args, isPaused }
      const made = await asInput(() =>
        schedules.make({ ...input, by: caller.name, tenant: caller.tenant }),
      )
      await audit(call, 'schedule made', made.id, graph)
      poke()
      void reply.code(201)
      return scheduleView(made)
    }),
    route(contracts.previewSchedule, async ({ query }) => {
      const { cron, timezone = 'UTC', count = 5 } = query
      const now = await tables.now()
      return asInput(async () => ({ next: new DueTimes({ cron, timezone }).next(now, count) }))
    }),
    route(
      contracts.showSchedule,
      async ({ params }) => scheduleView(await schedules.show(params.id)),
      inTenant,
    ),
    route(
      contracts.changeSchedule,
      async (call) => {
        const { params, body } = call
        const changed = await schedules.setPaused(params.id, body.paused)
        await audit(call, body.paused ? 'schedule paused' : 'schedule resumed', params.id)
        poke()
        return scheduleView(changed)
      },
      inTenant,
    ),
    route(
      contracts.deleteSchedule,
      async (call) => {
        const { id } = call.params
        await schedules.remove(id)
        await audit(call, 'schedule deleted', id)
        return { schedule: id, state: 'deleted' as const }
      },
      inTenant,
    ),
    route(
      contracts.listFirings,
      async ({ params, query }) => {
        const { before, limit = 100 } = query
        const found = await schedules.firingsOf(params.id, limit, before)
        const next = found.length < limit ? null : found.at(-1)!.dueAt
        return { firings: found.map(firingView), next }
      },
      inTenant,
    ),
  ]
}

interface ScheduleCall {
  readonly params: { readonly id: string }
  readonly caller: Caller
}

const shownTo =
  (caller: Caller): IsShown =>
  (tenant) =>
    maySee(caller, tenant)

/** A mistake in the fields is the caller's. */
async function asInput<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isError(error, 'HDL_BAD_OPTION')) throw error
    const { option, expected } = error.details
    throw new HeddleError('HDL_BAD_INPUT', { what: option, problem: `expected ${expected}.` })
  }
}

function scheduleView(view: ScheduleView): contracts.ScheduleInfo {
  const { id, origin, name, cron, timezone, overlap, missed, graph, args, isPaused } = view
  return {
    id,
    origin,
    name,
    cron,
    timezone,
    overlap,
    missed,
    graph,
    ...(args !== undefined && { args }),
    paused: isPaused,
    next: [...view.next],
    last: view.last === undefined ? null : firingView(view.last),
  }
}

function firingView(firing: FiringRecord): contracts.Firing {
  const { dueAt, decidedAt, state, isLate } = firing
  const [run, reason] = [firing.run ?? null, firing.reason ?? null]
  return { due_at: dueAt, decided_at: decidedAt, state, late: isLate, run, reason }
}

function startView(start: StartRecord): contracts.DelayedStart {
  const { id, graph, key, dueAt, createdAt, createdBy } = start
  const title = start.title ?? null
  return { id, graph, key, title, due_at: dueAt, created_at: createdAt, created_by: createdBy }
}
