/** Inputs and results that are large, or that JSON does not carry. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Graph, run } from '@heddle/core'
import { startServer, type Server } from '@heddle/server'
import * as jobs from './fixtures/jobs.ts'

/** Megabytes that the heap of the worker may have: less than the values it transfers. */
const heap = 40

async function withWorker(use: (server: Server) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-values-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
    const script = fileURLToPath(new URL('./fixtures/work.ts', import.meta.url))
    const args = ['--conditions=heddle-source', '--disable-warning=ExperimentalWarning']
    const worker = spawn(
      process.execPath,
      [...args, `--max-old-space-size=${heap}`, script, server.url],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    const exited = once(worker, 'exit')
    try {
      await use(server)
      worker.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
    } finally {
      worker.kill('SIGKILL')
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('J5: 50 MB go to a worker with a heap of 40 MB and come back, and a date stays a date', async () => {
  await withWorker(async (server) => {
    const data = new Uint8Array(50_000_000)
    for (let at = 0; at < data.length; at += 1_000) data[at] = at % 251
    const graph = new Graph()
    const at = new Date(1_790_000_000_000)
    const node = graph.add('flip', jobs.flip, { input: { at, data } })
    const result = await run(graph, { places: { fleet: server.fleet } })
    assert.deepEqual([...result.failed], [])
    const flipped = result.of(node)
    assert.deepEqual(flipped.at, at)
    assert.equal(flipped.data.length, data.length)
    assert.ok(Buffer.from(flipped.data.map((byte) => 255 - byte)).equals(data))
  })
})

test('J5: a small value that JSON cannot carry arrives unchanged', async () => {
  await withWorker(async (server) => {
    const graph = new Graph()
    const input = { at: new Date(0), data: Uint8Array.of(0, 1, 255) }
    const node = graph.add('flip', jobs.flip, { input })
    const result = await run(graph, { places: { fleet: server.fleet } })
    assert.deepEqual(result.of(node), { at: new Date(0), data: Uint8Array.of(255, 254, 0) })
  })
})
