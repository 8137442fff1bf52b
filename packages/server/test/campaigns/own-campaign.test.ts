import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Campaign } from '../../src/campaigns/campaign.ts'
import { campaign, type OwnCampaign } from '../../src/campaigns/own-campaign.ts'
import { readClosedLeases } from '../../src/campaigns/records.ts'
import type { Lease } from '../../src/fleet/lease.ts'
import { callOf, makeWorld, openLeases, TestServer } from '../fleet/kit.ts'

interface Sample {
  readonly sum: number
  readonly n: number
}

const add = (a: Sample, b: Sample): Sample => ({ sum: a.sum + b.sum, n: a.n + b.n })
const subtract = (a: Sample, b: Sample): Sample => ({ sum: a.sum - b.sum, n: a.n - b.n })

/** Ends when the mean of the samples is known well enough. */
const mean = campaign('mean', {
  reduce: {
    initial: { sum: 0, n: 0 },
    add,
    subtract,
    check: (result, units) =>
      (result as Sample).n === units ? undefined : `${units} units need ${units} samples`,
  },
  decide: ({ total }) => (total.n >= 4 ? `mean ${total.sum / total.n}` : undefined),
})

/** Like above, without taking results out. */
const maximum = campaign('maximum', {
  reduce: { initial: 0, add: (total: number, result: number) => Math.max(total, result) },
})

function create(server: TestServer, definition: string, units = 100): Promise<Campaign> {
  // A unit in each lease, however fast a worker is in virtual time.
  return server.create({ definition, outcomes: [], units, leaseTime: 1 })
}

async function finish(server: TestServer, lease: Lease, result: unknown) {
  const answer = await server.fleet.update(callOf(lease), { sequence: 1, done: lease.size, result })
  await server.world.clock.settle()
  return answer
}

async function start(own: readonly OwnCampaign[]): Promise<TestServer> {
  return new TestServer(makeWorld(), { own }).start()
}

test('O1: results are added up, checked and decided by the code of the module', async () => {
  const server = await start([mean])
  const made = await create(server, 'mean')
  const first = await server.lease('a')
  const refused = await server.lease('b')
  const answer = await finish(server, refused, { sum: 3, n: 7 })
  assert.deepEqual([answer.closed, answer.problem], ['invalid_report', '1 units need 1 samples'])
  await finish(server, first, { sum: 3, n: 1 })
  assert.deepEqual([made.total, made.done, made.phase], [{ sum: 3, n: 1 }, 1, 'running'])
  assert.deepEqual(made.describeRule(), { kind: 'own', definition: 'mean' })
  for (const sum of [5, 4, 8]) await finish(server, await server.lease('a'), { sum, n: 1 })
  assert.deepEqual([made.ended?.why, made.ended?.detail], ['decided', 'mean 5'])
  await server.stop()
})

test('O2: a lease is one call of the job, however many units it has', async () => {
  const server = await start([mean])
  const made = await server.create({ definition: 'mean', outcomes: [] })
  await server.claim({ id: 'a', jobs: [] })
  server.fleet.knownWorker('a')!.measured(made.id, 0.005)
  const lease = await server.lease('a')
  assert.ok(lease.size > 1)
  const { batch, size } = made.describe(lease) as { batch: number; size: number }
  assert.deepEqual([batch, size], [lease.size, lease.size])
  await server.stop()
})

test('O3: code that throws ends the campaign with the reason; a check that throws refuses the report', async () => {
  const fail = (): never => {
    throw new Error('no idea')
  }
  const cases: readonly [OwnCampaign, string][] = [
    [campaign('add', { reduce: { initial: 0, add: fail } }), 'reduce.add of campaign add'],
    [campaign('decide', { decide: fail }), 'decide of campaign decide'],
    [
      campaign('learn', { tune: { initial: 0, propose: () => 1, learn: fail } }),
      'tune.learn of campaign learn',
    ],
  ]
  for (const [own, what] of cases) {
    const server = await start([own])
    const made = await create(server, own.name)
    await finish(server, await server.lease('a'), 1)
    assert.equal(made.ended?.why, 'stopped', own.name)
    assert.equal(made.ended?.detail, `${what} failed: no idea`)
    await server.stop()
  }
  const checking = campaign('check', {
    reduce: { initial: 0, add: (total: number) => total, check: fail },
  })
  const server = await start([checking])
  const made = await create(server, 'check')
  const answer = await finish(server, await server.lease('a'), 1)
  assert.deepEqual(
    [answer.closed, answer.problem, made.phase],
    ['invalid_report', 'the result cannot be checked: no idea', 'running'],
  )
  await server.stop()
})

