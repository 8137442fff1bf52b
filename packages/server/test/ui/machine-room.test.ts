import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import type { LoopWatch, ThreadPool } from '@heddle/core/lowlevel'
import type { InventoryView, LoadView, ServersView } from '@heddle/server/client'
import { loopView } from '../../src/ui/machine-room.ts'

const block = job({ name: 'block' }, () => null)

async function read<T>(url: string, route: string): Promise<T> {
  const response = await fetch(`${url}${route}`)
  assert.equal(response.status, 200)
  return (await response.json()) as T
}

test('a gap of the loop is listed with the job and the line that caused it, newest first', () => {
  const gap = { ms: 80, label: 'job "parse"', stack: ['parse (/app/jobs.ts:12:9)'], certain: true }
  const loop = {
    stats: () => ({
      state: 'running',
      threshold: 50,
      gaps: 2,
      longest: 120,
      starved: { gaps: 1, longest: 30 },
      delays: { p50: 1, p99: 20, max: 120 },
      recent: [
        { ...gap, startedAt: 1_000 },
        { ...gap, startedAt: 2_000, starved: 12 },
      ],
    }),
  } as unknown as LoopWatch
  const pool = {
    stats: () => ({ threads: [], jobs: [], queued: 0, crashed: 0, killed: 0 }),
  } as unknown as ThreadPool
  const view = loopView({ loop, pool })
  assert.deepEqual(
    view.recent.map(({ started_at: at, starved_ms: starved }) => [at, starved]),
    [
      [2_000, 12],
      [1_000, 0],
    ],
  )
  assert.equal(view.recent[0]!.label, 'job "parse"')
  assert.deepEqual(view.recent[0]!.stack, ['parse (/app/jobs.ts:12:9)'])
  assert.deepEqual(view.starved, { gaps: 1, longest_ms: 30 })
})

test('Y2 a refusal is listed with the Retry-After that its client got', async () => {
  await using server = await startServer({ jobs: [block], port: 0 })
  const logIn = () =>
    fetch(`${server.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'x', password: 'y' }),
    })
  let refused = await logIn()
  for (let i = 0; i < 10 && refused.status !== 429; i++) refused = await logIn()
  assert.equal(refused.status, 429)
  const { refusals } = await read<LoadView>(server.url, '/load')
  assert.equal(refusals[0]?.route, 'POST /login')
  assert.equal(refusals[0].retry_after_s, Number(refused.headers.get('retry-after')))
})

test('a server on its own owns all shards', async () => {
  await using server = await startServer({ jobs: [block], port: 0 })
  const { servers, owners } = await read<ServersView>(server.url, '/servers')
  assert.equal(servers.length, 1)
  assert.equal(servers[0]!.shards, 256)
  assert.ok(owners.every((owner) => owner === 0) && owners.length === 256)
})

test('the inventory is read from the named file, and a problem with it is said', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-inventory-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const inventory = path.join(folder, 'inventory.json')
  {
    await using server = await startServer({ jobs: [block], port: 0 })
    assert.equal((await read<InventoryView>(server.url, '/inventory')).file, null)
  }
  await using server = await startServer({ jobs: [block], port: 0, inventory })
  const ask = () => read<InventoryView>(server.url, '/inventory')
  assert.match((await ask()).problem ?? '', /no such file/)
  writeFileSync(inventory, '{ "version": 1 }')
  assert.match((await ask()).problem ?? '', /no matrix/)
  writeFileSync(inventory, '{ "version": 1, "matrix": [] }')
  assert.deepEqual((await ask()).inventory, { version: 1, matrix: [] })
})
