import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { Wakes } from '../../../src/store/postgres/wakes.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

/** Announces until the listener has heard it: each wake may be lost (W1). */
async function announceUntil(
  wakes: Wakes,
  shards: readonly number[],
  heard: Promise<unknown>,
): Promise<void> {
  let isHeard = false
  void heard.then(() => (isHeard = true))
  while (!isHeard) {
    for (const shard of shards) wakes.announce(shard)
    await new Promise<void>((resolve) => void systemClock.setTimer(25, resolve))
  }
}

test('W1, W2: shards that were announced reach a listener in another process, also after a lost connection', async () => {
  const address = readAddress(postgres.address)
  const [listener, sender] = [new Wakes(address, systemClock), new Wakes(address, systemClock)]
  const waiting = new Map<number, () => void>()
  const heard = (shard: number): Promise<void> => {
    return new Promise<void>((resolve) => waiting.set(shard, resolve))
  }
  listener.listen((shards) => {
    for (const shard of shards) waiting.get(shard)?.()
  })
  await announceUntil(sender, [7], heard(7))
  await announceUntil(sender, [0, 255], Promise.all([heard(0), heard(255)]))

  const admin = new Link({ address, clock: systemClock })
  await admin.call(
    'end connections',
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'heddle wakes'",
  )
  await announceUntil(sender, [9], heard(9))
  await Promise.all([listener.stop(), sender.stop(), admin.close()])
  sender.announce(1)
  assert.ok(true)
})
