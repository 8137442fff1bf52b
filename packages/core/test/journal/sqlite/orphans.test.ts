import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { writeRuns } from './damage.ts'
import { newStore } from './store-folder.ts'

test('V2: files without a row are removed after a writer was killed, and only then', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 2, 1)
  const folder = `${store.file}.values`
  const named = await readdir(folder)
  assert.equal(named.length, 2)
  const hash = 'ab'.repeat(32)
  const strangers = ['notes.txt', hash, '12-xyz.draft']
  for (const name of strangers) await writeFile(path.join(folder, name), 'x')
  await (await store.open()).stop()
  assert.deepEqual((await readdir(folder)).toSorted(), [...named, ...strangers].toSorted())
  {
    using database = new DatabaseSync(store.file)
    database.exec('UPDATE session SET closed_at = NULL')
  }
  await (await store.open()).stop()
  assert.deepEqual((await readdir(folder)).toSorted(), [...named, 'notes.txt'].toSorted())
})
