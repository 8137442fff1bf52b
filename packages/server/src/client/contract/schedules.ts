/** Schedules and starts that wait for their time. Instants are milliseconds since 1970, by the clock of the store. */
import { Type, type Static, type TSchema } from 'typebox'
import { closed, contract } from './contract.ts'

const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

const OverlapSchema = Type.Enum(['skip', 'queue', 'cancel'], {
  description:
    'At a due time while the run before has not ended: skip it, wait for the end, or cancel that run.',
})
const MissedSchema = Type.Enum(['once', 'all', 'skip'], {
  description: 'Due times that passed while no server ran: one run for all, a run for each, none.',
})

const FiringSchema = Type.Object({
  due_at: Type.Number(),
  decided_at: Type.Number(),
  state: Type.Enum(['pending', 'starting', 'started', 'skipped', 'failed']),
  /** Whether it makes up for a time at which no server ran. */
  late: Type.Boolean(),
  run: orNull(Type.String()),
  /** Why it was skipped, or could not be started. */
  reason: orNull(Type.String()),
})
export type Firing = Static<typeof FiringSchema>

export const ScheduleSchema = Type.Object(
  {
    /** `exported:nightly` for a schedule of the served module, `made:nightly` for one made over HTTP. */
    id: Type.String(),
    origin: Type.Enum(['exported', 'made']),
    name: Type.String(),
    cron: Type.String(),
    timezone: Type.String(),
    overlap: OverlapSchema,
    missed: MissedSchema,
    graph: Type.String(),
    args: Type.Optional(Type.Unknown()),
    paused: Type.Boolean(),
    /** The next due times, at most five; none while it is paused. */
    next: Type.Array(Type.Number()),
    last: orNull(FiringSchema),
  },
  { $id: 'Schedule' },
)
export type ScheduleInfo = Static<typeof ScheduleSchema>

const ScheduleParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) }, closed)
const cron = Type.String({
  minLength: 1,
  maxLength: 256,
  description:
    'Minute, hour, day of the month, month, weekday: "0 3 * * *". Six fields begin with seconds.',
})
const timezone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Such as Europe/Berlin; UTC when absent.',
})

const MakeBody = Type.Object(
  {
    name: Type.String({
      pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N} ._-]{0,63}$',
      expected: '1 to 64 letters, digits, spaces and . _ -',
    }),
    cron,
    timezone: Type.Optional(timezone),
    overlap: Type.Optional(OverlapSchema),
    missed: Type.Optional(MissedSchema),
    graph: Type.String({ minLength: 1, maxLength: 256 }),
    /** Given to the function that makes the graph; `{ schedule, dueAt }` when absent. */
    args: Type.Optional(Type.Unknown()),
    paused: Type.Optional(Type.Boolean()),
  },
  closed,
)

export const listSchedules = contract({
  method: 'GET',
  path: '/schedules',
  summary: 'All schedules, with their next due times',
  access: 'viewer',
  body: 'none',
  responses: { 200: Type.Object({ schedules: Type.Array(ScheduleSchema) }) },
})
export const makeSchedule = contract({
  method: 'POST',
  path: '/schedules',
  summary: 'Run a registered graph by the clock',
  access: 'operator',
  body: 'json',
  bodySchema: MakeBody,
  responses: { 201: ScheduleSchema },
})
export const previewSchedule = contract({
  method: 'GET',
  path: '/schedules/preview',
  summary: 'When fields of cron would be due',
  access: 'viewer',
  body: 'none',
  query: Type.Object(
    {
      cron,
      timezone: Type.Optional(timezone),
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: 50 })),
    },
    closed,
  ),
  responses: { 200: Type.Object({ next: Type.Array(Type.Number()) }) },
})
export const showSchedule = contract({
  method: 'GET',
  path: '/schedules/:id',
  summary: 'One schedule',
  access: 'viewer',
  body: 'none',
  params: ScheduleParams,
  responses: { 200: ScheduleSchema },
})
export const changeSchedule = contract({
  method: 'PATCH',
  path: '/schedules/:id',
  summary: 'Pause a schedule, or resume it; due times in between are left out',
  access: 'operator',
  body: 'json',
  params: ScheduleParams,
  bodySchema: Type.Object({ paused: Type.Boolean() }, closed),
  responses: { 200: ScheduleSchema },
})
export const deleteSchedule = contract({
  method: 'DELETE',
  path: '/schedules/:id',
  summary: 'Delete a schedule that was made over HTTP',
  access: 'operator',
  body: 'none',
  params: ScheduleParams,
  responses: { 200: Type.Object({ schedule: Type.String(), state: Type.Literal('deleted') }) },
})
export const listFirings = contract({
  method: 'GET',
  path: '/schedules/:id/firings',
  summary: 'Outcomes of its due times, newest first',
  access: 'viewer',
  body: 'none',
  params: ScheduleParams,
  query: Type.Object(
    {
      /** Only earlier due times: `next` of the page before. */
      before: Type.Optional(Type.Number()),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    },
    closed,
  ),
  responses: {
    200: Type.Object({ firings: Type.Array(FiringSchema), next: orNull(Type.Number()) }),
  },
})

const StartSchema = Type.Object({
  id: Type.String(),
  graph: Type.String(),
  key: Type.String(),
  title: orNull(Type.String()),
  due_at: Type.Number(),
  created_at: Type.Number(),
  created_by: Type.String(),
})
export type DelayedStart = Static<typeof StartSchema>

export const listStarts = contract({
  method: 'GET',
  path: '/starts',
  summary: 'Starts of runs that wait for their time (start_at and debounce of POST /runs)',
  access: 'viewer',
  body: 'none',
  query: Type.Object(
    { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })) },
    closed,
  ),
  responses: { 200: Type.Object({ starts: Type.Array(StartSchema) }) },
})
export const cancelStart = contract({
  method: 'DELETE',
  path: '/starts/:id',
  summary: 'Cancel a start that waits for its time',
  access: 'operator',
  body: 'none',
  params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 300 }) }, closed),
  responses: { 200: Type.Object({ start: Type.String(), state: Type.Literal('cancelled') }) },
})

export const scheduleContracts = [
  listSchedules,
  makeSchedule,
  previewSchedule,
  showSchedule,
  changeSchedule,
  deleteSchedule,
  listFirings,
  listStarts,
  cancelStart,
] as const
