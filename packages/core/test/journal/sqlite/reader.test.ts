import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { openForReading } from '../../../src/journal/sqlite/open-database.ts'
import { JournalReader } from '../../../src/journal/sqlite/reader.ts'
import { writeRuns } from './damage.ts'
import { newStore } from './store-folder.ts'

/** What one step of a prune does in one transaction. */
function pruneNow(file: string): void {
  using database = new DatabaseSync(file)
  database.exec(`BEGIN; UPDATE run SET visible = 0, key = NULL;
    DELETE FROM result; DELETE FROM history; COMMIT`)
}

/** Its statements are prepared by `prepare`. */
function preparedBy(
  database: DatabaseSync,
  prepare: (sql: string) => ReturnType<DatabaseSync['prepare']>,
): DatabaseSync {
  return new Proxy(database, {
    get: (target, name) => {
      const found: unknown = name === 'prepare' ? prepare : Reflect.get(target, name, target)
      return typeof found === 'function' ? (found.bind(target) as unknown) : found
    },
  })
}

const reads: Readonly<Record<string, (reader: JournalReader) => unknown>> = {
  overview: (reader) => reader.overview('r0'),
  snapshot: (reader) => reader.snapshot('r0', Number.MAX_SAFE_INTEGER),
  history: (reader) => reader.history('r0', 0),
  value: (reader) => reader.value('r0', 'a'),
  results: (reader) => reader.results('r0', 0),
  parts: (reader) => reader.parts({ type: 'parts', run: 'r0', node: 'a', from: 0, values: true }),
}

for (const [name, read] of Object.entries(reads)) {
  test(`C12: a run that another process prunes between two statements of a read is unknown: ${name}`, async () => {
    await using store = await newStore()
    await writeRuns(store.file, 1, 10)
    using database = openForReading(store.file, false)
    let isArmed = false
    const prepare: DatabaseSync['prepare'] = (sql) => {
      // The first read of rows: the run was found before it.
      if (isArmed && /history|result/.test(sql)) {
        isArmed = false
        pruneNow(store.file)
      }
      return database.prepare(sql)
    }
    const data = { file: store.file, address: store.file, session: undefined }
    const reader = new JournalReader(preparedBy(database, prepare), data, () => Promise.resolve())
    isArmed = true
    await assert.rejects(async () => read(reader), { code: 'HDL_UNKNOWN_RUN' })
    assert.equal(isArmed, false, 'the run was pruned')
  })
}
