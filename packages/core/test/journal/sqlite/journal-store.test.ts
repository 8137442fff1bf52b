import assert from 'node:assert/strict'
import { statSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import type { BatchWire, Cell, RunChange } from '../../../src/journal/batch.ts'
import { openForWriting } from '../../../src/journal/sqlite/open-database.ts'
import { JournalStore, type SessionStart } from '../../../src/journal/sqlite/journal-store.ts'
import { newFolder } from './store-folder.ts'

interface Batch {
  readonly rows: readonly Cell[][]
  readonly results?: BatchWire['results']
  readonly bodies?: Uint8Array<ArrayBuffer>
  readonly changes?: readonly RunChange[]
}

function wire({ rows, results = [], bodies, changes = [] }: Batch): BatchWire {
  return { batch: 1, rows: rows.flat(), results, hasFiles: false, bodies, changes }
}

let sessions = 0

/** A process that opens a file. */
const by = (file: string): SessionStart => ({
  file,
  pid: process.pid,
  at: 1,
  lock: `test ${++sessions}`,
})

const row = (run: number, attempt: number): Cell[] => [run, 0, 'a', 2, attempt, 0.5, null]

test('rows are inserted unchanged, whether they fill a statement or not', async () => {
  for (const count of [1, 31, 32, 33, 64, 100]) {
    await using folder = await newFolder()
    const file = path.join(folder.path, 'x.db')
    const database = openForWriting(file, 'process')
    const store = new JournalStore(database, by(file))
    store.write([wire({ rows: Array.from({ length: count }, (_, i) => row(3, i)) })], 0)
    const found = database.prepare('SELECT * FROM history ORDER BY position').all()
    assert.deepEqual(
      found.map(({ run, position, attempt, at }) => [run, position, attempt, at]),
      found.map((_, i) => [3, 1 + i, i, 0.5]),
    )
    assert.equal(found.length, count)
    store.close(2, true)
  }
})

test('results are stored under the positions of their rows: bytes, nothing, and names of files', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const database = openForWriting(file, 'process')
  const store = new JournalStore(database, by(file))
  const rows = Array.from({ length: 50 }, (_, i) => row(1, i))
  const results = rows.flatMap((_, i) => (i % 3 === 0 ? [i, `file ${i}`] : [i, i % 2]))
  const bodies = new Uint8Array(50).fill(9)
  store.write([wire({ rows, results, bodies })], 0)
  const found = database.prepare('SELECT position, value FROM result ORDER BY position').all()
  assert.deepEqual(
    found.map(({ position, value }) => [
      position,
      typeof value === 'string' ? value : (value as Uint8Array).length,
    ]),
    rows.map((_, i) => [1 + i, i % 3 === 0 ? `file ${i}` : i % 2]),
  )
  store.close(2, true)
})

/** A run that this store writes. */
function claim(store: JournalStore, id: string, key?: string): number {
  const holder = { pid: 1, host: 'h', command: 'c' }
  const options = new Uint8Array(0)
  const wanted = { claim: 'new', id, key, title: 't', startedAt: 1, holder, options } as const
  const [answer] = store.write([wanted], 0)
  return (answer as { run: number }).run
}

function positionsIn(database: DatabaseSync): [run: number, position: number][] {
  const found = database.prepare('SELECT run, position FROM history ORDER BY position').all()
  return found.map((each) => [each['run'] as number, each['position'] as number])
}

test('D2: positions and runs are counted on from the last that was used, also by a killed process', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  {
    const store = new JournalStore(openForWriting(file, 'process'), by(file))
    const run = claim(store, 'r')
    store.write([wire({ rows: [row(run, 0), row(run, 1)] })], 0)
    store.close(2, true)
  }
  // As of a process that was killed: not closed.
  using killed = openForWriting(file, 'process')
  const left = new JournalStore(killed, by(file))
  const unseen = claim(left, 'unseen')
  left.write([wire({ rows: [row(unseen, 0)] })], 0)
  using database = openForWriting(file, 'process')
  const store = new JournalStore(database, by(file))
  const run = claim(store, 'next')
  store.write([wire({ rows: [row(run, 0)] })], 0)
  assert.deepEqual(positionsIn(database), [
    [1, 1],
    [1, 2],
    [2, 3],
    [3, 4],
  ])
})

