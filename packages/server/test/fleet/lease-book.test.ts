import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import type { Lease } from '../../src/fleet/lease.ts'
import { readCampaign, readLease } from '../../src/campaigns/records.ts'
import { TestServer, callOf, makeWorld, openLeases } from './kit.ts'

/** The reason with which a lease was lost. */
async function lostReason(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    assert.ok(isError(error, 'HDL_LEASE_ENDED'), String(error))
    return error.details.reason
  }
  return assert.fail('the lease is still held')
}

function report(
  sequence: number,
  done: number,
): { sequence: number; done: number; result: number[] } {
  return { sequence, done, result: [0, 0, done] }
}

test('S111 L2: claim and accept make a durable lease with id, epoch, range and deadline', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 10_000, batch: 10 })
  const offer = (await server.claim({ id: 'w', threads: 4 })) as Lease
  assert.equal(offer.state, 'offered')
  assert.equal((await openLeases(world)).length, 0)
  const lease = await server.fleet.accept(callOf(offer))
  assert.equal(lease.state, 'held')
  assert.deepEqual([lease.start, lease.size, lease.epoch], [0, 10, campaign.epoch])
  const [row] = await openLeases(world)
  assert.deepEqual([row!.worker, row!.start, row!.size], ['w', 0, 10])
  assert.deepEqual([campaign.openUnits, campaign.workers, campaign.threads], [9_990, 1, 4])
  await server.stop()
})

test('L1: an offer that is not accepted goes back at no cost after 10 s', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 10, batch: 10 })
  const offer = (await server.claim('w1')) as Lease
  assert.equal(campaign.openUnits, 0)
  await world.clock.advance(9_999)
  assert.equal(offer.state, 'offered')
  await world.clock.advance(1)
  assert.equal(campaign.openUnits, 10)
  assert.equal(campaign.workers, 0)
  assert.equal(await lostReason(() => server.fleet.accept(callOf(offer))), 'not_accepted')
  assert.equal(await readLease(world.database.tables, offer.id), undefined)
  const again = (await server.claim('w2')) as Lease
  assert.notEqual(again.id, offer.id)
  await server.stop()
})

test('S112 L5: a claim with the same request id gets the same lease', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  await server.create()
  const first = (await server.claim('w', { request: 'r' })) as Lease
  const second = (await server.claim('w', { request: 'r' })) as Lease
  assert.equal(first, second)
  await server.fleet.accept(callOf(first))
  assert.equal(await server.claim('w', { request: 'r' }), first)
  assert.equal(await server.fleet.accept(callOf(first)), first)
  assert.equal(server.fleet.summary().held, 1)
  await server.stop()
})

test('S113 S114 L5: updates are numbered: a repeated and a late one change nothing', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 100, batch: 100 })
  const lease = await server.lease('w')
  const call = callOf(lease)
  assert.equal(
    (await server.fleet.update(call, { sequence: 7, done: 0, result: [0, 0, 0] })).counted,
    true,
  )
  const first = await server.fleet.update(call, report(8, 100))
  assert.deepEqual([first.counted, first.closed], [true, 'finished'])
  assert.deepEqual(campaign.total, [0, 0, 100])
  const again = await server.fleet.update(call, report(8, 100))
  assert.deepEqual([again.counted, again.closed], [false, 'finished'])
  const late = await server.fleet.update(call, report(7, 100))
  assert.equal(late.counted, false)
  assert.deepEqual([campaign.done, campaign.total], [100, [0, 0, 100]])
  assert.equal(campaign.ended?.why, 'quota')
  await server.stop()
})

test('L4: another epoch, another worker or an unknown lease changes nothing', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create()
  const lease = await server.lease('w')
  const call = callOf(lease)
  for (const wrong of [
    { ...call, epoch: call.epoch + 1 },
    { ...call, worker: 'thief' },
    { ...call, lease: `${campaign.id}.99` },
  ]) {
    assert.equal(await lostReason(() => server.fleet.book.beat(wrong)), 'not_held')
    assert.equal(await lostReason(() => server.fleet.update(wrong, report(1, 1))), 'not_held')
    assert.equal(await lostReason(() => server.fleet.fail(wrong, failure)), 'not_held')
  }
  assert.equal(campaign.done, 0)
  assert.equal(lease.state, 'held')
  await server.stop()
})

