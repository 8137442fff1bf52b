/** What the fleet says about its workers: counts change when a lease comes or ends, never by walking workers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import type { Lease } from '../../src/fleet/lease.ts'
import { callOf, makeWorld, TestServer } from './kit.ts'

test('the summary reads no worker, however many there are', async () => {
  const server = await new TestServer(makeWorld()).start()
  await server.create({ units: 1_000_000 })
  for (let number = 0; number < 50; number++) await server.lease(`w${number}`)
  let looks = 0
  for (const worker of server.fleet.workers()) {
    const { leases } = worker
    Object.defineProperty(worker, 'leases', { get: () => (looks++, leases) })
  }
  const { workers, active } = server.fleet.summary()
  assert.deepEqual([workers, active, looks], [50, 50, 0])
  await server.stop()
})

test('property: the number of active workers is that of workers with leases, after any calls', async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const random = seededRandom(seed)
    const world = makeWorld(seed)
    const server = await new TestServer(world).start()
    await server.create({ units: 1_000_000 })
    const held: Lease[] = []
    for (let step = 0; step < 60; step++) {
      const worker = `w${Math.floor(random.next() * 8)}`
      const dice = random.next()
      if (dice < 0.5) held.push(await server.lease(worker))
      else if (dice < 0.7 && held.length > 0) {
        const [lease] = held.splice(Math.floor(random.next() * held.length), 1)
        await server.fleet.handBack(callOf(lease!))
      } else if (dice < 0.8) await server.fleet.leave(worker, 'ann')
      else if (dice < 0.9) await server.claim(worker)
      else await world.clock.advance(15_000)
      let active = 0
      let leases = 0
      for (const each of server.fleet.workers()) {
        if (each.leases.size > 0) active++
        leases += each.leases.size
      }
      const { active: counted, offered, held: open } = server.fleet.summary()
      assert.deepEqual([counted, offered + open], [active, leases], `seed ${seed} step ${step}`)
      assert.equal(server.fleet.book.leasesFrom('10.0.0.1'), leases, `seed ${seed} step ${step}`)
      // All of them are workers of one tenant.
      assert.deepEqual(server.fleet.summary('default'), server.fleet.summary())
    }
    await server.stop()
  }
})

test('a lease counts for the address that it was given to, also when its worker calls from another one', async () => {
  const server = await new TestServer(makeWorld(), { leasesPerAddress: 2 }).start()
  await server.create({ units: 1_000_000 })
  const first = await server.lease('one')
  await server.lease('two')
  // The first one moves to another address and ends there: one place is free, and not two.
  await server.claim('one', { identity: { address: '10.0.0.2' }, holds: [first.id] })
  await server.fleet.handBack(callOf(first))
  await server.lease('three')
  const refused = await server.claim('four')
  assert.deepEqual('reason' in refused && [refused.reason, refused.message], [
    'limit',
    '2 leases are held from 10.0.0.1, the limit is 2',
  ])
  await server.stop()
})

test('leases that a restarted server continues count for their addresses', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  await first.create({ units: 1_000_000 })
  const lease = await first.lease('one')
  await first.lease('two')
  await first.kill()
  await world.clock.advance(60_000)
  const second = await new TestServer(world, { leasesPerAddress: 2 }).start()
  assert.equal(second.fleet.book.leasesFrom('10.0.0.1'), 2)
  assert.equal(second.fleet.summary().active, 2)
  assert.equal('reason' in (await second.claim('three')), true)
  await second.fleet.handBack(callOf(lease))
  assert.equal(second.fleet.book.leasesFrom('10.0.0.1'), 1)
  assert.equal('reason' in (await second.claim('three')), false)
  await second.stop()
})

test('workers that fell silent are reported in one line for all that a sweep finds', async () => {
  const world = makeWorld()
  const lines: string[] = []
  const onSilent = (text: string): void => void lines.push(text)
  const server = await new TestServer(world, { onSilent }).start()
  await server.create({ units: 1_000_000 })
  for (let number = 1; number <= 7; number++) await server.lease(`w${number}`)
  await server.lease('w1')
  await world.clock.advance(500_000)
  assert.deepEqual(lines, [
    'Workers w1 at 10.0.0.1, w2 at 10.0.0.1, w3 at 10.0.0.1, w4 at 10.0.0.1, w5 at 10.0.0.1 and 2 more are silent: 8 leases go to other workers.',
  ])
  const alone = await server.lease('w8')
  await world.clock.advance(500_000)
  assert.equal(lines[1], 'Worker w8 at 10.0.0.1 is silent: 1 lease goes to other workers.')
  assert.equal(alone.state, 'closed')
  await server.stop()
})

test('W9: the summary of a tenant has the figures of that tenant, and reads no worker', async () => {
  const server = await new TestServer(makeWorld()).start()
  await server.create({ units: 1_000_000 })
  const lease = await server.lease('of-common')
  await server.claim('of-brook', { identity: { tenant: 'brook' } })
  let looks = 0
  for (const worker of server.fleet.workers()) {
    const { leases } = worker
    Object.defineProperty(worker, 'leases', { get: () => (looks++, leases) })
  }
  const all = server.fleet.summary()
  const common = server.fleet.summary('default')
  const brook = server.fleet.summary('brook')
  assert.equal(looks, 0)
  assert.deepEqual([all.workers, all.active, all.held], [2, 1, 1])
  assert.deepEqual(common, { ...all, workers: 1 })
  const none = { active: 0, waiting: 0, offered: 0, held: 0, granted: 0, closed: {} }
  assert.deepEqual(brook, { workers: 1, ...none, jobs_waiting: 0 })
  assert.deepEqual(server.fleet.summary('unknown'), { ...brook, workers: 0 })
  await server.fleet.handBack(callOf(lease))
  const { held, closed } = server.fleet.summary('default')
  assert.deepEqual([held, closed], [0, { handed_back: 1 }])
  await server.stop()
})

test('explain: a reason for waiting reads only the workers that it names, however many there are', async () => {
  const server = await new TestServer(makeWorld()).start()
  await server.create({ units: 1_000_000 })
  for (let number = 0; number < 50; number++) await server.lease(`w${number}`)
  let looks = 0
  for (const worker of server.fleet.workers()) {
    const { description } = worker
    Object.defineProperty(worker, 'description', { get: () => (looks++, description) })
  }
  const why = server.jobs.whyWaiting({ job: 'play', version: '1', capabilities: [] })
  assert.match(why, /^50 of 50 workers that can run it are busy \(50 connected: w0, .*, …\)$/)
  assert.equal(looks, 5)
  await server.stop()
})

test('W1 L5: a worker that has leases or waits is never forgotten, however many there are', async () => {
  const server = await new TestServer(makeWorld(), {
    mostWorkers: 10,
    leasesPerAddress: 1_000,
  }).start()
  await server.create({ units: 1_000_000 })
  for (let number = 0; number < 30; number++) await server.lease(`busy-${number}`)
  // The same claim again gets the same offer, which a server that has forgotten its worker does not know.
  const first = await server.claim('new', { request: 'same' })
  const again = await server.claim('new', { request: 'same' })
  assert.ok('id' in first && 'id' in again)
  assert.equal(again.id, first.id)
  await server.fleet.leave('new', 'ann')
  assert.equal(server.fleet.book.get(first.id), undefined)
  assert.deepEqual([server.fleet.summary().workers, server.fleet.summary().active], [30, 30])
  await server.stop()
})

test('W1: of workers without a lease the oldest are forgotten, a few with each that comes', async () => {
  const server = await new TestServer(makeWorld(), { mostWorkers: 10 }).start()
  for (let number = 0; number < 100; number++) await server.claim(`idle-${number}`)
  assert.equal(server.fleet.summary().workers, 10)
  assert.equal(server.fleet.knownWorker('idle-0'), undefined)
  assert.notEqual(server.fleet.knownWorker('idle-99'), undefined)
  await server.stop()
})
