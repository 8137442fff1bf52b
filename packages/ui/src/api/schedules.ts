/** Schedules and delayed starts, as views ask for them. */
import type { CallOptions, Firing, ReplyBody, ScheduleInfo } from '@heddle/server/client'
import { call } from './client.ts'

export type { Firing, ScheduleInfo }
export type DelayedStart = ReplyBody<'GET /starts'>['starts'][number]

export interface ScheduleList {
  readonly schedules: readonly ScheduleInfo[]
  readonly starts: readonly DelayedStart[]
}

export async function listSchedules(signal: AbortSignal): Promise<ScheduleList> {
  const [{ schedules }, { starts }] = await Promise.all([
    call('GET /schedules', { signal }),
    call('GET /starts', { signal }),
  ])
  return { schedules, starts }
}

export function makeSchedule(
  body: NonNullable<CallOptions<'POST /schedules'>['body']>,
): Promise<ScheduleInfo> {
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
  const found = await call('GET /schedules/:id/firings', {
    params: { id },
    query,
    signal,
  })
  return found.firings
}

export function cancelStart(id: string): Promise<unknown> {
  return call('DELETE /starts/:id', { params: { id } })
}
