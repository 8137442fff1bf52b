import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { HeddleError } from '@heddle/core'
import { write, type Tables } from '@heddle/core/lowlevel'
import type { Definition } from '../../src/schedules/schedule-definition.ts'
import type { MakeInput } from '../../src/schedules/schedules.ts'
import { firings, states } from '../../src/schedules/schedule-tables.ts'
import { definition, Kit } from './kit.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

async function open(t: TestContext, at: string, takes?: number): Promise<Kit> {
  const kit = await Kit.open(at, takes)
  t.after(() => kit.close())
  return kit
}

async function statesOf(kit: Kit): Promise<string[]> {
  const found = await kit.tables.list(firings, { by: 'dueAt' })
  return found.map(({ state }) => state)
}

test('a graph is run at its due times, with the name of the schedule and its due time', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z', minute)
  await kit.serve([definition()])
  await kit.clock.advance(2 * day)
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T03:00:00.000Z', '2026-01-02T03:00:00.000Z'])
  assert.deepEqual(
    kit.runner.runs.map(({ startedAt }) => startedAt),
    [3 * hour, 27 * hour],
  )
  const { request } = kit.runner.runs[0]!
  assert.deepEqual(request.args, { schedule: 'nightly', dueAt: '2026-01-01T03:00:00.000Z' })
  assert.equal(request.labels?.['schedule'], 'exported:nightly')
})

test('D1 two servers fire each due time once', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z', second)
  await kit.serve([definition({ cron: '*/10 * * * *' })])
  await kit.serve([definition({ cron: '*/10 * * * *' })])
  await kit.clock.advance(hour)
  assert.equal(kit.runner.runs.length, 6)
  assert.equal(new Set(kit.runner.dueTimes()).size, 6)
})

test('D2 a firing that a server left as it died is started by another, once', async (t) => {
  for (const when of ['before', 'after'] as const) {
    const kit = await open(t, '2026-01-01T02:59:00Z')
    let deaths = 1
    kit.runner.fault = (at) => {
      if (at === when && deaths-- > 0) throw new HeddleError('HDL_DRAINING', { what: 'It' })
    }
    const first = await kit.serve([definition()])
    await kit.clock.advance(minute)
    await first.stop()
    assert.equal(kit.runner.runs.length, when === 'before' ? 0 : 1)
    await kit.serve([definition()])
    await kit.clock.advance(2 * second)
    assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T03:00:00.000Z'])
    assert.deepEqual(await statesOf(kit), ['started'])
  }
})

test('D3 a clock that is set back decides nothing again', async () => {
  const kit = await Kit.open('2026-01-01T00:00:00Z', 0)
  const schedules = kit.schedules([definition({ cron: '*/10 * * * *' })])
  await schedules.start()
  const { signal } = new AbortController()
  const at = (text: string): Promise<number | undefined> => schedules.look(Date.parse(text), signal)
  await at('2026-01-01T00:10:00Z')
  await at('2026-01-01T00:05:00Z')
  await at('2026-01-01T00:10:00Z')
  await at('2026-01-01T00:19:59Z')
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T00:10:00.000Z'])
  // Its record was lost and made again: the firing is still there.
  const [state] = await kit.tables.byIds(states, ['exported:nightly'])
  const { revision, ...record } = state!
  const cursor = Date.parse('2026-01-01T00:05:00Z')
  await kit.tables.change([write(states, { ...record, cursor }, revision)])
  await at('2026-01-01T00:11:00Z')
  await at('2026-01-01T00:20:00Z')
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T00:10:00.000Z', '2026-01-01T00:20:00.000Z'])
})

const minutely = { cron: '* * * * *' }

test('D4 skip: a due time is left out while the run before has not ended', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z', 2 * minute + 30 * second)
  await kit.serve([definition(minutely)])
  await kit.clock.advance(6 * minute)
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T00:01:00.000Z', '2026-01-01T00:04:00.000Z'])
  assert.deepEqual(await statesOf(kit), [
    'started',
    'skipped',
    'skipped',
    'started',
    'skipped',
    'skipped',
  ])
})

test('D4 queue: firings wait for the run before, and start in order', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z', 90 * second)
  await kit.serve([definition({ ...minutely, overlap: 'queue' })])
  await kit.clock.advance(3 * minute)
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T00:01:00.000Z', '2026-01-01T00:02:00.000Z'])
  assert.equal(kit.runner.runs[1]!.startedAt, minute + 90 * second)
  assert.deepEqual(await statesOf(kit), ['started', 'started', 'pending'])
})

test('D4 cancel: the run before is cancelled, and the newest due time follows it', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z')
  await kit.serve([definition({ ...minutely, overlap: 'cancel' })])
  await kit.clock.advance(3 * minute)
  assert.equal(kit.runner.runs.length, 1)
  assert.equal(kit.runner.runs[0]!.cancelledBy, 'schedule exported:nightly')
  kit.runner.runs[0]!.isActive = false
  await kit.clock.advance(2 * second)
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T00:01:00.000Z', '2026-01-01T00:03:00.000Z'])
  assert.deepEqual(await statesOf(kit), ['started', 'skipped', 'started'])
})

