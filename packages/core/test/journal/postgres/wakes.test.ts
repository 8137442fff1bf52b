import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { Wakes } from '../../../src/journal/postgres/wakes.ts'
import { VirtualClock } from '../../../src/kernel/virtual-clock.ts'
import { until } from '../../kernel/until.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

/** Announces until the listener has been notified: each wake may be lost (W1). */
async function announceUntil(
  wakes: Wakes,
  runs: readonly number[],
  heard: Promise<unknown>,
): Promise<void> {
  let isHeard = false
  void heard.then(() => (isHeard = true))
  await until(() => {
    if (!isHeard) for (const run of runs) wakes.announce(run)
    return isHeard
  })
}

test('W1: runs that were announced reach a listener in another process, also after a lost connection', async () => {
  const address = readAddress(postgres.address)
  const [listener, sender] = [new Wakes(address, systemClock), new Wakes(address, systemClock)]
  const waiting = new Map<number, () => void>()
  const heard = (run: number): Promise<void> => {
    return new Promise<void>((resolve) => waiting.set(run, resolve))
  }
  // A process may announce before it listens.
  listener.announce(3)
  listener.listen((runs) => {
    for (const run of runs) waiting.get(run)?.()
  })
  await announceUntil(sender, [7], heard(7))
  const largest = Number.MAX_SAFE_INTEGER
  await announceUntil(sender, [0, largest], Promise.all([heard(0), heard(largest)]))

  const admin = new Link({ address, clock: systemClock })
  await admin.call(
    'end connections',
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'heddle wakes'",
  )
  await announceUntil(sender, [9], heard(9))
  await Promise.all([listener.stop(), sender.stop(), admin.close()])
})

test('W2, W3: runs announced within 20 ms are one statement; what is left at the end is sent', async () => {
  const address = readAddress(postgres.address)
  const batches: (readonly number[])[] = []
  const listener = new Wakes(address, systemClock)
  const clock = new VirtualClock()
  const sender = new Wakes(address, clock)
  listener.listen((runs) => batches.push(runs))
  // Listening: the first wakes may be lost.
  await announceUntil(
    listener,
    [1],
    until(() => batches.length > 0),
  )
  batches.length = 0
  sender.announce(100)
  for (let run = 101; run <= 1_000; run++) sender.announce(run)
  await until(() => batches.flat().includes(100))
  // The clock of the sender stands still: its pause is not over.
  await announceUntil(
    listener,
    [1],
    until(() => batches.flat().includes(1)),
  )
  const early = batches.filter((runs) => !runs.includes(1))
  assert.deepEqual(early, [[100]])
  await sender.stop()
  await until(() => batches.flat().includes(1_000))
  const late = batches.filter((runs) => !runs.includes(1)).slice(1)
  assert.deepEqual(
    late.flat(),
    Array.from({ length: 900 }, (_, index) => 101 + index),
  )
  assert.equal(late.length, 3, '400 runs in each notification of one statement')
  sender.announce(2_000)
  await listener.stop()
})
