import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { bytes, job } from '@heddle/core'
import pg from 'pg'
import { examinePostgres } from '@heddle/core/lowlevel'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { startServer, type Server } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { reach } from '../../../core/test/kernel/until.ts'
import { clusterOf } from './support/two-servers.ts'

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

test('C1, C5: a drained server hands its shards over at once, and the other server finishes its work', async () => {
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

for (const place of ['database', 'folder'] as const) {
  test(`R4: a result of 33 MiB is in the ${place}, and a server that has not computed it has it`, async (t) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-results-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const store = newStore() + (place === 'folder' ? `&artifacts=folder:${folder}` : '')
    let runs = 0
    const draw = job({ name: 'draw' }, (fill: number) => {
      runs++
      return bytes(new Uint8Array(33 * 2 ** 20).fill(fill), 'image/png')
    })
    const one = await start(store, [draw])
    const { status, body } = await call(one, '/jobs/draw', { body: 7 })
    assert.equal(status, 202)
    await reach(
      () => clusterOf(one),
      (health) => health.open_jobs === 0,
    )
    assert.deepEqual(await one.drain(), { isClean: true })
    assert.equal((await readdir(folder)).length > 0, place === 'folder')
    await using two = await start(store, [draw])
    const answer = await fetch(`${two.url}/results/${String(body['handle'])}/0?wait=60000`)
    const read = Buffer.from(await answer.arrayBuffer())
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'image/png'])
    assert.ok(read.equals(Buffer.alloc(33 * 2 ** 20, 7)))
    assert.equal(runs, 1)
  })
}

test('a server has no more connections than heddle doctor counts for it', async () => {
  const store = newStore()
  const draw = job({ name: 'draw' }, (length: number, ctx) => {
    // A line of the log makes it a run of the journal, and a large result an artifact.
    ctx.log('drawn')
    return bytes(new Uint8Array(length), 'image/png')
  })
  await using server = await start(store, [draw])
  const { status } = await call(server, '/jobs/draw', { body: 100_000 })
  assert.equal(status, 202)
  await reach(
    () => clusterOf(server),
    (health) => health.open_jobs === 0,
  )
  assert.equal((await call(server, '/users')).status, 200)
  assert.equal((await call(server, '/runs')).status, 200)
  const client = new pg.Client({ connectionString: postgres.address })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `SELECT application_name AS name FROM pg_stat_activity
      WHERE application_name LIKE 'heddle%' AND datname = current_database() ORDER BY 1`,
  )
  await client.end()
  const { connections } = await examinePostgres(store)
  assert.ok(rows.length <= connections.needed, rows.map(({ name }) => name).join(', '))
})

test('C11: a server that is too old for its store drains, and says why', async () => {
  const store = newStore()
  const lines: string[] = []
  await using server = await startServer({
    jobs: [double],
    store,
    port: 0,
    threads: 1,
    limits: { loopGap: Infinity },
    onLog: ({ text }) => lines.push(text),
  })
  const client = new pg.Client({ connectionString: postgres.address })
  await client.connect()
  await client.query(
    `UPDATE ${new URL(store).searchParams.get('schema')}.meta SET oldest = version + 1`,
  )
  await client.end()
  assert.deepEqual(await server.stopped, { isClean: true })
  assert.match(lines.at(-1)!, /too old for its store.*drains/)
})
