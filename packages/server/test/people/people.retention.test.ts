import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom, openStore, type Tables } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { People } from '../../src/people/people.ts'
import { actions, peopleTables } from '../../src/people/people-tables.ts'

const day = 86_400_000

function replaced(tables: Tables, { removeBelow }: Pick<Tables, 'removeBelow'>): Tables {
  const [change, list] = [tables.change.bind(tables), tables.list.bind(tables)]
  return Object.assign(Object.create(tables) as Tables, { change, list, removeBelow })
}

async function setUp(change: (tables: Tables) => Tables = (tables) => tables, actionAge?: number) {
  const opened = await openStore('memory', { tables: peopleTables })
  const clock = new VirtualClock()
  const people = new People(
    change(opened.tables),
    { clock, random: seededRandom(1) },
    { actionAge },
  )
  const note = (target: string): Promise<void> =>
    people.audit({ by: 'ann', action: 'run started', target, address: '127.0.0.1' })
  const targets = async (): Promise<readonly string[]> =>
    (await people.searchActions({ limit: 1_000 })).map(({ target }) => target)
  return {
    clock,
    note,
    targets,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

test('U6: lines of the log stay for 400 days, and are removed afterwards', async () => {
  await using log = await setUp()
  await log.note('old')
  await log.clock.advance(day)
  await log.note('younger')
  await log.clock.advance(399 * day)
  await log.note('at 400 days')
  assert.deepEqual((await log.targets()).toSorted(), ['at 400 days', 'old', 'younger'])
  await log.clock.advance(600_000)
  await log.note('later')
  assert.deepEqual((await log.targets()).toSorted(), ['at 400 days', 'later', 'younger'])
})

test('U6: how long lines stay is an option, and Infinity keeps them', async () => {
  for (const [age, left] of [
    [7 * day, ['new']],
    [Infinity, ['new', 'old']],
  ] as const) {
    await using log = await setUp(undefined, age)
    await log.note('old')
    await log.clock.advance(8 * day)
    await log.note('new')
    assert.deepEqual((await log.targets()).toSorted(), left)
  }
})

test('U6: many old lines are removed in slices, faster than new ones are written', async () => {
  const removed: number[] = []
  await using log = await setUp((tables) =>
    replaced(tables, {
      async removeBelow(table, ...rest) {
        const count = await tables.removeBelow(table, ...rest)
        if ((table as { name: string }).name === actions.name) removed.push(count)
        return count
      },
    }),
  )
  for (let n = 0; n < 2_100; n++) await log.note(`old ${n}`)
  await log.clock.advance(401 * day)
  for (let n = 0; n < 5; n++) await log.note('new')
  assert.deepEqual(removed, [0, 1_000, 1_000, 100])
  assert.deepEqual(
    await log.targets(),
    Array.from({ length: 5 }, () => 'new'),
  )
})

test('U6: a store that cannot remove old lines does not fail the write', async () => {
  await using log = await setUp((tables) =>
    replaced(tables, { removeBelow: () => Promise.reject(new Error('it is busy')) }),
  )
  await log.note('one')
  assert.deepEqual(await log.targets(), ['one'])
})
