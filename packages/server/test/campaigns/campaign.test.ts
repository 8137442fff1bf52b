import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Campaign } from '../../src/campaigns/campaign.ts'
import { readClosedLeases } from '../../src/campaigns/records.ts'
import type { Lease } from '../../src/fleet/lease.ts'
import { callOf, makeWorld, TestServer } from '../fleet/kit.ts'

const lost = { message: 'no compiler', retryable: true, stage: 'start' } as const

function report(
  { fleet }: TestServer,
  lease: Lease,
  sequence: number,
  done: number,
  result = [0, 0, done],
) {
  return fleet.update(callOf(lease), { sequence, done, result })
}

/** A worker that fails at once in a campaign of its own. */
async function failOnce(server: TestServer, worker: string, owner: string): Promise<Campaign> {
  const campaign = await server.create({ name: owner, owner, priority: 1 })
  const lease = await server.lease(worker)
  assert.equal(lease.work, campaign)
  await server.fleet.fail(callOf(lease), lost)
  campaign.end('stopped', 'enough')
  return campaign
}

test('P1: a lease has the units that the worker can do in its time, and near the end a share of the rest', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 1_000, batch: 10, leaseTime: 100_000 })
  const first = await server.lease('quick')
  // Nothing is known of its speed: one batch.
  assert.equal(first.size, 10)
  await world.clock.advance(10_000)
  await report(server, first, 1, 10)
  // 1 unit a second: 100 in the time of a lease.
  const second = await server.lease('quick')
  assert.equal(second.size, 100)
  // The time is enough for all of it, but others have some work too.
  const others = await server.create({ name: 'end', units: 90, batch: 10, priority: 1 })
  server.fleet.knownWorker('quick')!.measured(others.id, 1_000)
  const sizes: number[] = []
  for (const worker of ['a', 'b', 'c', 'd']) {
    server.fleet.worker(
      { ...first.worker.description, id: worker, name: worker },
      first.worker.identity,
    )
    server.fleet.knownWorker(worker)!.measured(others.id, 1_000)
    const lease = await server.lease(worker)
    assert.equal(lease.work, others)
    sizes.push(lease.size)
    if (others.openUnits === 0) break
  }
  assert.deepEqual(sizes, [90])
  assert.equal(campaign.openUnits, 890)
  await server.stop()
})

test('P1: workers that come together near the end share the rest', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 120, batch: 10 })
  for (const worker of ['a', 'b', 'c']) {
    await server.claim({ id: worker, jobs: [] })
    server.fleet.knownWorker(worker)!.measured(campaign.id, 1_000)
  }
  // Four others have a batch each: they count as active.
  for (const worker of ['s', 't', 'u', 'v']) await server.lease(worker)
  const sizes: number[] = []
  for (const worker of ['a', 'b', 'c']) sizes.push((await server.lease(worker)).size)
  // 80 units and 5 workers, then fewer units and more workers: each time a batch is left for others.
  assert.deepEqual(sizes, [10, 10, 10])
  assert.equal(campaign.openUnits, 50)
  await server.stop()
})

test('P3: an impossible report closes the lease, and earlier counts stay', async () => {
  const cases: readonly [string, number, number[] | undefined][] = [
    ['fewer units than before', 0, undefined],
    ['not a multiple of the batch', 7, undefined],
    ['more than the lease has', 1_000, undefined],
    ['counts whose sum is not the number of units', 15, [1, 1, 1]],
    ['negative counts', 15, [-1, 1, 15]],
  ]
  for (const [why, done, result] of cases) {
    const world = makeWorld()
    const server = await new TestServer(world).start()
    const campaign = await server.create({ units: 100, batch: 5 })
    await server.claim({ id: 'w', jobs: [] })
    server.fleet.knownWorker('w')!.measured(campaign.id, 1_000)
    const lease = await server.lease('w')
    await report(server, lease, 1, 10)
    const answer = await report(server, lease, 2, done, result ?? [0, 0, done])
    assert.equal(answer.closed, 'invalid_report', why)
    assert.deepEqual([campaign.done, campaign.total], [10, [0, 0, 10]], why)
    await world.clock.settle()
    assert.equal(campaign.openUnits, 90, why)
    await server.stop()
  }
})

test('P5: an excluded lease stays as a tombstone; its result goes, and its units are played again', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 10, batch: 5 })
  const bad = await server.lease('bad')
  await report(server, bad, 1, 5)
  const good = await server.lease('good')
  const [record] = await readClosedLeases(world.database.tables, campaign.id, 0, 10)
  campaign.exclude(record!, 'its engine was broken')
  await campaign.saved()
  assert.deepEqual([campaign.done, campaign.total, campaign.excluded], [0, [0, 0, 0], 1])
  await report(server, good, 1, 5)
  const again = await server.lease('good')
  assert.deepEqual([again.start, again.number], [bad.start, 3])
  await report(server, again, 1, 5)
  assert.deepEqual([campaign.phase, campaign.done, campaign.total], ['ended', 10, [0, 0, 10]])
  await campaign.saved()
  const kept = await readClosedLeases(world.database.tables, campaign.id, 0, 10)
  assert.deepEqual(
    kept.map(({ number, excluded }) => [number, excluded]),
    [
      [1, 'its engine was broken'],
      [2, ''],
      [3, ''],
    ],
  )
  await server.stop()
})

test('P5: a lease is taken out once, also by a reader that has its earlier row', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 10, batch: 5 })
  await report(server, await server.lease('bad'), 1, 5)
  await report(server, await server.lease('good'), 1, 5)
  campaign.setQuota(20)
  const [record] = await readClosedLeases(world.database.tables, campaign.id, 0, 1)
  assert.equal(campaign.exclude(record!, 'broken'), true)
  assert.equal(campaign.exclude(record!, 'broken'), false)
  await campaign.saved()
  assert.equal(campaign.exclude(record!, 'broken'), false)
  assert.deepEqual([campaign.done, campaign.total, campaign.excluded], [5, [0, 0, 5], 1])
  await server.stop()
})

