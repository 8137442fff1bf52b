import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import {
  dropIntent,
  hashOfBytes,
  hashOfFile,
  intentFiles,
  readIntent,
  restoreFile,
  writeIntent,
  type Intent,
} from '../../src/files/intent.ts'
import { systemKernel } from '../../src/kernel/kernel.ts'
import { Folder } from './support.ts'

const sha = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

async function begin(folder: Folder) {
  const file = folder.write('file', 'changed')
  const { uid, gid } = fs.statSync(file)
  const files = intentFiles(folder.at('journal'), 'id', file)
  folder.write('journal/id.original', 'original')
  const intent: Intent = {
    version: 1,
    path: file,
    temp: folder.at('.file.tmp'),
    original: sha('original'),
    changed: sha('changed'),
    mode: 0o600,
    uid,
    gid,
    pid: 1,
    at: '2026-01-31T00:00:00.000Z',
  }
  await writeIntent(files, intent, systemKernel)
  return { files, intent }
}

test('an intent is read back unchanged', async () => {
  using folder = new Folder()
  const { files, intent } = await begin(folder)
  assert.deepEqual(await readIntent(files.intent), intent)
})

test('restoring can be repeated, also after an interrupted attempt', async () => {
  using folder = new Folder()
  const { files, intent } = await begin(folder)
  folder.write('.file.tmp', 'half of the orig')
  assert.equal(await restoreFile(files, intent), 'restored')
  assert.equal(await restoreFile(files, intent), 'untouched')
  await dropIntent(files, intent)
  await dropIntent(files, intent)
  assert.deepEqual(folder.names(), ['file'])
  assert.equal(folder.read('file'), 'original')
})

test('a damaged copy is not put in place of anything', async () => {
  using folder = new Folder()
  const { files, intent } = await begin(folder)
  fs.writeFileSync(files.original, 'orig')
  await assert.rejects(restoreFile(files, intent), (error) => isError(error, 'HDL_STORE_FAILED'))
  assert.equal(folder.read('file'), 'changed')
})

test('a conflict that was interrupted after moving the original is settled by the next attempt', async () => {
  using folder = new Folder()
  const { files, intent } = await begin(folder)
  folder.write('file', 'edited')
  folder.write('journal/kept/id-file', 'original')
  fs.rmSync(files.original)
  await assert.rejects(restoreFile(files, intent), (error) => {
    assert.ok(isError(error, 'HDL_RESTORE_CONFLICT'))
    assert.equal(error.details.kept, files.kept)
    return true
  })
  assert.deepEqual(folder.names(), ['file', 'journal/kept/id-file'])
})

test('hashes of files, bytes and files that are not there', async () => {
  using folder = new Folder()
  const bytes = Buffer.alloc(300_000, 'heddle')
  folder.write('large', bytes)
  assert.equal(await hashOfFile(folder.at('large')), sha(bytes))
  assert.equal(await hashOfBytes(bytes), sha(bytes))
  assert.equal(await hashOfFile(folder.at('missing')), undefined)
})
