/** C6: an input that is larger than a message between servers reaches a worker through any server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, run } from '@heddle/core'
import { startServer, type Server } from '@heddle/server'
import { openDatabase } from '@heddle/test-servers'
import { until } from '../../core/test/kernel/until.ts'
import { Worker } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'

async function shardsOf(server: Server): Promise<number> {
  const response = await fetch(`${server.url}/healthz`)
  const { cluster } = (await response.json()) as { cluster: { shards: number } }
  return cluster.shards
}

test('C6 J5: 70 MB go to a worker that talks to another server', async () => {
  await using postgres = await openDatabase()
  const store = `${postgres.address}?schema=large_values`
  const start = (): Promise<Server> =>
    startServer({ jobs, store, port: 0, threads: 1, limits: { loopGap: Infinity } })
  await using one = await start()
  await using two = await start()
  await until(async () => (await shardsOf(one)) === 128 && (await shardsOf(two)) === 128)
  const worker = new Worker({ server: two.url, jobs })
  const end = worker.run()
  const data = new Uint8Array(70_000_000)
  for (let at = 0; at < data.length; at += 1_000) data[at] = 1
  const graph = new Graph()
  const node = graph.add('count', jobs.countSet, { input: data })
  const result = await run(graph, { places: { fleet: one.fleet } })
  assert.deepEqual([...result.failed], [])
  assert.deepEqual(result.of(node), { length: 70_000_000, set: 70_000 })
  await worker.stop()
  await end
})
