import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import type { HeddleError } from '../../../src/errors.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { schemaVersion } from '../../../src/journal/sqlite/journal-schema.ts'
import { damage, middlePage, pageSize, pagesOf, ruinPage, writeRuns } from './damage.ts'
import { newFolder, newStore } from './store-folder.ts'

type Damaged = HeddleError<'HDL_JOURNAL_DAMAGED'>

async function refusal(opening: Promise<AsyncDisposable>): Promise<Damaged> {
  try {
    await using _journal = await opening
  } catch (error) {
    return error as Damaged
  }
  return assert.fail('it was opened')
}

/** Opens it for writing and for reading; the file must be as it was. */
async function refusals(file: string): Promise<[writing: Damaged, reading: Damaged]> {
  const before = readFileSync(file)
  const reading = await refusal(openJournal(file, { readOnly: true }))
  const writing = await refusal(openJournal(file))
  assert.deepEqual(readFileSync(file), before, 'the damaged file was changed')
  return [writing, reading]
}

test('S81 a newer file is refused with both versions, and is not changed', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 1, 5)
  {
    using database = new DatabaseSync(store.file)
    database.exec(`PRAGMA user_version = ${schemaVersion + 6}`)
  }
  for (const error of await refusals(store.file)) {
    assert.equal(error.code, 'HDL_JOURNAL_NEWER')
    const known = `version ${schemaVersion + 6}; this version of Heddle knows versions up to ${schemaVersion}`
    assert.ok(error.message.includes(known), error.message)
  }
})

test('S81 a database of another program is refused, and is not changed', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'other.db')
  {
    using database = new DatabaseSync(file)
    database.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)')
  }
  for (const error of await refusals(file)) {
    assert.equal(error.code, 'HDL_STORE_FAILED')
    assert.match(error.message, /it is a database of another program/)
  }
})

test('S81 a file that is not a database is refused, however short, and is not changed', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'x.db')
  const contents = ['x', '[]', '{"runs": null}', 'SQLite format 3', 'y'.repeat(10_000)]
  for (const content of contents) {
    await writeFile(file, content)
    for (const error of await refusals(file)) {
      assert.equal(error.code, 'HDL_JOURNAL_DAMAGED', content)
      assert.match(error.message, /too short for a database|file is not a database/)
      assert.deepEqual([error.details.runs, error.details.rows], [0, 0])
      assert.equal(error.details.saved, undefined)
    }
  }
  assert.equal(existsSync(`${file}.saved.db`), false)
})

test('a file without tables is a journal that was killed before its first word: it is used', async () => {
  await using folder = await newFolder()
  const empty = path.join(folder.path, 'empty.db')
  await writeFile(empty, '')
  const bare = path.join(folder.path, 'bare.db')
  {
    using database = new DatabaseSync(bare)
    database.exec('PRAGMA journal_mode = WAL')
  }
  for (const file of [empty, bare]) {
    const reading = await refusal(openJournal(file, { readOnly: true }))
    assert.equal(reading.code, 'HDL_NO_JOURNAL', 'it has nothing to show, and is nobody else’s')
    await writeRuns(file, 1, 1)
    await using journal = await openJournal(file, { readOnly: true })
    assert.equal((await journal.runs()).length, 1)
  }
})

test('S81 a truncated file is reported with the readable part', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 6, 800)
  await damage(store.file, (bytes) => bytes.subarray(0, bytes.length - 4 * pageSize))
  const [writing, reading] = await refusals(store.file)
  for (const { code, details } of [writing, reading]) {
    assert.equal(code, 'HDL_JOURNAL_DAMAGED')
    assert.ok(details.rows > 500 && details.rows < 6 * 800, `${details.rows} rows`)
  }
  assert.equal(reading.details.saved, undefined, 'a reader writes nothing')
  assert.equal(writing.details.saved, `${store.file}.saved.db`)
  await using saved = await openJournal(writing.details.saved)
  assert.equal((await saved.runs()).length, writing.details.runs)
})

test('a damaged page is reported with the readable part', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 3, 500)
  await ruinPage(store.file, middlePage(store.file))
  const [writing, reading] = await refusals(store.file)
  assert.equal(reading.code, 'HDL_JOURNAL_DAMAGED')
  assert.equal(writing.code, 'HDL_JOURNAL_DAMAGED')
  assert.equal(writing.details.runs, 3)
  assert.ok(writing.details.rows > 1200, `${writing.details.rows} rows`)
  assert.match(writing.message, /3 runs with \d+ rows can be read and were saved to/)
  assert.match(writing.help, /is as it was/)
})

test('damage that is found only when it is read is reported by the reader', async () => {
  await using store = await newStore()
  // More than SQLite keeps in memory of what it has looked at.
  await writeRuns(store.file, 1, 80_000)
  await using journal = await openJournal(store.file, { readOnly: true })
  assert.equal((await journal.runs()).length, 1)
  await ruinPage(store.file, pagesOf(store.file, 'history')[5]!)
  await assert.rejects(journal.snapshot('r0'), { code: 'HDL_JOURNAL_DAMAGED' })
})

test('text in another format is damage, not a SyntaxError', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 1, 3)
  {
    using database = new DatabaseSync(store.file)
    database.exec("UPDATE history SET detail = '{half' WHERE kind = 4")
  }
  await using journal = await openJournal(store.file, { readOnly: true })
  await assert.rejects(journal.snapshot('r0'), { code: 'HDL_JOURNAL_DAMAGED' })
})
