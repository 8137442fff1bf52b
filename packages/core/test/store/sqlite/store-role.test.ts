import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../src/journal/open-store.ts'
import { shardCount, shardOf } from '../../../src/store/shard-of.ts'

test('C10, Q2: a living process keeps its shards; those of a killed process are free at once', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-store-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'store.db')
  const fixture = path.join(import.meta.dirname, 'fixtures/own-shards.ts')
  const child = spawn(process.execPath, [fixture, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  assert.equal(line.toString().trim(), String(shardCount))

  await using store = await openStore(`sqlite:${file}`)
  assert.deepEqual(await store.renew('parent', 600_000), { held: [], servers: 2 })
  assert.deepEqual(await store.acquire('parent', shardCount), [])

  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  const grants = await store.acquire('parent', shardCount)
  assert.deepEqual(new Set(grants.map(({ epoch }) => epoch)), new Set([2]))
  assert.equal(grants.length, shardCount)
  const open = await store.openJobs([shardOf('job')])
  assert.deepEqual(
    open.map(({ handle, input }) => [handle, input.length]),
    [['job', 0]],
  )
})
