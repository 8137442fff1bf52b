import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { LogSpace } from '../../../src/journal/sqlite/log-space.ts'
import { newFolder } from './store-folder.ts'

const mebibyte = 2 ** 20

/** A database with a log, and room ahead in it. */
class Rig {
  readonly file: string
  readonly log: string
  readonly database: DatabaseSync
  readonly space: LogSpace
  #rows = 0

  constructor(folder: string, limit = 16 * mebibyte) {
    this.file = path.join(folder, 'x.db')
    this.log = `${this.file}-wal`
    this.database = new DatabaseSync(this.file)
    this.database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE t (x INTEGER PRIMARY KEY, y);
    `)
    this.space = new LogSpace(this.log, 4096, limit)
  }

  get size(): number {
    return statSync(this.log).size
  }

  /** Bytes of the log up to the last that is not 0. */
  get written(): number {
    return readFileSync(this.log).findLastIndex((byte) => byte !== 0)
  }

  /** The page that it touches is mostly empty: a frame is mostly zeros. */
  commit(): void {
    this.database.prepare('INSERT INTO t VALUES (?, ?)').run(++this.#rows, 1)
    if (this.space.isShort) this.space.extend()
  }

  [Symbol.dispose](): void {
    this.space.close()
    this.database.close()
  }
}

test('commits write over room that is there already, and get more before it is used up', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  const sizes = new Set<number>()
  for (let i = 0; i < 700; i++) {
    rig.commit()
    sizes.add(rig.size)
    if (i % 50 === 0) assert.ok(rig.written < rig.size)
  }
  // It grew by whole steps only: SQLite itself never made it longer.
  const steps = [...sizes]
  assert.ok(steps.length >= 3)
  for (let i = 1; i < steps.length; i++) assert.equal(steps[i]! - steps[i - 1]!, mebibyte)
})

test('S1: recovery of the log after a crash finds the committed rows and nothing else', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  for (let i = 0; i < 100; i++) rig.commit()
  const copy = path.join(folder.path, 'copy.db')
  await copyFile(rig.file, copy)
  await copyFile(rig.log, `${copy}-wal`)
  using recovered = new DatabaseSync(copy)
  assert.deepEqual(
    { ...recovered.prepare('SELECT count(*) AS n, max(x) AS x FROM t').get() },
    { n: 100, x: 100 },
  )
  assert.equal(Object.values(recovered.prepare('PRAGMA quick_check').get()!)[0], 'ok')
})

test('S1: a log that starts again is overwritten from its beginning', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  for (let i = 0; i < 300; i++) rig.commit()
  const before = rig.size
  rig.database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  for (let i = 0; i < 300; i++) rig.commit()
  assert.equal(rig.size, before)
  assert.equal(rig.database.prepare('SELECT count(*) AS n FROM t').get()!['n'], 600)
})

test('it is never made longer than the part that is kept', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path, 2 * mebibyte)
  for (let i = 0; i < 400; i++) rig.commit()
  assert.ok(rig.size < 2 * mebibyte)
  assert.equal(rig.database.prepare('SELECT count(*) AS n FROM t').get()!['n'], 400)
})

test('after another program has cut the log there is room again', async () => {
  await using folder = await newFolder()
  using rig = new Rig(folder.path)
  rig.commit()
  rig.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  assert.equal(rig.size, 0)
  rig.commit()
  assert.ok(rig.size > mebibyte)
  assert.equal(rig.database.prepare('SELECT count(*) AS n FROM t').get()!['n'], 2)
})
