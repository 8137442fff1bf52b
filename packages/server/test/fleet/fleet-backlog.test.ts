import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openDatabase } from '@heddle/test-servers'
import { Client } from 'pg'
import {
  BacklogReport,
  backlogTable,
  type Backlog,
  type BacklogReportOptions,
} from '../../src/fleet/fleet-backlog.ts'
import { startServer } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { reach } from '../../../core/test/kernel/until.ts'
import { makeWorld } from './kit.ts'

const none: Backlog = { waitingJobs: 0, openUnits: 0, leases: 0, waitingClaims: 0 }

test('G1 G2: a row is written after a change and every 30 s, also after the database was away, and goes with the server', async () => {
  const { clock, kernel, database } = makeWorld()
  const { tables } = database
  let backlog = none
  let changes = 0
  let isAway = false
  const counted: BacklogReportOptions['tables'] = {
    now: () => tables.now(),
    removeBelow: (...args) => tables.removeBelow(...args),
    change: (rows) => {
      changes++
      return isAway ? Promise.reject(new Error('away')) : tables.change(rows)
    },
  }
  const report = new BacklogReport({
    server: 'one',
    tables: counted,
    kernel,
    read: () => backlog,
  })
  await report.start()
  const rowOf = async () => (await clock.runUntil(tables.byIds(backlogTable, ['one'])))[0]
  await clock.advance(2_000)
  assert.equal((await rowOf())?.openUnits, 0)
  await clock.advance(20_000)
  assert.equal(changes, 1, 'nothing has changed')
  backlog = { ...none, openUnits: 7 }
  await clock.advance(2_000)
  assert.deepEqual([changes, (await rowOf())?.openUnits], [2, 7])
  await clock.advance(32_000)
  assert.equal(changes, 3, 'the row stays fresh')
  isAway = true
  backlog = { ...none, waitingJobs: 2 }
  await clock.advance(4_000)
  isAway = false
  await clock.advance(2_000)
  assert.deepEqual([(await rowOf())?.waitingJobs, (await rowOf())?.openUnits], [2, 0])
  await clock.runUntil(report.stop())
  assert.equal(await rowOf(), undefined)
})

const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)

test('the view of deploy/fleet-backlog.sql sums the rows of all servers', async () => {
  await using postgres = await openDatabase()
  await using server = await startServer({
    jobs: [play],
    store: postgres.address,
    port: 0,
    threads: 1,
    limits: { loopGap: Infinity },
  })
  const campaign = { name: 'match', job: 'play', units: 500 }
  assert.equal((await call(server, '/campaigns', { method: 'POST', body: campaign })).status, 201)
  assert.equal((await call(server, '/jobs/play', { method: 'POST', body: {} })).status, 202)
  const client = new Client({ connectionString: postgres.address })
  await client.connect()
  try {
    const view = new URL('../../../../deploy/fleet-backlog.sql', import.meta.url)
    await client.query(await readFile(view, 'utf8'))
    const row = await reach(
      async () => {
        const { rows } = await client.query('SELECT * FROM heddle.fleet_backlog')
        return (rows as Record<string, string>[])[0]!
      },
      (found) => found['open_units'] === '500' && found['waiting_jobs'] === '1',
    )
    assert.deepEqual([row['servers'], row['leases'], row['idle_workers']], ['1', '0', '0'])
  } finally {
    await client.end()
  }
})
