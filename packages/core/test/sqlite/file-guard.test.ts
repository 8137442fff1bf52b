import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { FileGuard } from '../../src/sqlite/file-guard.ts'
import { temporaryFolder } from '../run/kit.ts'

test('G1: a file that was deleted, moved or replaced is noticed; one that was written to is not', (t) => {
  const file = path.join(temporaryFolder(t), 'a.db')
  for (const [change, expected] of [
    [() => writeFileSync(file, 'more'), undefined],
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
    assert.equal(guard.add(file, 'the file'), true)
    assert.equal(guard.findProblem(), undefined)
    change()
    if (expected === undefined) assert.equal(guard.findProblem(), undefined)
    else assert.match(guard.findProblem()!, expected)
  }
})

test('G1: folders are watched too, and what is not there is not', (t) => {
  const folder = path.join(temporaryFolder(t), 'values')
  const guard = new FileGuard()
  assert.equal(guard.add(folder, 'the folder'), false)
  assert.equal(guard.findProblem(), undefined)
  mkdirSync(folder)
  assert.equal(guard.add(folder, 'the folder'), true)
  rmSync(folder, { recursive: true })
  assert.match(guard.findProblem()!, /^the folder was deleted/)
})

test('G2: a file that comes back is not the same', (t) => {
  const file = path.join(temporaryFolder(t), 'a.db')
  writeFileSync(file, 'content')
  const guard = new FileGuard()
  guard.add(file, 'the file')
  renameSync(file, `${file}.away`)
  assert.notEqual(guard.findProblem(), undefined)
  renameSync(`${file}.away`, file)
  assert.notEqual(guard.findProblem(), undefined)
})
