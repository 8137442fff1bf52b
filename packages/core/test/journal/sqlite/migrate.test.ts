import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { migrate } from '../../../src/journal/sqlite/migrate.ts'
import { migrations, schemaVersion } from '../../../src/journal/sqlite/journal-schema.ts'
import { newFolder } from './store-folder.ts'

const first = { title: 'first', sql: 'CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)' }
const second = { title: 'second', sql: 'ALTER TABLE t ADD COLUMN b; UPDATE t SET b = a * 10' }
const bad = { title: 'bad', sql: 'ALTER TABLE t ADD COLUMN c; SELECT * FROM nowhere' }

function read(file: string): { version: unknown; rows: unknown[] } {
  using database = new DatabaseSync(file, { readOnly: true })
  return {
    version: database.prepare('PRAGMA user_version').get()!['user_version'],
    rows: database
      .prepare('SELECT * FROM t ORDER BY a')
      .all()
      .map((row) => ({ ...row })),
  }
}

test('the version of a file is the number of migrations it has seen', () => {
  assert.equal(schemaVersion, migrations.length)
})

test('a new file gets all tables and no backup; a second time nothing happens', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  using database = new DatabaseSync(file)
  migrate(database, file, [first, second])
  migrate(database, file, [first, second])
  assert.deepEqual(read(file), {
    version: 2,
    rows: [
      { a: 1, b: 10 },
      { a: 2, b: 20 },
    ],
  })
  assert.equal(existsSync(`${file}.v1.backup.db`), false)
})

test('an older file is copied, then migrated', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  using database = new DatabaseSync(file)
  migrate(database, file, [first])
  database.exec('INSERT INTO t VALUES (3)')
  migrate(database, file, [first, second])
  assert.equal(read(file).version, 2)
  assert.deepEqual(read(`${file}.v1.backup.db`), {
    version: 1,
    rows: [{ a: 1 }, { a: 2 }, { a: 3 }],
  })
})

test('a migration that fails leaves the file unchanged, names the step, and can be tried again', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  using database = new DatabaseSync(file)
  migrate(database, file, [first])
  for (let attempt = 0; attempt < 2; attempt++) {
    assert.throws(() => migrate(database, file, [first, second, bad]), {
      code: 'HDL_STORE_FAILED',
      message: /be migrated from schema version 1 to 3 \("bad"\): no such table: nowhere/,
    })
    assert.deepEqual(read(file), { version: 1, rows: [{ a: 1 }, { a: 2 }] })
  }
  migrate(database, file, [first, second])
  assert.equal(read(file).version, 2)
})