/** A server runs, is away for five hours, and comes back. */
async function comeBack(t: TestContext, given: Partial<Definition>, takes: number): Promise<Kit> {
  const kit = await open(t, '2026-01-01T00:00:00Z', takes)
  const hourly = definition({ cron: '0 * * * *', ...given })
  const first = await kit.serve([hourly])
  await kit.clock.advance(hour)
  await first.stop()
  await kit.clock.advance(5 * hour + 30 * minute)
  await kit.serve([hourly])
  await kit.clock.advance(10 * minute)
  return kit
}

test('D5 once: one run makes up for all missed due times', async (t) => {
  const kit = await comeBack(t, {}, minute)
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T01:00:00.000Z', '2026-01-01T06:00:00.000Z'])
  const [, last] = await kit.tables.list(firings, { by: 'dueAt' })
  assert.equal(last!.isLate, true)
})

test('D5 all: a run for each missed due time, one after the other', async (t) => {
  const kit = await comeBack(t, { missed: 'all' }, minute)
  assert.deepEqual(
    kit.runner.dueTimes().map((each) => each.slice(11, 13)),
    ['01', '02', '03', '04', '05', '06'],
  )
  const began = kit.runner.runs.slice(1).map(({ startedAt }) => startedAt)
  for (const [index, at] of began.entries()) {
    if (index > 0) assert.ok(at - began[index - 1]! >= minute, 'never two at a time')
  }
})

test('D5 skip: missed due times are left out, and the log says so', async (t) => {
  const kit = await comeBack(t, { missed: 'skip' }, minute)
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T01:00:00.000Z'])
  assert.match(kit.lines.join('\n'), /"nightly".*missed, and are skipped/)
  await kit.clock.advance(hour)
  assert.equal(kit.runner.runs.length, 2)
})

test('D6 after a long time away a schedule of every second has at most 1,000 open firings', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z')
  const every = definition({ cron: '* * * * * *', missed: 'all', overlap: 'queue' })
  await kit.schedules([every]).start()
  await kit.clock.advance(hour)
  await kit.serve([every])
  for (let turn = 0; turn < 40; turn++) await kit.clock.settle()
  await kit.clock.advance(second)
  const openNow = await kit.tables.list(firings, { where: { isOpen: true }, limit: 1_000 })
  assert.ok(openNow.length >= 500 && openNow.length <= 1_000, String(openNow.length))
  assert.equal(kit.runner.runs.length, 1)
  // Nothing was left out: firings are those of the first due times.
  const first = await kit.tables.list(firings, { by: 'dueAt', limit: 3 })
  assert.deepEqual(
    first.map(({ dueAt }) => dueAt - Date.parse('2026-01-01T00:00:00Z')),
    [1_000, 2_000, 3_000],
  )
})

test('D7 a paused, new or changed schedule has no due times in the past', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z', second)
  const hourly = definition({ cron: '0 * * * *', missed: 'all' })
  const first = await kit.serve([hourly])
  const other = kit.schedules([hourly])
  await other.setPaused(hourly.id, true)
  assert.deepEqual((await other.show(hourly.id)).next, [])
  await kit.clock.advance(3 * hour + minute)
  await other.setPaused(hourly.id, false)
  await kit.clock.advance(hour)
  assert.deepEqual(kit.runner.dueTimes(), ['2026-01-01T04:00:00.000Z'])
  await first.stop()
  await kit.clock.advance(day)
  await kit.serve([definition({ cron: '30 * * * *', missed: 'all' })])
  await kit.clock.advance(hour)
  assert.deepEqual(kit.runner.dueTimes().slice(1), ['2026-01-02T04:30:00.000Z'])
})

test('schedules made over HTTP and exported ones may have the same name', async (t) => {
  const kit = await open(t, '2026-01-01T00:00:00Z', second)
  const schedules = kit.schedules([definition()])
  await schedules.start()
  const made: MakeInput = {
    name: 'nightly',
    cron: '0 4 * * *',
    timezone: 'UTC',
    overlap: 'skip',
    missed: 'once',
    graph: 'g',
    isPaused: false,
    by: 'ada',
  }
  const view = await schedules.make(made)
  assert.equal(view.id, 'made:nightly')
  assert.equal(view.next[0], Date.parse('2026-01-01T04:00:00Z'))
  assert.deepEqual(
    (await schedules.list()).map(({ id }) => id),
    ['exported:nightly', 'made:nightly'],
  )
  const code = (wanted: string) => (error: { code: string }) => error.code === wanted
  await assert.rejects(schedules.make(made), code('HDL_NAME_TAKEN'))
  await assert.rejects(
    schedules.make({ ...made, name: 'never', cron: '0 0 30 2 *' }),
    code('HDL_BAD_INPUT'),
  )
  await assert.rejects(schedules.remove('exported:nightly'), code('HDL_SCHEDULE_EXPORTED'))
  await assert.rejects(schedules.show('made:nightli'), code('HDL_UNKNOWN_SCHEDULE'))
  await kit.serve([definition()])
  await kit.clock.advance(5 * hour)
  assert.deepEqual(
    kit.runner.runs.map(({ key }) => key),
    [
      'schedule:exported:nightly@2026-01-01T03:00:00.000Z',
      'schedule:made:nightly@2026-01-01T04:00:00.000Z',
    ],
  )
  await schedules.remove('made:nightly')
  await kit.clock.advance(day)
  assert.equal(kit.runner.runs.length, 3)
})

