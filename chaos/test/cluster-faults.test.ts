import assert from 'node:assert/strict'
import test from 'node:test'
import { openDatabase } from '@heddle/test-servers'
import { clusterFaults } from '../store/cluster-faults.ts'

test('three servers on one PostgreSQL: one is killed under load, nothing acknowledged is lost', async () => {
  await using database = await openDatabase()
  const { address } = database
  const report = await clusterFaults({ address, seed: 3, faults: 1, streams: 2 })
  const { kills, lost, wrong, openJobs, outcomes, acknowledged, setAside } = report
  assert.deepEqual({ kills, lost, wrong, openJobs }, { kills: 1, lost: 0, wrong: 0, openJobs: 0 })
  assert.ok(outcomes + setAside >= acknowledged && acknowledged > 0)
})
