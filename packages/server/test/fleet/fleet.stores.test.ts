/** Leases and campaigns on every store: answered calls are there, take-overs lose and double nothing. */
import assert from 'node:assert/strict'
import type { FleetAttempt } from '@heddle/core/lowlevel'
import { roleConformance, type RoleCase } from '@heddle/core/testing'
import { testStores } from '@heddle/test-servers'
import { campaignSpec } from '../../src/campaigns/campaign-spec.ts'
import type { Campaign } from '../../src/campaigns/campaign.ts'
import { readCampaign, readClosedLeases, readOpen } from '../../src/campaigns/records.ts'
import { jobLeaseSaved, jobLeaseTable } from '../../src/fleet/job-records.ts'
import type { Lease } from '../../src/fleet/lease.ts'
import { fleetTables } from '../../src/fleet/fleet-tables.ts'
import { callOf } from './kit.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { insist, StoreServer } from './store-server.ts'

const allShards = Array.from({ length: 256 }, (_, shard) => shard)

function create({ room }: StoreServer, units: number): Promise<Campaign> {
  const spec = campaignSpec({
    name: 'c',
    job: 'play',
    units,
    batch: 5,
    outcomes: ['L', 'D', 'W'],
  })
  return insist(() => room.campaigns.create(spec))
}

/** Everything that is done so far has been won. */
function report({ room }: StoreServer, lease: Lease, sequence: number, done: number) {
  const what = { sequence, done, result: [0, 0, done] }
  return insist(() => room.fleet.update(callOf(lease), what))
}

/** The first lease of a worker is one batch; the next is longer, by its measured speed. */
async function longLease(server: StoreServer, worker: string): Promise<Lease> {
  await report(server, await server.lease(worker), 1, 5)
  const lease = await server.lease(worker)
  assert.ok(lease.size > 10, `${lease.size} units`)
  return lease
}

/** Workers play until the campaign has ended. */
async function playOut(server: StoreServer, id: string): Promise<void> {
  while (server.room.campaigns.get(id)?.phase !== 'ended') {
    const lease = await server.lease('last')
    let sequence = 0
    for (let done = 5; done <= lease.size; done += 5) await report(server, lease, ++sequence, done)
  }
  await server.room.campaigns.get(id)!.saved()
}

function attemptOf(signal: AbortSignal): FleetAttempt {
  return {
    job: 'render',
    version: '1',
    capabilities: [],
    name: 'node',
    attempt: 0,
    key: 'run-1/node',
    input: 12,
    signal,
    grace: 2_000,
    onStart: () => undefined,
    onWaiting: () => undefined,
    onLog: () => undefined,
    onProgress: () => undefined,
  }
}

