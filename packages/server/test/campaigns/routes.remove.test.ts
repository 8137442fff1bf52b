/** P10: a campaign that has ended is removed with everything that it left. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openStore } from '@heddle/core/lowlevel'
import { startServer, type Server } from '../../src/server.ts'
import { readCampaign, readClosedLeases } from '../../src/campaigns/records.ts'
import { fleetTables } from '../../src/fleet/fleet-tables.ts'
import { upload } from '../artifacts/kit.ts'
import { holdAs } from '../fleet/http-kit.ts'
import { call } from '../support/client.ts'

const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)

/** More leases than are removed in one batch. */
const leases = 210

async function playLeases(server: Server): Promise<void> {
  for (let number = 0; number < leases; number++) {
    const held = await holdAs(server, 'worker-1')
    if (number === 0) {
      const stored = await upload(server, { ...held, campaign: '' }, 'game', Buffer.alloc(1_000))
      assert.equal(stored.status, 201)
    }
    const report = { ...held, sequence: 1, done: 1, result: null }
    await call(server, '/fleet/update', { body: report })
    await call(server, '/fleet/fail', { body: { ...held, stage: 'hand_back', message: '' } })
  }
}

test('P10: a campaign that has ended is removed with its leases and artifacts, one that has not is refused', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-remove-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    const start = (): Promise<Server> =>
      startServer({ jobs: [play], store, port: 0, limits: { loopGap: Infinity } })
    let id: string
    {
      await using server = await start()
      const made = await call(server, '/campaigns', {
        body: { name: 'm', job: 'play', units: 1e6 },
      })
      id = String(made.body['id'])
      await playLeases(server)
      const early = await call(server, `/campaigns/${id}`, { method: 'DELETE' })
      assert.deepEqual([early.status, early.body.error?.code], [400, 'bad_request'])
      assert.match(early.body.error?.message ?? '', /has not ended: stop it first/)
      await call(server, `/campaigns/${id}/stop`, { body: {} })
      const removed = await call(server, `/campaigns/${id}`, { method: 'DELETE' })
      assert.deepEqual([removed.status, removed.body['leases']], [200, leases])
      // With the list of what was there.
      assert.ok(Number(removed.body['artifact_bytes']) >= 1_000)
      for (const route of ['', '/stats']) {
        assert.equal((await call(server, `/campaigns/${id}${route}`)).status, 404)
      }
      const again = await call(server, `/campaigns/${id}`, { method: 'DELETE' })
      assert.equal(again.status, 404)
      const { body } = await call(server, '/campaigns')
      assert.deepEqual(body['campaigns'], [])
    }
    {
      await using opened = await openStore(store, { tables: fleetTables })
      assert.equal(await readCampaign(opened.tables, id), undefined)
      assert.deepEqual(await readClosedLeases(opened.tables, id, 0, 10), [])
      const files = await readdir(folder, { recursive: true })
      assert.deepEqual(
        files.filter((file) => file.includes(id)),
        [],
      )
    }
    // A server that starts finds nothing of it.
    await using server = await start()
    assert.equal((await call(server, `/campaigns/${id}`)).status, 404)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
