import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import type { Grant } from '../../src/store/database.ts'
import { MemoryDatabase } from '../../src/store/memory/memory-database.ts'
import { Ownership } from '../../src/store/ownership.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

/** A server on a database whose releases can be left without an answer. */
function setUp() {
  const clock = new VirtualClock()
  const database = new MemoryDatabase(() => clock.now(), 4)
  const lost: Grant[] = []
  const wires = { isReleaseLost: false }
  const ownership = new Ownership({
    server: 'one',
    kernel: { clock, random: seededRandom(1) },
    shards: 4,
    database: {
      renew: (...given) => database.renew(...given),
      acquire: (...given) => database.acquire(...given),
      release: (...given) =>
        wires.isReleaseLost ? new Promise<never>(() => {}) : database.release(...given),
    },
    listener: {
      acquired: () => undefined,
      lost: (grant) => lost.push(grant),
      renewed: () => undefined,
      mayRelease: () => true,
    },
  })
  return { clock, database, ownership, lost, wires }
}

serviceConformance('ownership', () => {
  const { clock, ownership, wires } = setUp()
  const occupy = async (): Promise<void> => {
    await clock.advance(2_000)
    wires.isReleaseLost = true
  }
  return { service: ownership, occupy, held: () => clock.pending }
})

test('stop() hands all shards over: another server has them at once', async () => {
  const { clock, database, ownership, lost } = setUp()
  await ownership.start()
  await clock.advance(2_000)
  assert.deepEqual([ownership.stats().shards, ownership.trusts(0)], [4, true])
  await ownership.stop()
  assert.deepEqual([ownership.stats().shards, ownership.trusts(0), lost.length], [0, false, 4])
  await database.renew('two', 6_000)
  assert.equal((await database.acquire('two', 4)).length, 4)
})

test('started again, it owns shards again', async () => {
  const { clock, ownership } = setUp()
  await ownership.start()
  await clock.advance(2_000)
  await ownership.stop()
  await ownership.start()
  await clock.advance(2_000)
  assert.deepEqual([ownership.stats().shards, ownership.trusts(0)], [4, true])
  await ownership.stop()
})

for (const phase of [0, 300, 600, 900, 1_200, 1_500, 1_800]) {
  test(`C1: shards of a server that died are taken within its lease and one scan (phase ${phase} ms)`, async () => {
    const { clock, database, ownership } = setUp()
    await ownership.start()
    await clock.advance(2_000 + phase)
    await database.renew('two', 6_000)
    await clock.advance(2_100)
    assert.equal((await database.acquire('two', 2)).length, 2)
    // Its last renewal.
    await database.renew('two', 6_000)
    await clock.advance(5_990)
    assert.equal(ownership.stats().shards, 2)
    await clock.advance(1_110)
    assert.equal(ownership.stats().shards, 4)
    await ownership.stop()
  })
}
