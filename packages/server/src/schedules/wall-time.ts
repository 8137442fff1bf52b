/**
 * The wall clock of a time zone, with its jumps.
 *
 *    instant (UTC)   ──────────┬───────────▶        ──────────┬───────────▶
 *    wall clock      … 01:59 │ 03:00 …  (skipped)   … 02:59 │ 02:00 … 02:59  03:00 …  (doubled)
 *                            T                              T
 *
 *  Z1  Every wall time has one instant: the first one at which the wall clock shows it, or has passed it. A time that is
 *      skipped has the instant of the jump.
 *  Z2  Later wall times never have earlier instants.
 */
import { HeddleError } from '@heddle/core'

const day = 86_400_000

export class Zone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat | undefined

  /** @throws `HDL_BAD_OPTION` for a zone that this machine does not know. */
  constructor(name: string) {
    this.name = name
    // Most schedules are in UTC, where there is nothing to look up.
    if (name === 'UTC') return
    try {
      this.#format = new Intl.DateTimeFormat('en-US', {
        timeZone: name,
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      })
    } catch {
      const expected = 'a time zone such as Europe/Berlin'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'timezone', value: name, expected })
    }
  }

  /** The wall clock at an instant, as if it were UTC. */
  wallTimeAt(instant: number): number {
    return instant + this.#offsetAt(instant)
  }

  /** The latest wall time that the clock has shown by an instant: in a doubled hour that of its first pass. */
  latestWallTimeBy(instant: number): number {
    const wall = this.wallTimeAt(instant)
    const before = this.#offsetAt(instant - day)
    if (this.#offsetAt(instant) >= before) return wall
    const jump = this.#jumpBetween(instant - day, instant)
    return Math.max(wall, jump + before - 1)
  }

  /** Z1. */
  instantOf(wall: number): number {
    const [before, after] = [this.#offsetAt(wall - day), this.#offsetAt(wall + day)]
    if (before === after) return wall - before
    const jump = this.#jumpBetween(wall - day, wall + day)
    if (wall - before < jump) return wall - before
    return Math.max(wall - after, jump)
  }

  /** The first instant with another offset than `from` has. */
  #jumpBetween(from: number, to: number): number {
    const offset = this.#offsetAt(from)
    let [low, high] = [from, to]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#offsetAt(middle) === offset) low = middle
      else high = middle
    }
    return high
  }

  /** Milliseconds that the wall clock is ahead of UTC. */
  #offsetAt(instant: number): number {
    if (this.#format === undefined) return 0
    const parts: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(instant)) parts[type] = Number(value)
    const { year, month, day: date, hour, minute, second } = parts as Record<Part, number>
    const shown = Date.UTC(year, month - 1, date, hour, minute, second)
    return shown - Math.floor(instant / 1_000) * 1_000
  }
}

type Part = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'
