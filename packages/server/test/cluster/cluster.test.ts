import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { job } from '@heddle/core'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { startServer, type Server } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { clusterOf, reach } from './support/two-servers.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

let schemas = 0
const newStore = (): string => `${postgres.address}?schema=cluster_${++schemas}`

const start = (store: string, jobs: readonly unknown[]): Promise<Server> =>
  startServer({ jobs, store, port: 0, threads: 1, limits: { loop: 16, loopGap: Infinity } })

const double = job({ name: 'double' }, (n: number) => n * 2)

test('C1, C6: two servers share the shards, and each answers for every handle', async () => {
  const store = newStore()
  await using one = await start(store, [double])
  await reach(
    () => clusterOf(one),
    ({ shards }) => shards === 256,
  )
  await using two = await start(store, [double])
  await reach(
    async () => [await clusterOf(one), await clusterOf(two)] as const,
    ([a, b]) => a.shards === 128 && b.shards === 128,
  )
  const handles: string[] = []
  for (let n = 0; n < 12; n++) {
    const { status, body } = await call(one, '/jobs/double?wait=60000', { body: n })
    assert.deepEqual([status, body['result']], [200, n * 2])
    handles.push(String(body['handle']))
  }
  for (const [n, handle] of handles.entries()) {
    const { status, body } = await call(two, `/results/${handle}/0?wait=60000`)
    assert.deepEqual([status, body['result']], [200, n * 2])
  }
  const forwarded = (await clusterOf(one)).forwarded + (await clusterOf(two)).forwarded
  assert.ok(forwarded > 0 && forwarded < 24, `${forwarded} of 24 were forwarded`)
})

test('C1, C5: a drained server hands its shards over at once, and the other finishes what it was asked to do', async () => {
  const store = newStore()
  const first = new Gate<number>('work')
  const one = await start(store, [first.job])
  await reach(
    () => clusterOf(one),
    ({ shards }) => shards === 256,
  )
  const handles: string[] = []
  for (let n = 0; n < 6; n++) {
    const { status, body } = await call(one, '/jobs/work', { body: n })
    assert.equal(status, 202)
    handles.push(String(body['handle']))
  }
  await first.started(6)
  const second = new Gate<number>('work')
  await using two = await start(store, [second.job])
  assert.deepEqual(await one.drain({ deadline: 0 }), { isClean: false })
  for (let count = 1; count <= 6; count++) (await second.started(count)).finish('done')
  for (const handle of handles) {
    const { status, body } = await call(two, `/results/${handle}/0?wait=60000`)
    assert.deepEqual([status, body['result']], [200, 'done'])
  }
  await reach(
    () => clusterOf(two),
    (health) => health.open_jobs === 0,
  )
  // Results are in the store: a server that has computed nothing has them.
  assert.deepEqual(await two.drain(), { isClean: true })
  await using three = await start(store, [second.job])
  await reach(
    () => clusterOf(three),
    ({ shards }) => shards === 256,
  )
  const { body } = await call(three, `/results/${handles[0]}/0?wait=60000`)
  assert.equal(body['result'], 'done')
  assert.equal(second.starts.length, 6)
})

test('C6: an advertised server needs a secret, of one or two lines', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-secret-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = newStore()
  const advertise = 'http://127.0.0.1:4500'
  const base = { jobs: [double], store, port: 0, advertise }
  const bad = { code: 'HDL_BAD_OPTION' }
  await assert.rejects(startServer(base), bad)
  const clusterSecret = path.join(folder, 'secret')
  await assert.rejects(startServer({ ...base, clusterSecret }), bad)
  await writeFile(clusterSecret, 'too short\n')
  await assert.rejects(startServer({ ...base, clusterSecret }), bad)
  await writeFile(clusterSecret, `${'a'.repeat(32)}\n${'b'.repeat(32)}\n`)
  await using server = await startServer({ ...base, clusterSecret })
  assert.ok((await clusterOf(server)).servers >= 1)
  await assert.rejects(startServer({ ...base, advertise: 'ftp://x' }), bad)
})
