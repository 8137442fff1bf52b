import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DueTimes } from '../../src/schedules/due-times.ts'
import { Zone } from '../../src/schedules/wall-time.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

function due(cron: string, timezone: string, from: string, count: number): string[] {
  const times = new DueTimes({ cron, timezone }).next(Date.parse(from), count)
  return times.map((time) => new Date(time).toISOString())
}

test('Y1 a time that daylight saving skips is due once, when the clock jumps over it', () => {
  assert.deepEqual(due('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 3), [
    '2026-03-28T01:30:00.000Z',
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ])
  assert.deepEqual(due('*/15 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2), [
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:00:00.000Z',
  ])
})

test('Y1 a time that daylight saving doubles is due once, the first time', () => {
  assert.deepEqual(due('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2), [
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ])
  assert.deepEqual(due('0 * * * *', 'America/New_York', '2026-11-01T04:30:00Z', 3), [
    '2026-11-01T05:00:00.000Z',
    '2026-11-01T07:00:00.000Z',
    '2026-11-01T08:00:00.000Z',
  ])
})

test('in UTC nothing is skipped or doubled; seconds and names are understood', () => {
  assert.deepEqual(due('0 * * * *', 'UTC', '2026-10-25T00:30:00Z', 3), [
    '2026-10-25T01:00:00.000Z',
    '2026-10-25T02:00:00.000Z',
    '2026-10-25T03:00:00.000Z',
  ])
  assert.deepEqual(due('30 0 3 * * MON', 'UTC', '2026-11-16T03:00:30Z', 1), [
    '2026-11-23T03:00:30.000Z',
  ])
  assert.deepEqual(due('@daily', 'UTC', '2026-11-16T03:00:30Z', 1), ['2026-11-17T00:00:00.000Z'])
  assert.deepEqual(due('0 0 30 2 *', 'UTC', '2026-11-16T03:00:30Z', 1), [])
})

test('a day that a zone has left out is due once', () => {
  // Samoa had no 30th of December 2011.
  assert.deepEqual(due('0 12 30 12 *', 'Pacific/Apia', '2011-12-01T00:00:00Z', 1), [
    '2011-12-30T10:00:00.000Z',
  ])
})

test('a text that is not a schedule is refused with the fault', () => {
  const refused = (cron: string, timezone: string, option: string, text: RegExp): void => {
    assert.throws(
      () => new DueTimes({ cron, timezone }),
      (error: { code: string; message: string; details: { option: string } }) =>
        error.code === 'HDL_BAD_OPTION' &&
        error.details.option === option &&
        text.test(error.message),
    )
  }
  refused('61 * * * *', 'UTC', 'cron', /minute/)
  refused('nightly', 'UTC', 'cron', /five fields/)
  refused('', 'UTC', 'cron', /five fields/)
  refused('2027-01-01T00:00:00', 'UTC', 'cron', /five fields/)
  refused('0 3 * * *', 'Europe/Berlim', 'timezone', /time zone/)
})

/** Due instants by looking at the wall clock of every minute: the first at which a wall time is shown or passed. */
function lookedUp(
  zone: Intl.DateTimeFormat,
  from: number,
  to: number,
  isDue: (wall: Date) => boolean,
): number[] {
  const shown = (instant: number): number => {
    const parts = new Map(zone.formatToParts(instant).map(({ type, value }) => [type, value]))
    const get = (type: string): number => Number(parts.get(type as 'year'))
    return Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'))
  }
  const found: number[] = []
  let latest = shown(from)
  for (let instant = from + minute; instant <= to; instant += minute) {
    const wall = shown(instant)
    let isAny = false
    for (let each = latest + minute; each <= wall; each += minute) isAny ||= isDue(new Date(each))
    latest = Math.max(latest, wall)
    if (isAny) found.push(instant)
  }
  return found
}

const zones = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'UTC',
]

test('Y1 property: due times equal those of a walk over every minute', () => {
  const list = (most: number): fc.Arbitrary<number[]> =>
    fc.uniqueArray(fc.integer({ min: 0, max: most }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      // Around the changes of 2026, and on other days.
      fc.constantFrom(
        '2026-03-29',
        '2026-10-25',
        '2026-03-08',
        '2026-11-01',
        '2026-04-05',
        '2026-02-15',
      ),
      fc.integer({ min: 0, max: 24 * 60 }),
      list(59),
      fc.option(list(23), { nil: undefined }),
      (zone, date, start, minutes, hours) => {
        const from = Date.parse(`${date}T00:00:00Z`) - 12 * hour + start * minute
        const to = from + day
        const format = new Intl.DateTimeFormat('en-US', {
          timeZone: zone,
          hourCycle: 'h23',
          year: 'numeric',
          month: 'numeric',
          day: 'numeric',
          hour: 'numeric',
          minute: 'numeric',
        })
        // The walk knows the latest wall time only of what it has seen: it begins a day earlier.
        const wanted = lookedUp(format, from - day, to, (wall) => {
          const isHour = hours === undefined || hours.includes(wall.getUTCHours())
          return isHour && minutes.includes(wall.getUTCMinutes())
        }).filter((each) => each > from)
        const times = new DueTimes({
          cron: `${minutes.join()} ${hours?.join() ?? '*'} * * *`,
          timezone: zone,
        })
        const found: number[] = []
        for (let at = times.after(from); at! <= to; at = times.after(at!)) found.push(at!)
        assert.deepEqual(found, wanted)
      },
    ),
    { numRuns: 40 },
  )
})

test('Z2 property: later wall times never have earlier instants', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2027, 0) }),
      fc.integer({ min: 0, max: 3 * hour }),
      (name, wall, later) => {
        const zone = new Zone(name)
        assert.ok(zone.instantOf(wall) <= zone.instantOf(wall + later))
        const instant = zone.instantOf(wall)
        assert.ok(zone.latestWallTimeBy(instant) >= wall)
      },
    ),
  )
})
