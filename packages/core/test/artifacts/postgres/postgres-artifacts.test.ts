import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import type { ArtifactStore } from '../../../src/artifacts/artifact-store.ts'
import { openArtifacts } from '../../../src/artifacts/open-artifacts.ts'
import { pieceBytes } from '../../../src/artifacts/pieces.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { Link } from '../../../src/store/postgres/database-link.ts'
import { artifactStoreConformance } from '../../../src/testing/artifact-store-conformance.ts'
import { openRun, someone, step } from '../../../src/testing/journal/case.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

let schemas = 0

/** Tables of their own, with a connection to look behind them. */
interface Place extends AsyncDisposable {
  readonly address: string
  readonly schema: string
  count(table: string): Promise<number>
  run(statement: string): Promise<void>
}

function makePlace(): Place {
  const schema = `artifacts_${++schemas}`
  const address = `${postgres.address}?schema=${schema}`
  const admin = new Link({ address: readAddress(address), clock: systemClock })
  return {
    address,
    schema,
    async count(table) {
      const [row] = await admin.call<[string]>('count', `SELECT count(*) FROM ${schema}.${table}`)
      return Number(row![0])
    },
    run: async (statement) =>
      void (await admin.call('change', statement.replaceAll('@.', `${schema}.`))),
    [Symbol.asyncDispose]: () => admin.close(),
  }
}

async function read(store: ArtifactStore, run: string, name: string): Promise<string> {
  const opened = await store.open(run, name)
  const pieces: Uint8Array[] = []
  for await (const piece of opened.bytes) pieces.push(piece)
  return Buffer.concat(pieces).toString('latin1')
}

artifactStoreConformance('postgres', async () => {
  const place = makePlace()
  const opened: ArtifactStore[] = []
  return {
    async open(quota = {}) {
      const store = await openArtifacts(place.address, { quota })
      opened.push(store)
      return store
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) await store[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
})

test('F1: rows of a killed process are removed by the next writer; its upload can be resumed', async () => {
  await using place = makePlace()
  await using store = await openArtifacts(place.address, { quota: { bytes: 2 * pieceBytes + 20 } })
  await store.put('run-1', 'a', 'one')
  const killed = fork(path.join(import.meta.dirname, 'fixtures/put-forever.ts'), [place.address], {
    execArgv: ['--conditions=heddle-source'],
  })
  const [upload] = (await once(killed, 'message')) as [{ length: number; sha256: string }]
  assert.equal(await place.count('artifact_draft'), 2)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  const resumed = { ...upload, resumable: true }
  // Until its lease runs out its upload counts as being received.
  await place.run("UPDATE @.holder SET until = now() + interval '1 hour' WHERE id <> 'pruned'")
  await assert.rejects(store.put('run-1', 'upload', '', resumed), { code: 'HDL_ARTIFACT_BUSY' })
  await place.run("UPDATE @.holder SET until = now() - interval '1 second' WHERE id <> 'pruned'")
  assert.equal(await store.received('run-1', 'upload', upload), pieceBytes)
  // The quota has room for this only when the half-written artifact is gone.
  await store.put('run-1', 'b', 'x'.repeat(pieceBytes))
  assert.equal(await place.count('artifact_draft'), 1)
  assert.equal(await place.count('artifact_garbage'), 0)
  const rest = new Uint8Array(upload.length - pieceBytes)
  await store.put('run-1', 'upload', rest, { ...resumed, start: pieceBytes })
  assert.deepEqual(
    (await store.list('run-1')).map(({ name, length }) => [name, length]),
    [
      ['a', 3],
      ['b', pieceBytes],
      ['upload', upload.length],
    ],
  )
  assert.equal(await place.count('artifact_draft'), 0)
})

test('F1: small pieces are gathered, and a large piece is cut', async () => {
  await using place = makePlace()
  await using store = await openArtifacts(place.address)
  const reused = new Uint8Array(100)
  const content = async function* (): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 5_000; count++) yield reused.fill(count % 251)
    yield new Uint8Array(2 * pieceBytes + 5).fill(7)
  }
  const { length } = await store.put('run-1', 'a', content())
  assert.equal(length, 500_000 + 2 * pieceBytes + 5)
  assert.equal(await place.count('artifact_piece'), Math.ceil(length / pieceBytes))
  const found = await read(store, 'run-1', 'a')
  assert.equal(found.length, length)
  assert.equal(found.charCodeAt(100 * 250), 250)
})

test('F3: the quota holds over processes', async () => {
  await using place = makePlace()
  const quota = { bytes: 10, count: 3 }
  await using one = await openArtifacts(place.address, { quota })
  await using two = await openArtifacts(place.address, { quota })
  await one.put('run-1', 'a', 'xxxx')
  await two.put('run-1', 'b', 'xxxx')
  const puts = [one.put('run-1', 'c', 'xx'), two.put('run-1', 'd', 'xx')]
  const codes = (await Promise.allSettled(puts)).map((each) =>
    each.status === 'fulfilled' ? 'put' : (each.reason as { code: string }).code,
  )
  assert.deepEqual(codes.toSorted(), ['HDL_ARTIFACT_QUOTA', 'put'])
  await assert.rejects(one.put('run-1', 'e', ''), { code: 'HDL_ARTIFACT_QUOTA' })
  // Replacing needs no room of its own once the earlier one is shorter.
  await two.put('run-1', 'a', '', { by: '' })
  assert.deepEqual(await Array.fromAsync(one.sizes()), [['run-1', 6]])
})

