import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ClusterLimits,
  type LimitRecord,
  type LimitRecords,
} from '../../src/capacity/cluster-limits.ts'
import { isError } from '../../src/errors.ts'
import { FakeRun, newCapacity } from './kit.ts'

/** One record in memory; it can be cut off. */
class FakeRecords implements LimitRecords {
  record: (LimitRecord & { readonly revision: number }) | undefined
  isAway = false
  reads = 0

  async read(): Promise<FakeRecords['record']> {
    this.reads++
    if (this.isAway) throw new Error('the store is away')
    return this.record
  }

  async write(record: LimitRecord, expect: 'absent' | number): Promise<boolean> {
    if (this.isAway) throw new Error('the store is away')
    if ((this.record?.revision ?? 'absent') !== expect) return false
    this.record = { ...record, revision: (this.record?.revision ?? 0) + 1 }
    return true
  }
}

const license = { permits: 2, scope: 'cluster' } as const

function setUp(records = new FakeRecords(), server = 'one') {
  const { clock, capacity } = newCapacity({ resources: { license } })
  const resources = capacity.clusterResources()
  const limits = new ClusterLimits({ server, records, clock, resources })
  const run = new FakeRun(capacity, clock)
  return { clock, capacity, records, limits, run }
}

test('E4: a waiting request is announced at once, and starts when the store has confirmed the share', async () => {
  const { clock, limits, records, run } = setUp()
  await limits.start()
  await clock.settle()
  for (const name of ['a', 'b', 'c']) run.add(name, { needs: { license: 1 } })
  assert.deepEqual(run.pump(), [])
  const now = clock.now()
  await clock.settle()
  assert.equal(clock.now(), now)
  assert.deepEqual(run.answer(), ['a', 'b'])
  assert.deepEqual(limits.stats().shares, {
    license: { share: 2, used: 2, limit: 2, sure: true, lapses: 0 },
  })
  assert.equal(records.record?.shares['one']?.count, 2)
  // It is announced: another permit that is missing asks the store no more often than every 100 ms.
  const { reads } = records
  run.add('d', { needs: { license: 1 } })
  run.pump()
  await clock.settle()
  assert.equal(records.reads, reads)
  await clock.advance(100)
  assert.equal(records.reads, reads + 1)
  await limits.stop()
  assert.equal(clock.pending, 0)
})

test('E1: without the store nothing starts after ttl − margin; waiting requests start when the store is back', async () => {
  const { clock, limits, records, run } = setUp()
  await limits.start()
  run.add('a', { needs: { license: 1 } })
  run.pump()
  await clock.settle()
  assert.deepEqual(run.answer(), ['a'])
  await clock.advance(1_000)
  records.isAway = true
  await clock.advance(3_000)
  // Still sure.
  run.add('b', { needs: { license: 1 } })
  assert.deepEqual(run.pump(), ['b'])
  run.end()
  run.end()
  await clock.advance(2_000)
  assert.equal(limits.stats().shares['license']?.sure, false)
  const late = run.add('late', { needs: { license: 1 } })
  assert.deepEqual(run.pump(), [])
  const shortage = run.lanes.shortageOf(late)
  assert.ok(shortage?.kind === 'permits' && shortage.cluster?.isSure === false)
  records.isAway = false
  await clock.advance(600)
  assert.deepEqual(run.answer(), ['late'])
  assert.equal(limits.stats().shares['license']?.lapses, 1)
  await limits.stop()
})

test('E2: the share of a server that is silent for a ttl is divided, and not earlier', async () => {
  const { clock, limits, records, run } = setUp()
  const gone = {
    count: 2,
    want: 2,
    need: 0,
    limit: 2,
    isShort: false,
    since: 1,
    beat: 1,
  }
  records.record = { id: 'license', turn: 1, revision: 1, shares: { gone } }
  await limits.start()
  const a = run.add('a', { needs: { license: 1 } })
  run.pump()
  await clock.advance(5_900)
  assert.deepEqual(run.answer(), [])
  const shortage = run.lanes.shortageOf(a)
  assert.ok(shortage?.kind === 'permits')
  assert.deepEqual(shortage.cluster, { limit: 2, elsewhere: 2, servers: 1, isSure: true })
  await clock.advance(600)
  assert.deepEqual(run.answer(), ['a'])
  assert.deepEqual(Object.keys(records.record.shares), ['one'])
  await limits.stop()
})

test('E5: a server that stops gives its share back, but keeps the permits of running attempts until the ttl is over', async () => {
  const { clock, limits, records, run } = setUp()
  await limits.start()
  for (const name of ['a', 'b']) run.add(name, { needs: { license: 1 } })
  run.pump()
  await clock.settle()
  assert.deepEqual(run.answer(), ['a', 'b'])
  run.end()
  await limits.stop()
  assert.equal(records.record?.shares['one']?.count, 1)
  const other = setUp(records, 'two')
  await other.limits.start()
  other.run.add('c', { needs: { license: 1 } })
  other.run.add('d', { needs: { license: 1 } })
  other.run.pump()
  await other.clock.settle()
  assert.deepEqual(other.run.answer(), ['c'])
  await other.clock.advance(6_600)
  assert.deepEqual(other.run.answer(), ['d'])
  other.run.end()
  other.run.end()
  await other.limits.stop()
  assert.deepEqual(records.record?.shares, {})
  assert.equal(other.clock.pending + clock.pending, 0)
})

test('a limit of the cluster is a whole number of permits, and belongs to the server', () => {
  const bad = (resources: object) => () =>
    newCapacity({ resources: { license: resources as never } })
  for (const options of [
    { permits: 2, scope: 'process' },
    { limit: 2, per: 1_000, scope: 'cluster' },
    { each: 2, scope: 'cluster' },
    { permits: 0, scope: 'cluster' },
    { permits: Infinity, scope: 'cluster' },
  ]) {
    assert.throws(bad(options), (error) => isError(error, 'HDL_BAD_OPTION'))
  }
  assert.throws(bad({ permits: 2, reserved: 1, scope: 'cluster' }), (error) =>
    isError(error, 'HDL_UNKNOWN_OPTION'),
  )
  const { clock, capacity } = newCapacity()
  assert.throws(() => new FakeRun(capacity, clock, { resources: { license } }), /limits\.resources/)
  // More than there will ever be is refused by the limit, not by the share.
  const server = setUp()
  server.run.add('both', { needs: { license: 2 } })
  assert.throws(() => server.run.add('three', { needs: { license: 3 } }), /only 2/)
})

test('without other servers the process has the whole limit', () => {
  const { clock, capacity } = newCapacity({ resources: { license } })
  const run = new FakeRun(capacity, clock)
  for (const name of ['a', 'b', 'c']) run.add(name, { needs: { license: 1 } })
  assert.deepEqual(run.pump(), ['a', 'b'])
})