const cases: readonly RoleCase[] = [
  {
    title:
      'L2 L5 S112 S113: what was answered is in the store, and the same call again changes nothing',
    async run(store) {
      const database = await store.connect()
      await using server = await StoreServer.open(database)
      const { id } = await create(server, 50)
      assert.equal((await readCampaign(database.tables, id))?.ended, false)
      const lease = await longLease(server, 'w')
      const open = async () => (await readOpen(database.tables, allShards)).leases
      assert.deepEqual(
        (await open()).map(({ done }) => done),
        [0],
      )
      assert.equal((await report(server, lease, 1, 5)).counted, true)
      assert.equal((await report(server, lease, 1, 5)).counted, false)
      assert.deepEqual(
        (await open()).map(({ done }) => done),
        [5],
      )
      const campaign = server.room.campaigns.get(id)!
      assert.deepEqual([campaign.done, campaign.total], [10, [0, 0, 10]])
    },
  },
  {
    title:
      'S100 L6 P2: kill -9: the leases continue at the next server, and each unit is counted once',
    async run(store) {
      const database = await store.connect()
      const first = await StoreServer.open(database)
      const { id } = await create(first, 60)
      const begun = await first.lease('begun')
      const half = await longLease(first, 'half')
      await report(first, half, 1, 5)
      first.kill()
      await using second = await StoreServer.open(await store.connect())
      // The answer to this report was lost with the server (L5).
      assert.equal((await report(second, half, 1, 5)).counted, false)
      for (const lease of [half, begun]) {
        second.room.fleet.book.beat(callOf(lease), 1)
        const before = lease === half ? 1 : 0
        for (let units = 5 * (before + 1); units <= lease.size; units += 5) {
          await report(second, lease, units / 5, units)
        }
      }
      await playOut(second, id)
      await checkUnits(second, database.tables, id, 60)
      await first[Symbol.asyncDispose]()
    },
  },
  {
    title:
      'L4 L10 C1: a server that stood still writes nothing after a take-over, and learns that it lost its shards',
    async run(store) {
      const first = await StoreServer.open(await store.connect())
      const { id } = await create(first, 40)
      const lease = await longLease(first, 'w')
      await report(first, lease, 1, 5)
      const grants = grantsOf(first)
      first.freeze()
      const database = await store.connect()
      await using second = await StoreServer.open(database)
      await report(second, lease, 2, 10)
      const row = jobLeaseSaved({
        id: 'j-1.1',
        key: 'k',
        number: 1,
        epoch: 1,
        holder: '{}',
        sequence: 0,
        result: '',
        grantedAt: 0,
      })
      // The database refuses the old epoch, whatever the first server believes.
      await assert.rejects(first.shards.committer.write(grants[0]!, [row]), {
        code: 'HDL_OWNERSHIP_LOST',
      })
      assert.deepEqual(await database.tables.ofShards(jobLeaseTable, allShards), [])
      first.thaw()
      await until(() => first.shards.ownership.stats().shards < 256)
      assert.throws(
        () => first.room.fleet.update(callOf(lease), { sequence: 3, done: 15, result: [0, 0, 15] }),
        { code: 'HDL_NOT_OWNER' },
      )
      await playOutOpen(second, id)
      await checkUnits(second, database.tables, id, 40)
      await first[Symbol.asyncDispose]()
    },
  },
  {
    title:
      'J1 J2: kill -9: the lease of a job continues, and its run gets the result from the next server',
    async run(store) {
      const first = await StoreServer.open(await store.connect())
      const controller = new AbortController()
      first.jobs.run(attemptOf(controller.signal)).catch(() => undefined)
      const lease = await first.lease('w', 'render')
      first.kill()
      const database = await store.connect()
      await using second = await StoreServer.open(database)
      const result = second.jobs.run(attemptOf(new AbortController().signal))
      const what = { sequence: 1, done: 1, result: { frame: 7 } }
      const answer = await insist(() => second.room.fleet.update(callOf(lease), what))
      assert.equal(answer.closed, 'finished')
      assert.deepEqual(await result, { frame: 7 })
      const [row] = await database.tables.ofShards(jobLeaseTable, allShards)
      assert.equal(row?.result, '{"frame":7}')
      await first[Symbol.asyncDispose]()
    },
  },
]

function grantsOf({ shards }: StoreServer): { shard: number; epoch: number }[] {
  return allShards.flatMap((shard) => {
    const epoch = shards.ownership.epochOf(shard)
    return epoch === undefined ? [] : [{ shard, epoch }]
  })
}

/** Like playOut(), with leases that earlier workers have left: they are handed back first. */
async function playOutOpen(server: StoreServer, id: string): Promise<void> {
  for (const lease of server.room.fleet.book.leases()) {
    await insist(() => server.room.fleet.handBack(callOf(lease)))
  }
  await playOut(server, id)
}

/** P2: no unit is missing, none is in two leases. */
async function checkUnits(
  { room }: StoreServer,
  tables: Parameters<typeof readClosedLeases>[0],
  id: string,
  units: number,
): Promise<void> {
  const campaign = room.campaigns.get(id)!
  assert.deepEqual([campaign.done, campaign.total], [units, [0, 0, units]])
  const counted = new Set<number>()
  let sum = 0
  for (const { start, done } of await readClosedLeases(tables, id, 0, 1_000)) {
    sum += done
    for (let unit = start; unit < start + done; unit++) counted.add(unit)
  }
  assert.deepEqual([sum, counted.size], [units, units])
}

roleConformance('leases and campaigns', fleetTables, cases, testStores())