const failure = { message: 'no engine', retryable: true, stage: 'run' } as const

test('S116 S115 L7: a stale lease is closed by the sweep, and its units return once', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 10, batch: 2, outcomes: [] })
  campaign.setQuota(10)
  const lease = await server.lease('w')
  const call = callOf(lease)
  const size = lease.size
  await world.clock.advance(359_000)
  server.fleet.book.beat(call, 1)
  await world.clock.advance(359_000)
  assert.equal(lease.state, 'held')
  await world.clock.advance(1_000 + 63_000)
  assert.equal(await lostReason(() => server.fleet.book.beat(call)), 'stale')
  assert.equal(campaign.openUnits, 10)
  server.fleet.book.sweep()
  await world.clock.settle()
  assert.equal(campaign.openUnits, 10)
  const record = await readLease(world.database.tables, lease.id)
  assert.deepEqual([record!.closed, record!.size], ['stale', size])
  await server.stop()
})

test('L3: reported units stay counted, the rest returns', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 100, batch: 2, leaseTime: 1e9 })
  // The second lease is large: the speed is known by then.
  const first = await server.lease('w')
  await world.clock.advance(1_000)
  await server.fleet.update(callOf(first), report(1, 2))
  const lease = await server.lease('w')
  assert.equal(lease.size, 98)
  await server.fleet.update(callOf(lease), report(1, 40))
  await server.fleet.handBack(callOf(lease))
  assert.deepEqual([campaign.done, campaign.openUnits, campaign.total], [42, 58, [0, 0, 42]])
  const next = await server.lease('w')
  assert.equal(next.start, 42)
  await server.stop()
})

test('L8: a worker that beats without progress loses its lease', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  await server.create({ idleBeats: 3 })
  const lease = await server.lease('w')
  const call = callOf(lease)
  server.fleet.book.beat(call, 1)
  server.fleet.book.beat(call, 1)
  server.fleet.book.beat(call, 1)
  server.fleet.book.beat(call, 2)
  for (const _ of [1, 2]) server.fleet.book.beat(call, 2)
  assert.equal(await lostReason(() => server.fleet.book.beat(call, 2)), 'no_progress')
  await server.stop()
})

test('L6: beats write no row; the sweep writes which workers were seen, together and rarely', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  await server.create({ units: 100_000 })
  const leases: Lease[] = []
  for (let n = 0; n < 50; n++) leases.push(await server.lease(`w${n}`, { address: `10.0.0.${n}` }))
  await world.clock.settle()
  const before = server.committer.stats().rows
  for (const lease of leases)
    for (const beat of [1, 2, 3]) server.fleet.book.beat(callOf(lease), beat)
  await world.clock.settle()
  assert.equal(server.committer.stats().rows, before)
  const commits = server.committer.stats().commits
  await world.clock.advance(301_000)
  for (const lease of leases) server.fleet.book.beat(callOf(lease), 9)
  server.fleet.book.sweep()
  await world.clock.settle()
  assert.equal(server.committer.stats().rows - before, leases.length)
  assert.equal(server.committer.stats().commits - commits, 1)
  await server.stop()
})

test('S100 C5 L10: after kill -9 every lease continues with a full stale period, no number is reused', async () => {
  const world = makeWorld()
  const first = await new TestServer(world).start()
  const campaign = await first.create({ units: 1_000, batch: 10 })
  const leases: Lease[] = []
  for (let n = 0; n < 5; n++) leases.push(await first.lease(`w${n}`))
  await first.fleet.update(callOf(leases[0]!), { sequence: 1, done: 10, result: [1, 2, 7] })
  const offer = (await first.claim('w9')) as Lease
  await world.clock.advance(300_000)
  await first.kill()
  await world.clock.advance(10_000)
  const second = await new TestServer(world).start()
  await world.clock.advance(2_000)
  await second.campaigns.waitRead()
  const restored = second.campaigns.get(campaign.id)!
  assert.deepEqual([restored.done, restored.total], [10, [1, 2, 7]])
  // The units of the offer came back.
  assert.equal(restored.openUnits, 1_000 - 5 * 10)
  await world.clock.advance(350_000)
  for (const lease of leases.slice(1)) second.fleet.book.beat(callOf(lease))
  // The answer of the finishing report was lost: it is repeated.
  const again = await second.fleet.update(callOf(leases[0]!), {
    sequence: 1,
    done: 10,
    result: [1, 2, 7],
  })
  assert.deepEqual([again.counted, again.closed], [false, 'finished'])
  // L4: to another caller it is unknown, also when its reason has to be read from the store.
  const stranger = { ...callOf(leases[0]!), owner: 'bob' }
  const copied = { sequence: 1, done: 10, result: [1, 2, 7] }
  assert.equal(await lostReason(() => second.fleet.update(stranger, copied)), 'not_held')
  const next = (await second.claim('w8')) as Lease
  assert.notEqual(`${next.id} ${next.epoch}`, `${offer.id} ${offer.epoch}`)
  assert.equal(await lostReason(() => second.fleet.accept(callOf(offer))), 'not_held')
  await second.stop()
})

