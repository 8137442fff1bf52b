import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { makeDefaultFolder } from '../../src/journal/open-journal.ts'

test('the default folder keeps itself out of git, and its content is kept', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await makeDefaultFolder(folder)
  const ignore = path.join(folder, '.heddle/.gitignore')
  assert.equal(readFileSync(ignore, 'utf8'), '*\n')
  writeFileSync(ignore, 'mine')
  await makeDefaultFolder(folder)
  assert.equal(readFileSync(ignore, 'utf8'), 'mine')
})

test('a folder that cannot be made is an error, not a run without a record', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, '.heddle'), 'a file')
  await assert.rejects(makeDefaultFolder(folder), { code: 'EEXIST' })
  assert.ok(existsSync(path.join(folder, '.heddle')))
})
