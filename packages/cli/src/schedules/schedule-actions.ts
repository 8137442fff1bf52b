/** `heddle schedules`: graphs that a server runs by the clock. */
import type { ScheduleInfo } from '@heddle/server/client'
import { withServer, type ServerSettings } from './call-server.ts'

/** *Cancellation*: none; it reads a list. */
export function listSchedules(settings: ServerSettings): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const { schedules } = (await client.call('GET /schedules')).body
    answer({ schedules })
    if (schedules.length === 0) {
      line('There are no schedules. Export them from the served module, or: heddle schedules add')
    }
    for (const each of schedules) line(summary(each))
  })
}

/** *Cancellation*: none; it reads one schedule. */
export function showSchedule(settings: ServerSettings & { readonly id: string }): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const params = { id: settings.id }
    const { body: schedule } = await client.call('GET /schedules/:id', { params })
    const { firings } = (
      await client.call('GET /schedules/:id/firings', { params, query: { limit: 10 } })
    ).body
    answer({ schedule, firings })
    line(summary(schedule))
    line(`  overlap ${schedule.overlap}, missed ${schedule.missed}, graph ${schedule.graph}`)
    for (const at of schedule.next) line(`  next     ${timeOf(at)}`)
    for (const { due_at: due, state, run, reason } of firings) {
      line(`  ${state.padEnd(8)} ${timeOf(due)} ${run ?? ''}${reason ?? ''}`)
    }
  })
}

export interface AddSettings extends ServerSettings {
  readonly name: string
  readonly cron: string
  readonly graph: string
  readonly timezone: string | undefined
  readonly overlap: 'skip' | 'queue' | 'cancel' | undefined
  readonly missed: 'once' | 'all' | 'skip' | undefined
  /** JSON, read already. */
  readonly args: unknown
}

/** *Cancellation*: none; it makes one schedule. */
export function addSchedule(settings: AddSettings): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const { name, cron, graph, timezone, overlap, missed, args } = settings
    const body = {
      name,
      cron,
      graph,
      ...(timezone !== undefined && { timezone }),
      ...(overlap !== undefined && { overlap }),
      ...(missed !== undefined && { missed }),
      ...(args !== undefined && { args }),
    }
    const { body: schedule } = await client.call('POST /schedules', { body })
    answer({ schedule })
    line(`Made ${schedule.id}. ${nextOf(schedule)}`)
  })
}

/** *Cancellation*: none; it changes one schedule. */
export function pauseSchedule(
  settings: ServerSettings & { readonly id: string; readonly paused: boolean },
): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const { id, paused } = settings
    const call = { params: { id }, body: { paused } }
    const { body: schedule } = await client.call('PATCH /schedules/:id', call)
    answer({ schedule })
    line(paused ? `Paused ${id}.` : `Resumed ${id}. ${nextOf(schedule)}`)
  })
}

/** *Cancellation*: none; it deletes one schedule. */
export function deleteSchedule(settings: ServerSettings & { readonly id: string }): Promise<void> {
  return withServer(settings, async ({ client, line, answer }) => {
    const { body } = await client.call('DELETE /schedules/:id', { params: { id: settings.id } })
    answer(body)
    line(`Deleted ${settings.id}.`)
  })
}

function summary(schedule: ScheduleInfo): string {
  const { id, cron, timezone, last } = schedule
  const before = last === null ? '' : ` Last: ${last.state}, due ${timeOf(last.due_at)}.`
  return `${id.padEnd(28)} ${cron} (${timezone})  ${nextOf(schedule)}${before}`
}

function nextOf({ paused, next: [first] }: ScheduleInfo): string {
  if (paused) return 'Paused.'
  return first === undefined ? 'Never due again.' : `Next: ${timeOf(first)}.`
}

function timeOf(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z')
}
