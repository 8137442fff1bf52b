/** Schedules and delayed starts, as views ask for them. */
import type { Firing, ReplyBody, ScheduleInfo } from '@heddle/server/client'
import { call } from './client.ts'

export type { Firing, ScheduleInfo }
export type DelayedStart = ReplyBody<'GET /starts'>['starts'][number]

export interface ScheduleList {
  readonly schedules: readonly ScheduleInfo[]
  readonly starts: readonly DelayedStart[]
}

export async function listSchedules(signal: AbortSignal): Promise<ScheduleList> {
  const [{ schedules }, { starts }] = await Promise.all([
    call<ReplyBody<'GET /schedules'>>('GET /schedules', { signal }),
    call<ReplyBody<'GET /starts'>>('GET /starts', { signal }),
  ])
  return { schedules, starts }
}

export function makeSchedule(body: {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly overlap: string
  readonly graph: string
}): Promise<ScheduleInfo> {
  return call('POST /schedules', { body })
}

export function changeSchedule(id: string, paused: boolean): Promise<ScheduleInfo> {
  return call('PATCH /schedules/:id', { params: { id }, body: { paused } })
}

export function deleteSchedule(id: string): Promise<unknown> {
  return call('DELETE /schedules/:id', { params: { id } })
}

export async function listFirings(id: string, signal: AbortSignal): Promise<readonly Firing[]> {
  const query = { limit: 20 }
  const found = await call<ReplyBody<'GET /schedules/:id/firings'>>('GET /schedules/:id/firings', {
    params: { id },
    query,
    signal,
  })
  return found.firings
}

export function cancelStart(id: string): Promise<unknown> {
  return call('DELETE /starts/:id', { params: { id } })
}
