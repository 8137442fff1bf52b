import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { FileGuard } from '../../src/sqlite/file-guard.ts'
import { temporaryFolder } from '../run/kit.ts'

test('G1: a file that was deleted, moved or replaced is noticed; one that was written to is not', (t) => {
  const file = path.join(temporaryFolder(t), 'a.db')
  for (const [change, expected] of [
    [() => appendFileSync(file, 'more'), undefined],
    [() => rmSync(file), /^the file was deleted or moved while/],
    [() => renameSync(file, `${file}.old`), /^the file was deleted or moved/],
    [
      () => {
        writeFileSync(`${file}.new`, 'x')
        renameSync(`${file}.new`, file)
      },
      /^the file was replaced by another one/,
    ],
  ] as const) {
    writeFileSync(file, 'content')
    const guard = new FileGuard()
    assert.equal(guard.add(file, 'the file', { is: 'database' }), true)
    assert.equal(guard.findProblem(), undefined)
    change()
    if (expected === undefined) assert.equal(guard.findProblem(), undefined)
    else assert.match(guard.findProblem()!, expected)
  }
})

test('G1: folders are watched too, missing ones are not', (t) => {
  const folder = path.join(temporaryFolder(t), 'values')
  const guard = new FileGuard()
  assert.equal(guard.add(folder, 'the folder', { is: 'folder' }), false)
  assert.equal(guard.findProblem(), undefined)
  mkdirSync(folder)
  assert.equal(guard.add(folder, 'the folder', { is: 'folder' }), true)
  rmSync(folder, { recursive: true })
  assert.match(guard.findProblem()!, /^the folder was deleted/)
})

test('G2: a file that comes back is not the same', (t) => {
  const file = path.join(temporaryFolder(t), 'a.db')
  writeFileSync(file, 'content')
  const guard = new FileGuard()
  guard.add(file, 'the file', { is: 'database' })
  renameSync(file, `${file}.away`)
  assert.notEqual(guard.findProblem(), undefined)
  renameSync(`${file}.away`, file)
  assert.notEqual(guard.findProblem(), undefined)
})

test('G3: a database that was emptied or cut short is noticed, one that its owner has vacuumed is not', (t) => {
  const file = path.join(temporaryFolder(t), 'a.db')
  for (const [size, mayBe, expected] of [
    [0, undefined, /^the file was emptied while/],
    [5, undefined, /^the file was cut short while/],
    [5, () => true, undefined],
    [0, () => true, /^the file was emptied/],
  ] as const) {
    writeFileSync(file, 'content')
    const guard = new FileGuard()
    guard.add(file, 'the file', { is: 'database', ...(mayBe && { mayBe }) })
    truncateSync(file, size)
    if (expected === undefined) assert.equal(guard.findProblem(), undefined)
    else assert.match(guard.findProblem()!, expected)
  }
})

test('G4: a log that was emptied or cut short is noticed, a checkpoint that restarts it is accepted', (t) => {
  for (const [change, expected] of [
    [(file: string) => truncateSync(`${file}-wal`, 0), /^the log was emptied while/],
    [(file: string) => truncateSync(`${file}-wal`, 4096), /^the log was cut short while/],
    [() => undefined, undefined],
  ] as const) {
    const file = path.join(temporaryFolder(t), 'a.db')
    using database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)')
    const guard = new FileGuard()
    guard.add(`${file}-wal`, 'the log', { is: 'log' })
    assert.equal(guard.findProblem(), undefined)
    change(file)
    if (expected !== undefined) {
      assert.match(guard.findProblem()!, expected)
      continue
    }
    database.exec('INSERT INTO t VALUES (2)')
    assert.equal(guard.findProblem(), undefined)
    database.exec('PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (3)')
    assert.equal(guard.findProblem(), undefined)
  }
})