test('O1: parameters are proposed and learnt by the code of the module, and survive kill -9', async () => {
  const tuned = campaign('tuned', {
    tune: {
      initial: 10,
      propose: (state: number, unit) => ({ value: state + unit }),
      learn: (state: number, _unit, result: number) => state + result,
    },
  })
  const world = makeWorld()
  const server = await new TestServer(world, { own: [tuned] }).start()
  const made = await create(server, 'tuned')
  const lease = await server.lease('a')
  assert.deepEqual([made.propose(lease), made.propose(lease)], [{ value: 10 }, { value: 10 }])
  await finish(server, lease, 5)
  await made.saved()
  await server.kill()
  const next = await world.clock.runUntil(new TestServer(world, { own: [tuned] }).start())
  await world.clock.advance(30_000)
  const again = next.campaigns.get(made.id)!
  assert.deepEqual(again.describeProposal(), { kind: 'own', state: 15 })
  await next.stop()
})

test('a server without the definition leaves the campaign alone; one that has it continues', async () => {
  const world = makeWorld()
  const server = await new TestServer(world, { own: [mean] }).start()
  const made = await create(server, 'mean')
  await finish(server, await server.lease('a'), { sum: 2, n: 1 })
  await server.lease('b')
  await made.saved()
  await server.kill()
  const without = await world.clock.runUntil(new TestServer(world).start())
  await world.clock.advance(30_000)
  assert.equal(without.campaigns.get(made.id), undefined)
  assert.match(
    without.problems.join(),
    /is not continued here: .*has no campaign mean; it has: none/,
  )
  assert.throws(() => without.campaigns.checkOwner(made.id), { code: 'HDL_NOT_OWNER' })
  await without.kill()
  assert.equal((await openLeases(world)).length, 1)
  const next = await world.clock.runUntil(new TestServer(world, { own: [mean] }).start())
  await world.clock.advance(30_000)
  const again = next.campaigns.get(made.id)!
  assert.deepEqual([again.total, again.workers], [{ sum: 2, n: 1 }, 1])
  await next.stop()
})

test('P5: where results cannot be taken out, leases that close during the read count', async () => {
  const world = makeWorld()
  const server = await new TestServer(world, { own: [maximum] }).start()
  const made = await create(server, 'maximum')
  for (const [worker, result] of [
    ['a', 9],
    ['b', 3],
  ] as const) {
    await finish(server, await server.lease(worker), result)
  }
  assert.equal(made.total, 9)
  const late = await server.lease('c')
  const recent = made.watchClosed()
  const others = await readClosedLeases(world.database.tables, made.id, 0, 10)
  await finish(server, late, 5)
  const [bad] = others
  assert.equal(made.exclude(bad!, 'broken', [...others, ...recent.results]), true)
  recent.stop()
  assert.deepEqual([made.total, made.done], [5, 2])
  await server.stop()
})

test('a definition that is not one is refused where it is made', () => {
  const make = (options: object) => () => campaign('x', options)
  assert.throws(make({ reduce: { initial: 0 } }), { code: 'HDL_BAD_OPTION' })
  assert.throws(make({ decide: 'never' }), { code: 'HDL_BAD_OPTION' })
  assert.throws(make({ reduces: {} }), { code: 'HDL_UNKNOWN_OPTION' })
  const misspelt = { initial: 0, add: () => 0, substract: () => 0 }
  assert.throws(make({ reduce: misspelt }), { code: 'HDL_UNKNOWN_OPTION' })
  assert.throws(() => campaign('', {}), { code: 'HDL_BAD_OPTION' })
})
