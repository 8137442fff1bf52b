import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { intentFiles, serialize, type Intent } from '../../src/files/intent.ts'
import { restoreNow } from '../../src/files/restore-now.ts'
import { recover } from '../../src/files/restore.ts'
import { Folder } from './support.ts'

const sha = (content: string): string => createHash('sha256').update(content).digest('hex')

/** A journal entry for one file, as it is while the file is being changed. */
function begin(folder: Folder) {
  const file = folder.write('tree/file', 'original')
  const { uid, gid } = fs.statSync(file)
  fs.chmodSync(file, 0o640)
  const files = intentFiles(folder.at('journal'), 'id', file)
  const intent: Intent = {
    version: 1,
    path: file,
    temp: folder.at('tree/.file.tmp'),
    original: sha('original'),
    changed: sha('changed'),
    mode: 0o640,
    uid,
    gid,
    pid: process.pid,
    at: '2026-01-31T00:00:00.000Z',
  }
  folder.write('journal/id.json', serialize(intent))
  folder.write('journal/id.original', 'original')
  return { file, files, intent }
}

test('a rename that is under way and has not happened yet cannot happen any more', () => {
  using folder = new Folder()
  const { file, files, intent } = begin(folder)
  fs.writeFileSync(intent.temp, 'changed')
  restoreNow(files, intent, false)
  assert.throws(() => fs.renameSync(intent.temp, file), /ENOENT/)
  assert.equal(folder.read('tree/file'), 'original')
})

test('a rename that has just happened is undone', () => {
  using folder = new Folder()
  const { file, files, intent } = begin(folder)
  fs.writeFileSync(intent.temp, 'changed')
  fs.renameSync(intent.temp, file)
  restoreNow(files, intent, false)
  assert.equal(folder.read('tree/file'), 'original')
  if (process.platform !== 'win32') assert.equal(fs.statSync(file).mode & 0o7777, 0o640)
})

test('a file that appears afterwards is removed by the next recovery, which ignores later edits', async () => {
  using folder = new Folder()
  const { file, files, intent } = begin(folder)
  restoreNow(files, intent, false)
  fs.writeFileSync(intent.temp, 'half of the chan')
  fs.writeFileSync(file, 'edited after everything was over')
  assert.deepEqual(await recover(folder.at('journal')), { restored: [], untouched: [file] })
  assert.deepEqual(folder.names(), ['journal/registry.lock', 'tree/file'])
  assert.equal(folder.read('tree/file'), 'edited after everything was over')
})

test('when nothing is under way no trace is left', () => {
  using folder = new Folder()
  const { file, files, intent } = begin(folder)
  fs.writeFileSync(file, 'changed')
  restoreNow(files, intent, true)
  assert.deepEqual(folder.names(), ['tree/file'])
  assert.equal(folder.read('tree/file'), 'original')
})

test('a damaged copy is not put in place of anything', () => {
  using folder = new Folder()
  const { file, files, intent } = begin(folder)
  fs.writeFileSync(file, 'changed')
  fs.writeFileSync(files.original, 'orig')
  assert.throws(
    () => restoreNow(files, intent, true),
    (error) => isError(error, 'HDL_STORE_FAILED'),
  )
  assert.equal(folder.read('tree/file'), 'changed')
})

test('an edit is kept beside the original', () => {
  using folder = new Folder()
  const { file, files, intent } = begin(folder)
  fs.writeFileSync(file, 'edited')
  assert.throws(
    () => restoreNow(files, intent, true),
    (error) => isError(error, 'HDL_RESTORE_CONFLICT'),
  )
  assert.equal(folder.read('tree/file'), 'edited')
  assert.deepEqual(folder.names(), ['journal/kept/id-file', 'tree/file'])
})
