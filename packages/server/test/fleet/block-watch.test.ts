import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore, seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { BlockWatch } from '../../src/fleet/block-watch.ts'
import { People } from '../../src/people/people.ts'
import { peopleTables } from '../../src/people/people-tables.ts'

/** Records the queries and the blocks of the watch. */
async function setUp() {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const opened = await openStore('memory', { tables: peopleTables })
  const people = new People(opened.tables, kernel, {})
  await people.addUser({ name: 'root', role: 'admin' })
  await people.addUser({ name: 'ann', role: 'operator' })
  const blocked: string[][] = []
  const state = { hasWorkers: true, restored: undefined as number | undefined, isAway: false }
  const watch = new BlockWatch({
    kernel,
    fleet: {
      get hasWorkers() {
        return state.hasWorkers
      },
      takeRestored: () => {
        const { restored } = state
        state.restored = undefined
        return restored
      },
      block: (refused) => void blocked.push([...refused].toSorted()),
    },
    people: {
      refusedSince: async (at) => {
        if (state.isAway) throw new Error('away')
        return people.refusedSince(at)
      },
    },
  })
  await watch.start()
  const change = async (name: string, to: Parameters<People['changeUser']>[1]): Promise<void> => {
    await people.changeUser(name, to)
    const action = to.state === 'blocked' ? 'user blocked' : 'user changed'
    await people.audit({ by: 'root', address: '127.0.0.1', action, target: name })
  }
  return {
    clock,
    state,
    blocked,
    people,
    change,
    [Symbol.asyncDispose]: async () => {
      await watch.stop()
      await opened[Symbol.asyncDispose]()
    },
  }
}

test('B1: a block is found within two seconds, also when another action was logged in the same moment', async () => {
  await using watched = await setUp()
  await watched.change('ann', { state: 'blocked' })
  // The line after the block is not an unblock.
  await watched.change('ann', { role: 'viewer' })
  await watched.clock.advance(2_000)
  assert.deepEqual(watched.blocked[0], ['user ann'])
})

test('B1: a user who was unblocked before the check keeps its leases', async () => {
  await using watched = await setUp()
  await watched.change('ann', { state: 'blocked' })
  await watched.change('ann', { state: 'active' })
  await watched.clock.advance(2_000)
  assert.deepEqual(watched.blocked, [])
})

test('B2: a block while the store did not answer is found when it answers again', async () => {
  await using watched = await setUp()
  watched.state.isAway = true
  await watched.clock.advance(2_000)
  await watched.change('ann', { state: 'blocked' })
  await watched.clock.advance(60_000)
  assert.deepEqual(watched.blocked, [])
  watched.state.isAway = false
  await watched.clock.advance(2_000)
  assert.deepEqual(watched.blocked[0], ['user ann'])
})

test('B2: a block from before leases were read from the store ends them', async () => {
  await using watched = await setUp()
  const grantedAt = watched.clock.wallTime()
  await watched.clock.advance(5_000)
  // No worker of hers is here: another server has them.
  await watched.change('ann', { state: 'blocked' })
  await watched.clock.advance(600_000)
  watched.blocked.length = 0
  watched.state.restored = grantedAt
  await watched.clock.advance(2_000)
  assert.deepEqual(watched.blocked[0], ['user ann'])
})

test('more blocks and revocations than fit a page are all found', async () => {
  await using watched = await setUp()
  const { people, clock } = watched
  const since = clock.wallTime()
  for (let number = 0; number < 1_100; number++) {
    const target = `ci-${number}`
    await people.audit({ by: 'root', address: '127.0.0.1', action: 'token revoked', target })
    if (number % 100 === 0) await clock.advance(1)
  }
  assert.equal((await people.refusedSince(since)).size, 1_100)
})