test('L11 S124: a report that could not be written stays due and is acknowledged by the retry', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 100, batch: 10 })
  const lease = await server.lease('w')
  world.database.isAway = true
  const failed = server.fleet.update(callOf(lease), { sequence: 1, done: 10, result: [10, 0, 0] })
  failed.catch(() => undefined)
  await world.clock.advance(3_500)
  await assert.rejects(failed, { code: 'HDL_STORE_FAILED' })
  world.database.isAway = false
  await world.clock.advance(20_000)
  const record = await readLease(world.database.tables, lease.id)
  assert.deepEqual([record!.done, record!.closed], [10, 'finished'])
  const again = await server.fleet.update(callOf(lease), {
    sequence: 1,
    done: 10,
    result: [10, 0, 0],
  })
  assert.deepEqual([again.counted, again.closed, campaign.done], [false, 'finished', 10])
  await server.stop()
})

test('L12: a server that is unsure of its shards offers and acknowledges nothing, beats are answered', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  await server.create({ units: 100, batch: 10 })
  const lease = await server.lease('w')
  world.database.isAway = true
  await world.clock.advance(10_000)
  assert.deepEqual(((await server.claim('w2')) as { reason: string }).reason, 'no_work')
  assert.throws(() => server.fleet.update(callOf(lease), report(1, 10)), { code: 'HDL_NOT_OWNER' })
  assert.ok(server.fleet.book.beat(callOf(lease), 1).nextBeat > 0)
  world.database.isAway = false
  await world.clock.advance(5_000)
  assert.equal((await server.fleet.update(callOf(lease), report(1, 10))).counted, true)
  await server.stop()
})

test('S126 L9: the cost of a call does not depend on the number of units or of closed leases', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 1_000_000, batch: 1, leaseTime: 1, outcomes: [] })
  const lease = await server.lease('holder')
  let state = 0
  for (let n = 0; n < 3_000; n++) {
    const done = await server.lease('w')
    await server.fleet.update(callOf(done), { sequence: 1, done: done.size, result: null })
    if (n === 100) state = (await readCampaign(world.database.tables, campaign.id))!.state.length
  }
  // The writes and the memory of one call are the same after 3,000 leases as after 100.
  const record = await readCampaign(world.database.tables, campaign.id)
  assert.ok(record!.state.length <= state + 10, `${record!.state.length} after ${state}`)
  assert.equal([...server.fleet.book.leases()].length, 1)
  assert.ok(server.fleet.book.beat(callOf(lease), 1).nextBeat > 0)
  await server.stop()
})

test('W6: two processes with one worker name are refused while the first is seen', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  await server.create({ batch: 10 })
  await server.lease({ id: 'one', name: 'box' })
  const second = (await server.claim({ id: 'two', name: 'box' })) as {
    reason: string
    message: string
  }
  assert.equal(second.reason, 'limit')
  assert.match(second.message, /name box was seen 0 s ago/)
  await world.clock.advance(120_001)
  assert.ok('id' in (await server.claim({ id: 'two', name: 'box' })))
  await server.stop()
})

test('L5: a lease whose accept was answered after its worker had left is closed by the next claim', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 20, batch: 20 })
  const lease = await server.lease('w')
  assert.equal(campaign.openUnits, 0)
  const waiting = server.claim('w', { holds: [], wait: 1_000 })
  await world.clock.settle()
  const next = (await waiting) as Lease
  assert.equal(lease.state, 'closed')
  assert.equal(next.start, 0)
  await server.stop()
})