test('a graph that is gone fails its firing after a minute, and a busy server tries again', async (t) => {
  const kit = await open(t, '2026-01-01T02:59:00Z', second)
  kit.runner.refusal = new HeddleError('HDL_OVERLOADED', { what: 'It', retryAfter: 1 })
  await kit.serve([definition()])
  await kit.clock.advance(2 * minute)
  assert.deepEqual(await statesOf(kit), ['starting'])
  kit.runner.refusal = undefined
  await kit.clock.advance(2 * second)
  assert.deepEqual(await statesOf(kit), ['started'])
  kit.runner.refusal = new HeddleError('HDL_UNKNOWN_GRAPH', { graph: 'g' })
  await kit.clock.advance(day)
  assert.deepEqual(await statesOf(kit), ['started', 'failed'])
  assert.match(kit.lines.join('\n'), /due at 2026-01-02T03:00:00.000Z failed/)
})

/** Calls that fail before or after they were carried out, as with a server that dies or an answer that is lost. */
function faulty(tables: Tables, fail: () => 'before' | 'after' | undefined): Tables {
  const change: Tables['change'] = async (changes) => {
    const fault = fail()
    if (fault === 'before') throw new Error('lost before')
    const answer = await tables.change(changes)
    if (fault === 'after') throw new Error('lost after')
    return answer
  }
  return new Proxy(tables, {
    get: (target, name) =>
      name === 'change' ? change : (target[name as keyof Tables] as () => unknown).bind(target),
  })
}

test('D1, D2 property: with servers that die anywhere each due time has one run', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          server: fc.nat({ max: 2 }),
          /** Milliseconds since the check before. */
          pause: fc.integer({ min: 0, max: 90 * second }),
          /** What fails in this look: which of its writes or starts, and on which side. */
          fault: fc.option(
            fc.record({ at: fc.nat({ max: 6 }), side: fc.constantFrom('before', 'after') }),
            { nil: undefined },
          ),
        }),
        { minLength: 5, maxLength: 40 },
      ),
      fc.constantFrom('queue', 'skip', 'cancel'),
      async (looks, overlap) => {
        const kit = await Kit.open('2026-01-01T00:00:00Z', 20 * second)
        let step = 0
        let fault: { at: number; side: 'before' | 'after' } | undefined
        const fail = (): 'before' | 'after' | undefined =>
          step++ === fault?.at ? fault.side : undefined
        kit.runner.fault = (when) => {
          if (when === 'before' ? fault?.side === when && step === fault.at : false) {
            throw new HeddleError('HDL_DRAINING', { what: 'It' })
          }
        }
        const each = definition({ ...minutely, missed: 'all', overlap })
        const tables = faulty(kit.tables, fail)
        const servers = [0, 1, 2].map(() => kit.schedules([each], tables))
        await servers[0]!.start()
        const { signal } = new AbortController()
        for (const { server, pause, fault: planned } of looks) {
          await kit.clock.advance(pause)
          step = 0
          fault = planned
          await servers[server]!.look(await kit.tables.now(), signal).catch(() => undefined)
        }
        fault = undefined
        // Living servers finish open firings.
        const end = await kit.tables.now()
        do {
          await servers[0]!.look(end, signal)
          await kit.clock.advance(20 * second)
        } while (servers[0]!.stats().open > 0)
        const found = await kit.tables.list(firings, { by: 'dueAt', limit: 1_000 })
        assert.ok(
          found.every(({ isOpen }) => !isOpen),
          'nothing is left open',
        )
        const keys = kit.runner.dueTimes()
        assert.equal(new Set(keys).size, keys.length, 'no due time has two runs')
        assert.deepEqual(keys, keys.toSorted(), 'in order')
        const decided = found.map(({ dueAt }) => (dueAt - Date.UTC(2026, 0)) / minute)
        assert.deepEqual(
          decided,
          Array.from(decided, (_, index) => index + 1),
          'every minute was decided once',
        )
        const started = found.filter(({ state }) => state === 'started')
        assert.deepEqual(
          keys,
          started.map(({ dueAt }) => new Date(dueAt).toISOString()),
        )
      },
    ),
    { numRuns: 30 },
  )
})
