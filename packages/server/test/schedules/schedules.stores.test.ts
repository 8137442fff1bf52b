/** The rules of schedules that a store has to keep, on every kind of store. */
import assert from 'node:assert/strict'
import { HeddleError } from '@heddle/core'
import type { Tables } from '@heddle/core/lowlevel'
import { roleConformance, type RoleCase } from '@heddle/core/testing'
import { testStores } from '@heddle/test-servers'
import { Schedules } from '../../src/schedules/schedules.ts'
import { firings, scheduleTables, states } from '../../src/schedules/schedule-tables.ts'
import { definition, FakeRunner } from './kit.ts'

const minute = 60_000
const { signal } = new AbortController()
const minutely = definition({
  name: 'minutely',
  cron: '* * * * *',
  overlap: 'queue',
  missed: 'all',
})

type StoreOfCase = Parameters<RoleCase['run']>[0]

/** Servers with the same schedule, each with its own connection to the store. Runs end at once. */
async function serve(store: StoreOfCase, servers: number) {
  const runner = new FakeRunner(() => 0, 0)
  const open = async (): Promise<{ tables: Tables; schedules: Schedules }> => {
    const { tables } = await store.connect()
    const schedules = new Schedules({ tables, runner, exported: [minutely], log: () => undefined })
    await schedules.start()
    return { tables, schedules }
  }
  const opened = await Promise.all(Array.from({ length: servers }, open))
  const { tables } = opened[0]!
  /** The first due time after the start: the store has a clock of its own. */
  const first = Math.floor((await tables.now()) / minute + 1) * minute
  const due = (from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, index) =>
      new Date(first + (from + index) * minute).toISOString(),
    )
  const decided = async (): Promise<[string, string][]> => {
    const found = await tables.list(firings, { by: 'dueAt' })
    return found.map(({ dueAt, state }) => [new Date(dueAt).toISOString(), state])
  }
  return { runner, tables, first, due, decided, servers: opened.map(({ schedules }) => schedules) }
}

/** Looks until nothing is open: each look starts what may start now. */
async function settle(schedules: Schedules, at: number): Promise<void> {
  do await schedules.look(at, signal)
  while (schedules.stats().open > 0)
}

const cases: readonly RoleCase[] = [
  {
    title: 'D1: servers that decide at the same time make one firing and one run of each due time',
    async run(store) {
      const { runner, first, due, decided, servers } = await serve(store, 3)
      for (const passed of [0, 1, 4]) {
        const at = first + passed * minute
        await Promise.all(servers.map((schedules) => schedules.look(at, signal)))
      }
      for (const schedules of servers) await settle(schedules, first + 4 * minute)
      assert.deepEqual(runner.dueTimes(), due(0, 5))
      assert.deepEqual(
        await decided(),
        due(0, 5).map((time) => [time, 'started']),
      )
    },
  },
  {
    title: 'D2: a firing that a server left as it died is started by another one, once',
    async run(store) {
      for (const when of ['before', 'after'] as const) {
        const { runner, first, decided, servers } = await serve(store, 2)
        const known = await decided()
        let deaths = 1
        runner.fault = (at) => {
          if (at === when && deaths-- > 0) throw new HeddleError('HDL_DRAINING', { what: 'It' })
        }
        await servers[0]!.look(first + known.length * minute, signal)
        assert.deepEqual((await decided()).at(-1)?.[1], 'starting', when)
        // The second server reads what the first one has left.
        await settle(servers[1]!, first + known.length * minute)
        assert.deepEqual((await decided()).at(-1)?.[1], 'started', when)
        assert.equal(runner.runs.length, 1, when)
      }
    },
  },
  {
    title: 'D3: a clock that was set back decides nothing again',
    async run(store) {
      const { runner, tables, first, due, servers } = await serve(store, 1)
      const [schedules] = servers
      await settle(schedules!, first + minute)
      await schedules!.look(first, signal)
      await settle(schedules!, first + 2 * minute)
      assert.deepEqual(runner.dueTimes(), due(0, 3))
      const [state] = await tables.byIds(states, [minutely.id])
      assert.equal(state?.cursor, first + 2 * minute)
    },
  },
]

roleConformance('schedules', scheduleTables, cases, testStores())
