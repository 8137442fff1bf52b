/**
 * When a schedule is due: fields of cron on the wall clock of a time zone.
 *
 *  Y1  Each wall time that the fields name is due once: one that daylight saving skips when the clock jumps over it (several
 *      of them together, once), one that it doubles the first time.
 */
import { Cron } from 'croner'
import { HeddleError } from '@heddle/core'
import { Zone } from './wall-time.ts'

export interface DueTimesInput {
  /** Five fields, or six with seconds first; also `@daily` and its like. */
  readonly cron: string
  readonly timezone: string
}

const expected = 'five fields (minute, hour, day, month, weekday), such as "0 3 * * *"'

export class DueTimes {
  readonly #cron: Cron
  readonly #zone: Zone

  /** @throws `HDL_BAD_OPTION` with the option `cron` or `timezone`. */
  constructor({ cron, timezone }: DueTimesInput) {
    this.#zone = new Zone(timezone)
    // The parser also accepts a single date, which is not a schedule.
    if (!/^\s*@|\s/.test(cron.trim())) throw refused(cron, expected)
    try {
      // The fields are read on the wall clock, as if it were UTC: the meaning of a clock change is decided here.
      this.#cron = new Cron(cron.trim(), { timezone: 'UTC', paused: true })
    } catch (error) {
      const problem = (error as Error).message.replace(/^CronPattern: /, '')
      throw refused(cron, `${expected}; ${problem}`)
    }
  }

  /** The first due time after an instant; undefined when there is none any more. */
  after(instant: number): number | undefined {
    const latest = this.#zone.latestWallTimeBy(instant)
    for (let wall = this.#next(latest); wall !== undefined; wall = this.#next(wall)) {
      const due = this.#zone.instantOf(wall)
      // If a jump skips several times, the first stands for all.
      if (due > instant) return due
    }
    return undefined
  }

  /** The next due times after an instant. */
  next(instant: number, count: number): number[] {
    const found: number[] = []
    for (let due = this.after(instant); due !== undefined; due = this.after(due)) {
      found.push(due)
      if (found.length === count) break
    }
    return found
  }

  #next(wall: number): number | undefined {
    return this.#cron.nextRun(new Date(wall))?.getTime()
  }
}

function refused(value: string, what: string): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', { option: 'cron', value, expected: what })
}
