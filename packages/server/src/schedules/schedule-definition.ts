/** Schedules as a server knows them, those of its module and those made over HTTP. */
import { HeddleError, type Graph } from '@heddle/core'
import { makerOf, type GraphMaker, type GraphTable } from '../runs/graph-table.ts'
import { isSchedule, type Missed, type Overlap, type Schedule } from './schedule.ts'

/** `exported` by the served module, or `made` over HTTP: two schedules may have one name. */
export type ScheduleSource = 'exported' | 'made'

export interface Definition {
  /** `exported:nightly`, `made:nightly`. */
  readonly id: string
  readonly origin: ScheduleSource
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly overlap: Overlap
  readonly missed: Missed
  /** The name of a registered graph. */
  readonly graph: string
  readonly args: unknown
  /** Whose runs it starts; the common one when absent. */
  readonly tenant?: string | undefined
  readonly isPaused: boolean
}

export function idOf(origin: ScheduleSource, name: string): string {
  return `${origin}:${name}`
}

/**
 * `schedules` of a module (one, a list, or an object of them), and its other exports that are schedules. Their graphs are registered, so that a run which is
 * interrupted can be resumed: under the name they have already, or as `schedule NAME`.
 *
 * @throws `HDL_BAD_OPTION` for a value that is not a schedule, and for two of one name.
 */
export function exportedSchedules(
  exported: Readonly<Record<string, unknown>> | readonly unknown[],
  graphs: GraphTable,
): { readonly definitions: readonly Definition[]; readonly graphs: GraphTable } {
  const table = new Map<string, GraphMaker>(graphs)
  const definitions = new Map<string, Definition>()
  for (const each of schedulesOf(exported)) {
    const id = idOf('exported', each.name)
    if (definitions.has(id)) {
      const expected = 'schedules with different names'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'schedules', value: each.name, expected })
    }
    const graph = register(table, each)
    const { name, cron, timezone, overlap, missed, args, isPaused } = each
    definitions.set(id, {
      id,
      origin: 'exported',
      name,
      cron,
      timezone,
      overlap,
      missed,
      graph,
      args,
      isPaused,
    })
  }
  return { definitions: [...definitions.values()], graphs: table }
}

function schedulesOf(
  exported: Readonly<Record<string, unknown>> | readonly unknown[],
): readonly Schedule[] {
  if (Array.isArray(exported)) return exported.filter(isSchedule)
  const { schedules, ...others } = exported as Readonly<Record<string, unknown>>
  const list: readonly unknown[] = isSchedule(schedules)
    ? [schedules]
    : Object.values(schedules ?? {})
  for (const value of list) {
    if (isSchedule(value)) continue
    const expected = "schedules: schedule('nightly', '0 3 * * *', graph)"
    throw new HeddleError('HDL_BAD_OPTION', { option: 'schedules', value, expected })
  }
  // One may be exported by its name and in the list.
  return [
    ...new Set([...(list as readonly Schedule[]), ...Object.values(others).filter(isSchedule)]),
  ]
}

function register(table: Map<string, GraphMaker>, { name, graph }: Schedule): string {
  for (const [known, maker] of table) if (maker.source === graph) return known
  const made = `schedule ${name}`
  table.set(made, makerOf(graph as Graph | GraphMaker))
  return made
}