test('P7: threads that a worker claims to have while it holds a lease change no share', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create({ units: 10 })
  const lease = await server.lease({ id: 'w', threads: 2 })
  await server.claim({ id: 'w', threads: 1_000, jobs: [] }, { holds: [lease.id] })
  assert.equal(campaign.threads, 2)
  await server.fleet.handBack(callOf(lease))
  assert.equal(campaign.threads, 0)
  await server.stop()
})

test('work that failed is reported with the machine that it failed on', async () => {
  const world = makeWorld()
  const told: string[] = []
  const server = await new TestServer(world, { onFailed: (text) => told.push(text) }).start()
  const campaign = await server.create()
  const lease = await server.lease({ id: 'a', name: 'rack-1' }, { address: '10.0.0.7' })
  await server.fleet.fail(callOf(lease), lost)
  assert.deepEqual(told, [
    `Campaign ${campaign.id} failed on worker rack-1 at 10.0.0.7: no compiler`,
  ])
  await server.stop()
})

test('P6: two workers of one name and two owners are two workers', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create()
  for (const [id, name, owner] of [
    ['a', 'rack-1', 'ann'],
    ['b', 'rack-2', 'ann'],
    ['c', 'rack-1', 'bob'],
  ] as const) {
    const lease = await server.lease({ id, name }, { owner })
    await server.fleet.fail(callOf(lease), lost)
  }
  assert.equal(campaign.ended?.why, 'cannot_start')
  await server.stop()
})

test('P6: a campaign that three workers of two owners cannot start ends with the reason', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create()
  const fail = async (worker: string, owner: string): Promise<void> => {
    const lease = await server.lease(worker, { owner })
    await server.fleet.fail(callOf(lease), lost)
  }
  await fail('a', 'ann')
  // A second failure of the same worker proves nothing new.
  await world.clock.advance(1_000)
  await fail('a', 'ann')
  await fail('b', 'ann')
  await fail('c', 'ann')
  assert.equal(campaign.phase, 'running')
  await fail('d', 'bob')
  assert.equal(campaign.phase, 'ended')
  const { ended } = campaign
  assert.equal(ended?.why, 'cannot_start')
  assert.match(ended.detail, /the last one \(d at 10\.0\.0\.1\): no compiler$/)
  await server.stop()
})

test('P6: reports that cannot be right are failures to start, too', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create()
  for (const worker of ['a', 'b', 'c', 'd', 'e']) {
    const lease = await server.lease(worker)
    const { closed } = await report(server, lease, 1, 1, [7, 7, 7])
    assert.equal(closed, 'invalid_report')
  }
  assert.equal(campaign.ended?.why, 'cannot_start')
  await server.stop()
})

test('P11: a worker gets a campaign that failed there after a pause that doubles, other workers at once', async () => {
  const world = makeWorld()
  const { clock } = world
  const server = await new TestServer(world).start()
  await server.create({ name: 'broken' })
  const isOffered = async (): Promise<boolean> => 'id' in (await server.claim('w'))
  let pauses = ''
  for (const pause of [1_000, 2_000, 4_000, 8_000]) {
    const lease = await server.lease('w')
    await server.fleet.fail(callOf(lease), lost)
    const refused = await server.claim('w')
    assert.ok('reason' in refused)
    pauses += `${refused.message}; `
    await clock.advance(pause - 1)
    assert.equal(await isOffered(), false, `after ${pause - 1} ms`)
    await clock.advance(1)
  }
  assert.match(
    pauses,
    /campaign broken failed on this worker, which gets it again in 1 s; .* in 8 s; $/,
  )
  assert.ok('id' in (await server.claim('other')))
  // Its claim that waits is answered when the pause is over.
  const begun = await server.lease('w')
  await server.fleet.fail(callOf(begun), lost)
  const waiting = server.claim('w', { wait: 25_000 })
  await clock.advance(16_000)
  const early = await waiting
  assert.ok('reason' in early && early.reason === 'no_work')
  // A lease that finishes begins again with a second.
  const good = await server.lease('w')
  await report(server, good, 1, good.size)
  await server.fleet.fail(callOf(await server.lease('w')), lost)
  await clock.advance(1_000)
  assert.equal(await isOffered(), true)
  await server.stop()
})

test('P6: a campaign that has counted a unit continues, however many workers fail', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  const campaign = await server.create()
  await report(server, await server.lease('good'), 1, 1)
  for (const worker of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const lease = await server.lease(worker, { owner: worker })
    await server.fleet.fail(callOf(lease), lost)
  }
  assert.equal(campaign.phase, 'running')
  await server.stop()
})

test('W5: a worker is suspect after failures in three campaigns of two owners, until it finishes a job', async () => {
  const world = makeWorld()
  const server = await new TestServer(world).start()
  await failOnce(server, 'w', 'ann')
  await failOnce(server, 'w', 'ann')
  await failOnce(server, 'w', 'ann')
  // Three campaigns of one owner: it may be their fault.
  const still = await server.create({ name: 'still' })
  const lease = await server.lease('w')
  assert.equal(lease.work, still)
  await server.fleet.handBack(callOf(lease))
  await failOnce(server, 'w', 'bob')
  const refused = await server.claim('w')
  assert.ok('reason' in refused)
  assert.deepEqual([refused.reason, /4 campaigns/.test(refused.message)], ['blocked', true])
  // Another one is not.
  assert.ok(!('reason' in (await server.claim('v'))))
  await server.stop()
})
