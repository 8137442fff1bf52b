/** S155: hours of work leave nothing behind. Counted in kept entries, not in the memory of the process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf, makeWorld, openLeases, TestServer } from './kit.ts'

const minute = 60_000

test('S155: after hours of claims, beats, reports and lost workers the fleet keeps as much as after the first one', async () => {
  const world = makeWorld(5)
  const { clock } = world
  const server = await new TestServer(world, { leasesPerAddress: 1_000 }).start()
  await server.create({ units: 1_000_000 })
  const { fleet } = server

  /** One hour of 20 workers: each gets a lease, beats, reports and hands back; one of them is lost. */
  const passHour = async (hour: number): Promise<void> => {
    for (let round = 0; round < 6; round++) {
      const leases = []
      for (let number = 0; number < 20; number++) {
        leases.push(await clock.runUntil(server.lease(`w${number}`)))
      }
      for (let beat = 0; beat < 5; beat++) {
        await clock.advance(2 * minute)
        for (const lease of leases.slice(1)) fleet.book.beat(callOf(lease), hour * 100 + beat)
        fleet.summary()
        fleet.summary('default')
      }
      for (const lease of leases.slice(1)) {
        const report = { sequence: 1, done: 1, result: [0, 0, 1] }
        await clock.runUntil(fleet.update(callOf(lease), report))
        await clock.runUntil(fleet.handBack(callOf(lease)))
      }
    }
    // The lost ones are swept.
    await clock.advance(10 * minute)
  }
  const keptNow = async (): Promise<object> => {
    const { workers, active, waiting, offered, held, jobs_waiting } = fleet.summary()
    const rows = (await clock.runUntil(openLeases(world))).length
    return { workers, active, waiting, offered, held, jobs_waiting, rows, timers: clock.pending }
  }
  await passHour(1)
  const first = await keptNow()
  for (let hour = 2; hour <= 4; hour++) {
    await passHour(hour)
    assert.deepEqual(await keptNow(), first, `after hour ${hour}`)
  }
  await server.stop()
})