test('F5: bytes that were changed or lost in the database are damage', async () => {
  await using place = makePlace()
  await using store = await openArtifacts(place.address)
  await store.put('run-1', 'a', 'right')
  await place.run("UPDATE @.artifact_piece SET bytes = 'wrong'")
  await assert.rejects(read(store, 'run-1', 'a'), { code: 'HDL_ARTIFACT_DAMAGED' })
  await place.run("UPDATE @.artifact_piece SET bytes = 'rig'")
  await assert.rejects(read(store, 'run-1', 'a'), { code: 'HDL_ARTIFACT_DAMAGED' })
  await place.run('DELETE FROM @.artifact_piece')
  await assert.rejects(read(store, 'run-1', 'a'), { code: 'HDL_ARTIFACT_DAMAGED' })
})

test('a replaced artifact is kept for an hour for its readers, then the next put removes it', async () => {
  await using place = makePlace()
  await using store = await openArtifacts(place.address)
  await store.put('run-1', 'a', 'old')
  await using reading = await store.open('run-1', 'a')
  await store.put('run-1', 'a', 'new')
  await store.put('run-1', 'b', 'other')
  assert.equal(Buffer.concat(await Array.fromAsync(reading.bytes)).toString(), 'old')
  assert.equal(await place.count('artifact_piece'), 3)
  await place.run("UPDATE @.artifact_garbage SET due = now() - interval '1 second'")
  await store.put('run-2', 'c', '')
  assert.equal(await place.count('artifact_piece'), 2)
  assert.equal(await place.count('artifact_garbage'), 0)
})

test('a put whose run is removed before its end fails and leaves nothing', async () => {
  await using place = makePlace()
  await using store = await openArtifacts(place.address)
  const content = async function* (): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(pieceBytes)
    await store.remove('run-1')
    yield new Uint8Array(pieceBytes)
  }
  await assert.rejects(store.put('run-1', 'a', content()), { code: 'HDL_STORE_FAILED' })
  for (const table of ['artifact', 'artifact_draft', 'artifact_piece', 'artifact_budget']) {
    assert.equal(await place.count(table), 0, table)
  }
})

test('J5: a process whose run was taken over lists no artifact of it', async () => {
  await using place = makePlace()
  await using silent = await openJournal(place.address)
  await using other = await openJournal(place.address)
  const lost = await openRun(silent, 'lost')
  await lost.commit(step('a', 'running'))
  await silent.artifacts!.put('lost', 'a', 'by the first, in time')
  await place.run("UPDATE @.run SET holder = 'gone'")
  const taken = await other.resumeRun('lost', someone)
  await other.artifacts!.put('lost', 'a', 'by the second')
  await assert.rejects(silent.artifacts!.put('lost', 'a', 'by the first, too late'), {
    code: 'HDL_RUN_LOST',
  })
  assert.equal(await read(other.artifacts!, 'lost', 'a'), 'by the second')
  await taken[Symbol.asyncDispose]()
  await assert.rejects(async () => lost[Symbol.asyncDispose](), { code: 'HDL_RUN_LOST' })
})

test('C12: the artifacts of a run are pruned with it, also of one that an earlier version has pruned', async () => {
  await using place = makePlace()
  await using journal = await openJournal(place.address)
  for (const id of ['first', 'second', 'third']) {
    const writer = await openRun(journal, id)
    await writer.commit(step('a', 'succeeded'), 1)
    writer.setState('finished', 9)
    await writer[Symbol.asyncDispose]()
    await journal.artifacts!.put(id, 'film', new Uint8Array(100 * pieceBytes))
  }
  await journal.artifacts!.put('campaign-7', 'games', 'not of a run')
  await place.run(
    "SELECT @.prune_runs_2(ARRAY[run], ARRAY[epoch], true) FROM @.run WHERE id = 'first'",
  )
  const { runs, bytes } = await journal.prune!({ keep: 1 })
  assert.deepEqual(
    runs.map(({ id }) => id),
    ['second'],
  )
  assert.ok(bytes >= 200 * pieceBytes)
  const left = (await Array.fromAsync(journal.artifacts!.sizes())).map(([run]) => run)
  assert.deepEqual(left, ['campaign-7', 'third'])
  assert.equal(await place.count('artifact_piece'), 101)
  assert.equal(await place.count('artifact_garbage'), 0)
})

test('a call whose answer was lost may be sent again', async () => {
  await using place = makePlace()
  await using store = await openArtifacts(place.address)
  await store.put('other', 'a', '')
  await place.run("INSERT INTO @.holder VALUES ('me', now() + interval '1 minute')")
  const begin = `SELECT @.artifact_begin_1('run-1', 'a', '', 'body', 'put', NULL, 0, 0, 'me', 100, 10)`
  const piece = (start: number): string =>
    `SELECT @.artifact_piece_1('run-1', 'body', 'put', ${start}, 'abc'::bytea, 100)`
  const list = `SELECT @.artifact_list_1('run-1', 'a', '', 'body', 'put', 6, 'sum', 1, NULL, NULL)`
  for (const call of [begin, begin, piece(0), piece(0), piece(3), piece(3), list, list]) {
    await place.run(call)
  }
  const [info] = await store.list('run-1')
  assert.deepEqual([info!.length, info!.createdAt], [6, 1])
  assert.deepEqual(await Array.fromAsync(store.sizes()), [
    ['other', 0],
    ['run-1', 6],
  ])
  const second = (call: string): string => call.replace("'body'", "'second'").replace("'a'", "'b'")
  const abandon = `SELECT @.artifact_abandon_1('run-1', 'body', 'put', false)`
  for (const call of [begin, piece(0), abandon, abandon]) await place.run(second(call))
  assert.equal(await place.count('artifact_draft'), 0)
  assert.deepEqual(await Array.fromAsync(store.sizes()), [
    ['other', 0],
    ['run-1', 6],
  ])
})