test('D2: two that write in turns never give a position twice, and each run has its own in order', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  using database = openForWriting(file, 'process')
  using second = openForWriting(file, 'process')
  const stores = [new JournalStore(database, by(file)), new JournalStore(second, by(file))]
  const runs = stores.map((store, index) => claim(store, `r${index}`))
  assert.deepEqual(runs, [1, 2])
  for (let i = 0; i < 60; i++) {
    const which = i % 7 < 3 ? 0 : 1
    const rows = Array.from({ length: 1 + (i % 3) }, (_, n) => row(runs[which]!, n))
    stores[which]!.write([wire({ rows })], 0)
    if (i !== 30) continue
    stores[1]!.write([wire({ rows: [], changes: [{ type: 'leave', run: 2 }] })], 0)
    runs[1] = claim(stores[1]!, 'another')
  }
  const positions = positionsIn(database).map(([, position]) => position)
  assert.deepEqual(
    positions,
    positions.map((_, index) => index + 1),
  )
})

test('D3: rows of a run that another session has taken are left out, rows of other runs are not', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  using database = openForWriting(file, 'process')
  using second = openForWriting(file, 'process')
  // Without a lock a session looks dead: its runs can be taken.
  const stale = new JournalStore(database, by(file))
  const [taken, kept] = [claim(stale, 'taken'), claim(stale, 'kept')]
  const open = [taken, kept].map((run): RunChange => ({ type: 'open', run }))
  stale.write([wire({ rows: [row(taken, 0), row(kept, 0)], changes: open })], 0)
  const owner = new JournalStore(second, by(file))
  assert.deepEqual(owner.write([{ claim: 'held', id: 'taken' }], 0), [{ run: taken }])
  const late = wire({
    rows: [row(taken, 1), row(kept, 1), row(taken, 2), row(kept, 2)],
    results: [0, 2, 1, 1, 2, 'file', 3, 3],
    bodies: new Uint8Array([1, 1, 2, 3, 3, 3]),
    changes: [{ type: 'state', run: taken, state: 4, endedAt: 5 }],
  })
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(stale.write([late], 0), [{ commit: 0, lost: [taken] }])
  }
  const rows = database.prepare('SELECT attempt FROM history WHERE run = ? ORDER BY position')
  const attempts = (run: number): unknown[] => rows.all(run).map(({ attempt }) => attempt)
  assert.deepEqual(attempts(taken), [0])
  assert.deepEqual(attempts(kept), [0, 1, 2, 1, 2])
  const values = database.prepare('SELECT value FROM result ORDER BY position LIMIT 2').all()
  assert.deepEqual(
    values.map(({ value }) => [...(value as Uint8Array)]),
    [[2], [3, 3, 3]],
  )
  const state = database.prepare('SELECT state FROM run WHERE run = ?').get(taken)!['state']
  assert.equal(state, 1)
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
  const store = new JournalStore(openForWriting(file, 'process'), by(file))
  let largest = 0
  for (let group = 0; group < 4000; group++) {
    const rows = Array.from({ length: 50 }, (_, i) => row(1, i))
    store.write([wire({ rows })], 0)
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
  const store = new JournalStore(database, by(file))
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
  store.write([wire({ rows: [row(1, 0)] })], 0)
  assert.equal(size(), before + 2 ** 20)
  store.close(2, true)
})

test('room is added to the log of the database, not of a link to it', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const link = path.join(folder.path, 'link.db')
  symlinkSync(file, link)
  const store = new JournalStore(openForWriting(link, 'fsync'), by(link))
  store.reserveLog()
  assert.ok(statSync(`${file}-wal`).size > 2 ** 20)
  store.close(2, true)
})

test('law 4: of very many runs that end only some are remembered for counting, and all are counted', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const database = openForWriting(file, 'process')
  const store = new JournalStore(database, by(file))
  const runs = Array.from({ length: 2500 }, (_, i) => i + 1)
  for (const run of runs) assert.equal(claim(store, `r${run}`), run)
  const changes = runs.flatMap((run): RunChange[] => [
    { type: 'open', run },
    { type: 'state', run, state: 4, endedAt: 5 },
  ])
  store.write([wire({ rows: runs.map((run) => row(run, 0)), changes })], 0)
  const uncounted = database.prepare('SELECT count(*) AS n FROM run WHERE counts IS NULL')
  assert.deepEqual({ ...uncounted.get() }, { n: 2500 })
  for (let i = 0; i < 5000 && store.hasIdleWork; i++) store.workIdly()
  assert.deepEqual({ ...uncounted.get() }, { n: 0 })
  store.close(2, true)
})
