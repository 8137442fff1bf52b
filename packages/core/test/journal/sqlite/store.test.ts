import assert from 'node:assert/strict'
import { statSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import type { BatchWire, Cell, RunChange } from '../../../src/journal/sqlite/messages.ts'
import { openForWriting } from '../../../src/journal/sqlite/open-database.ts'
import { JournalStore } from '../../../src/journal/sqlite/store.ts'
import { newFolder } from './store-folder.ts'

interface Batch {
  readonly first: number
  readonly rows: readonly Cell[][]
  readonly results?: BatchWire['results']
  readonly bodies?: Uint8Array<ArrayBuffer>
  readonly changes?: readonly RunChange[]
}

function wire({ first, rows, results = [], bodies, changes = [] }: Batch): BatchWire {
  return { batch: 1, first, rows: rows.flat(), results, hasFiles: false, bodies, changes }
}

const row = (run: number, attempt: number): Cell[] => [run, 0, 'a', 2, attempt, 0.5, null]

test('rows go in as they are, whether they fill a statement or not', async () => {
  for (const count of [1, 31, 32, 33, 64, 100]) {
    await using folder = await newFolder()
    const database = openForWriting(path.join(folder.path, 'x.db'), 'process')
    const store = new JournalStore(database, { pid: 1, at: 1 })
    store.write([wire({ first: 11, rows: Array.from({ length: count }, (_, i) => row(3, i)) })])
    const found = database.prepare('SELECT * FROM history ORDER BY position').all()
    assert.deepEqual(
      found.map(({ run, position, attempt, at }) => [run, position, attempt, at]),
      found.map((_, i) => [3, 11 + i, i, 0.5]),
    )
    assert.equal(found.length, count)
    store.close(2, true)
  }
})

test('results are stored under the positions of their rows: bytes, nothing, and names of files', async () => {
  await using folder = await newFolder()
  const database = openForWriting(path.join(folder.path, 'x.db'), 'process')
  const store = new JournalStore(database, { pid: 1, at: 1 })
  const rows = Array.from({ length: 50 }, (_, i) => row(1, i))
  const results = rows.flatMap((_, i) => (i % 3 === 0 ? [i, `file ${i}`] : [i, i % 2]))
  const bodies = new Uint8Array(50).fill(9)
  store.write([wire({ first: 100, rows, results, bodies })])
  const found = database.prepare('SELECT position, value FROM result ORDER BY position').all()
  assert.deepEqual(
    found.map(({ position, value }) => [
      position,
      typeof value === 'string' ? value : (value as Uint8Array).length,
    ]),
    rows.map((_, i) => [100 + i, i % 3 === 0 ? `file ${i}` : i % 2]),
  )
  store.close(2, true)
})

test('J4: the last position and the last run are found again, also of runs that have no record', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  {
    const store = new JournalStore(openForWriting(file, 'process'), { pid: 1, at: 1 })
    assert.deepEqual(store.opened(), { session: 1, position: 0, run: 0 })
    store.write([wire({ first: 1, rows: [row(1, 0), row(4, 0), row(2, 0), row(4, 1), row(1, 1)] })])
    store.close(2, true)
  }
  const store = new JournalStore(openForWriting(file, 'process'), { pid: 1, at: 3 })
  assert.deepEqual(store.opened(), { session: 2, position: 5, run: 4 })
  store.close(4, true)
})

test('durability: fsync waits for the medium at each commit, process does not', async () => {
  await using folder = await newFolder()
  for (const [durability, synchronous] of [
    ['fsync', 2],
    ['process', 1],
  ] as const) {
    using database = openForWriting(path.join(folder.path, `${durability}.db`), durability)
    assert.equal(database.prepare('PRAGMA synchronous').get()!['synchronous'], synchronous)
    assert.equal(database.prepare('PRAGMA journal_mode').get()!['journal_mode'], 'wal')
  }
})

test('the log is moved into the database before it grows without bound', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const store = new JournalStore(openForWriting(file, 'process'), { pid: 1, at: 1 })
  let position = 1
  let largest = 0
  for (let group = 0; group < 4000; group++) {
    const rows = Array.from({ length: 50 }, (_, i) => row(1, i))
    store.write([wire({ first: position, rows })])
    position += rows.length
    store.keepUp()
    if (group % 100 === 0) largest = Math.max(largest, statSync(`${file}-wal`).size)
  }
  assert.ok(largest < 32 * 2 ** 20, `the log has grown to ${largest} bytes`)
  assert.ok(statSync(file).size > 5 * 2 ** 20)
  store.close(2, true)
})

test('S3: no room is added to the log while another program writes to the database', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const database = openForWriting(file, 'fsync')
  database.exec('PRAGMA busy_timeout = 0')
  const store = new JournalStore(database, { pid: 1, at: 1 })
  const size = (): number => statSync(`${file}-wal`).size
  const before = size()
  {
    using other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    assert.throws(() => store.reserveLog(), /locked/)
    assert.equal(size(), before)
  }
  store.keepUp()
  assert.equal(size(), before + 2 ** 20)
  store.write([wire({ first: 1, rows: [row(1, 0)] })])
  assert.equal(size(), before + 2 ** 20)
  store.close(2, true)
})

test('room is added to the log of the database, not of a link to it', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const link = path.join(folder.path, 'link.db')
  symlinkSync(file, link)
  const store = new JournalStore(openForWriting(link, 'fsync'), { pid: 1, at: 1 })
  store.reserveLog()
  assert.ok(statSync(`${file}-wal`).size > 2 ** 20)
  store.close(2, true)
})

test('law 4: of very many runs that end only some are remembered for counting, and all are counted', async () => {
  await using folder = await newFolder()
  const database = openForWriting(path.join(folder.path, 'x.db'), 'process')
  const store = new JournalStore(database, { pid: 1, at: 1 })
  const runs = Array.from({ length: 2500 }, (_, i) => i + 1)
  const holder = { pid: 1, host: 'h', command: 'c' }
  const options = new Uint8Array(0)
  const changes = runs.flatMap((run): RunChange[] => [
    { type: 'open', run, id: `r${run}`, title: 't', startedAt: 1, holder, options },
    { type: 'state', run, state: 4, endedAt: 5 },
  ])
  store.write([wire({ first: 1, rows: runs.map((run) => row(run, 0)), changes })])
  const uncounted = database.prepare('SELECT count(*) AS n FROM run WHERE counts IS NULL')
  assert.deepEqual({ ...uncounted.get() }, { n: 2500 })
  for (let i = 0; i < 5000 && store.hasIdleWork; i++) store.workIdly()
  assert.deepEqual({ ...uncounted.get() }, { n: 0 })
  store.close(2, true)
})
