import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import type { Grant } from '../../src/store/database.ts'
import { MemoryDatabase } from '../../src/store/memory/memory-database.ts'
import { shardCount } from '../../src/store/shard-of.ts'
import { Shards } from '../../src/store/shards.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'

function setUp() {
  const clock = new VirtualClock()
  const database = new MemoryDatabase(() => clock.now(), shardCount)
  const shards = new Shards({ server: 'one', database, kernel: { clock, random: seededRandom(1) } })
  const heard: string[] = []
  const note =
    (word: string) =>
    ({ shard }: Grant): void => {
      if (shard === 0) heard.push(word)
    }
  shards.add({
    acquired: note('acquired'),
    lost: note('lost'),
    resume: () => undefined,
    isIdle: () => true,
  })
  return { clock, database, shards, heard }
}

serviceConformance('shards of a server', () => {
  const { clock, shards } = setUp()
  return { service: shards, occupy: () => clock.advance(2_000), held: () => clock.pending }
})

test('S1, S3: started again, a server owns its shards again and writes to them; in between it does not', async () => {
  const { clock, shards, heard } = setUp()
  const row = { kind: 'job-started', handle: 'job' } as const
  await shards.start()
  await clock.advance(2_000)
  assert.equal(shards.ownsAll, true)
  const before = shards.grantOf('job')
  assert.equal(await shards.write(before, [row]), undefined)
  await shards.stop()
  await assert.rejects(shards.write(before, [row]), { code: 'HDL_CLOSED' })
  assert.throws(() => shards.grantOf('job'), { code: 'HDL_NOT_OWNER' })
  await shards.start()
  await clock.advance(2_000)
  assert.equal(shards.stats().ownership.shards, shardCount)
  const now = shards.grantOf('job')
  assert.equal(now.epoch, before.epoch + 1)
  assert.equal(await shards.write(now, [row]), undefined)
  const late = await Promise.allSettled([shards.write(before, [row])])
  assert.ok(late[0].status === 'rejected' && isError(late[0].reason, 'HDL_OWNERSHIP_LOST'))
  await shards.stop()
  assert.deepEqual(heard, ['acquired', 'lost', 'acquired', 'lost'])
  assert.equal(clock.pending, 0)
})
