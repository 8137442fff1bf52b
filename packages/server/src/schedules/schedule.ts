import { isDeepStrictEqual } from 'node:util'
import { HeddleError, type Graph } from '@heddle/core'
import {
  checkFlag,
  checkOptions,
  checkText,
  checkWord,
  type OptionNames,
} from '@heddle/core/lowlevel'
import { DueTimes } from './due-times.ts'

const namePattern = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u
const nameRule = '1 to 64 letters, digits, spaces and . _ -'

/** The rule for a due time while the run before has not ended. */
export const overlaps = ['skip', 'queue', 'cancel'] as const
export type Overlap = (typeof overlaps)[number]

/** What happens with due times that passed while no server ran. */
export const missedWays = ['once', 'all', 'skip'] as const
export type Missed = (typeof missedWays)[number]

export interface ScheduleOptions {
  /** `Europe/Berlin`; `UTC` when absent. */
  readonly timezone?: string | undefined
  /**
   * While the run before has not ended: `skip` this due time, `queue` until it has ended, or `cancel` it. `skip` when absent.
   */
  readonly overlap?: Overlap | undefined
  /**
   * Due times that passed while no server ran: make up for them `once`, for `all` of them one after the other, or `skip`
   * them. `once` when absent.
   */
  readonly missed?: Missed | undefined
  /** Given to a graph that is a function: JSON. `{ schedule, dueAt }` when absent. */
  readonly args?: unknown
  /** Whether it waits until it is resumed over HTTP. Counts when a store sees the schedule for the first time. */
  readonly paused?: boolean | undefined
}

const optionNames = {
  timezone: 1,
  overlap: 1,
  missed: 1,
  args: 1,
  paused: 1,
} satisfies OptionNames<ScheduleOptions>

/** A graph that a server runs by the clock. Made by {@link schedule}. */
export interface Schedule {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly overlap: Overlap
  readonly missed: Missed
  readonly args: unknown
  readonly isPaused: boolean
  readonly graph: Graph | ((args: never) => Graph | Promise<Graph>)
  /** Tells schedules from other exports. */
  readonly isSchedule: true
}

/**
 * Says when a graph is run. A module that `heddle serve` loads exports them as `schedules`.
 *
 * @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`.
 * @example
 * const nightly = schedule('nightly', '0 3 * * *', new Graph(), { timezone: 'Europe/Berlin' })
 * nightly.overlap // => 'skip'
 */
export function schedule(
  name: string,
  cron: string,
  graph: Graph | ((args: never) => Graph | Promise<Graph>),
  options: ScheduleOptions = {},
): Schedule {
  checkOptions(options, optionNames)
  if (typeof name !== 'string' || !namePattern.test(name)) {
    throw new HeddleError('HDL_BAD_OPTION', { option: 'name', value: name, expected: nameRule })
  }
  checkText('cron', cron)
  const { timezone = 'UTC', overlap = 'skip', missed = 'once', args, paused = false } = options
  checkText('timezone', timezone)
  checkWord('overlap', overlap, overlaps)
  checkWord('missed', missed, missedWays)
  checkFlag('paused', paused)
  if (args !== undefined) checkJson('args', args)
  if (typeof graph !== 'function' && typeof graph?.nodes !== 'function') {
    const expected = 'a graph, or a function that makes one'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'graph', value: graph, expected })
  }
  // Refuses fields and zones that do not exist.
  void new DueTimes({ cron, timezone })
  const rest = { overlap, missed, args, isPaused: paused }
  return { name, cron, timezone, ...rest, graph, isSchedule: true }
}

/** Values recorded with a run must be read back unchanged. */
function checkJson(option: string, value: unknown): void {
  try {
    if (isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)) return
  } catch {
    // A bigint, a circle, or nothing that JSON has a text for.
  }
  throw new HeddleError('HDL_BAD_OPTION', { option, value, expected: 'a value that JSON has' })
}

export function isSchedule(value: unknown): value is Schedule {
  return (value as Partial<Schedule> | null | undefined)?.isSchedule === true
}
