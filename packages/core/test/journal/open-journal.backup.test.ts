/** Backups as docs/guide/guarantees.md tells to make them: beside a writer, and restored elsewhere. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { findProgram, openDatabase } from '@heddle/test-servers'
import type { Journal, RunWriter } from '../../src/journal/journal.ts'
import { openJournal } from '../../src/journal/open-journal.ts'
import { all, header, someone, step, story } from '../../src/testing/journal/case.ts'
import { reach } from '../kernel/until.ts'
import { newFolder } from './sqlite/store-folder.ts'

const execute = promisify(execFile)

/** Every tenth result is too large for a row. */
const resultOf = (attempt: number): string =>
  `${attempt} `.padEnd(attempt % 10 === 0 ? 200_000 : 20, 'x')

/** Commits one result after the other. */
class Busy {
  readonly #writer: RunWriter
  acknowledged = 0
  #isOver = false

  constructor(writer: RunWriter) {
    this.#writer = writer
  }

  async write(results: number): Promise<void> {
    for (const end = this.acknowledged + results; this.acknowledged < end;) {
      const attempt = this.acknowledged
      await this.#writer.commit(step(`n${attempt}`, 'succeeded'), resultOf(attempt))
      this.acknowledged++
    }
  }

  /** Writes until the work has ended, and some results at least. */
  async beside(work: Promise<unknown>): Promise<void> {
    const ended = work.finally(() => (this.#isOver = true))
    do await this.write(10)
    while (!this.#isOver)
    await ended
  }
}

/** The restored run has what was acknowledged before the backup, with all results, and is resumed. */
async function checkRestored(journal: Journal, before: number, most: number): Promise<void> {
  await reach(
    () => journal.snapshot('r'),
    ({ state }) => state === 'interrupted',
  )
  const rows = await story(journal, 'r')
  const results = rows.filter((row) => row.endsWith('succeeded'))
  assert.ok(results.length >= before && results.length <= most, `${results.length} results`)
  for (const [attempt, row] of results.entries()) {
    assert.equal(row, `n${attempt} succeeded`)
    assert.equal(await journal.valueOf('r', `n${attempt}`), resultOf(attempt))
  }
  const writer = await journal.resumeRun('r', someone)
  await writer.commit(step('after', 'succeeded'), 'restored')
  assert.equal(await journal.valueOf('r', 'after'), 'restored')
  assert.equal((await all(journal.history('r'))).length, rows.length + 2)
}

test("a file that is copied beside its writer, with SQLite's backup and then its folders, is restored elsewhere", async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'runs.db')
  const copy = path.join(folder.path, 'elsewhere.db')
  await using journal = await openJournal(file)
  const busy = new Busy(await journal.openRun(header('r', [])))
  await busy.write(20)
  const copyAll = async (): Promise<void> => {
    using source = new DatabaseSync(file, { readOnly: true })
    await backup(source, copy, { rate: 10_000 })
    await cp(`${file}.values`, `${copy}.values`, { recursive: true })
  }
  await busy.beside(copyAll())
  await using restored = await openJournal(copy)
  await checkRestored(restored, 20, busy.acknowledged)
})

test('a schema that pg_dump has copied beside its writer is restored into another database', async (t) => {
  const folder = path.dirname(findProgram('postgres') ?? '')
  const [dump, psql] = ['pg_dump', 'psql'].map((name) => path.join(folder, name))
  if (!existsSync(dump!) || !existsSync(psql!)) {
    t.skip('this PostgreSQL came without pg_dump and psql')
    return
  }
  await using home = await newFolder()
  await using source = await openDatabase()
  await using target = await openDatabase()
  await using journal = await openJournal(`${source.address}?schema=heddle`)
  const busy = new Busy(await journal.openRun(header('r', [])))
  await busy.write(20)
  const copy = path.join(home.path, 'dump.sql')
  await busy.beside(execute(dump!, ['--schema=heddle', `--file=${copy}`, source.address]))
  await execute(psql!, ['--quiet', '--set=ON_ERROR_STOP=1', `--file=${copy}`, target.address])
  await using restored = await openJournal(`${target.address}?schema=heddle`)
  await checkRestored(restored, 20, busy.acknowledged)
})
