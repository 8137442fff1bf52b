import assert from 'node:assert/strict'
import test from 'node:test'
import { openKeeper } from '@heddle/test-servers'
import { clusterFaults } from '../store/cluster-faults.ts'
import { FaultyDatabase } from '../store/faulty-database.ts'

test('X1 to X3: three servers on one PostgreSQL under load: a server is killed, then PostgreSQL', async () => {
  await using keeper = await openKeeper()
  await using database = await FaultyDatabase.open(keeper, { isOnSmallDisk: false })
  const kinds = ['kill', 'pgkill'] as const
  const report = await clusterFaults({ database, seed: 3, faults: 2, kinds, streams: 2 })
  const { lost, wrong, openJobs, doubled, foreignWrites } = report
  const found = { lost, wrong, openJobs, doubled, foreignWrites }
  assert.deepEqual(found, { lost: 0, wrong: 0, openJobs: 0, doubled: 0, foreignWrites: 0 })
  assert.deepEqual([report.counts.kill, report.counts.pgkill], [1, 1])
  const { outcomes, acknowledged, answered } = report
  assert.ok(acknowledged > 0, JSON.stringify(report))
  assert.ok(outcomes >= acknowledged - answered, JSON.stringify(report))
})
