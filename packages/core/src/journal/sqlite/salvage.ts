/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
/**
 * What can still be read of a damaged journal.
 *
 * It works on a copy, so the damaged file stays as it is, and so do the files beside it. Tables are
 * read from both ends towards the damage, the history run by run: the lost rows are those between the
 * first and the last damaged page of a run. Positions are unchanged, so that a gap can be seen.
 * A run whose own record is lost gets one made up from its history, so that it can be inspected
 * and resumed: there may be hundreds of runs on one page.
 *
 * A copy that is there already is not made again: a run of it may have been resumed.
 *
 * Known limit: after the copying this process has no more locks on the damaged file (POSIX), also when
 * it has it open for writing. Other programs may then take it for one that is not in use.
 */
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { tmpdir } from 'node:os'
import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { DatabaseSync } from '../../sqlite/node-sqlite.ts'
import {
  applicationId,
  migrations,
  recount,
  schemaVersion,
  versionWithWriters,
} from './journal-schema.ts'
import { holderOf, Kind } from '../rows.ts'
import { migrate } from './migrate.ts'
import { savedName, valuesFolder } from './file-names.ts'
import { returnArrays } from './return-arrays.ts'
import { isEnd, runStateOf, storedRunStates } from '../states.ts'
import { toBlob } from '../../sqlite/blob.ts'

export interface Saved {
  readonly runs: number
  readonly rows: number
  /** The saved file; undefined when nothing was saved. */
  readonly saved: string | undefined
}

const nothing: Saved = { runs: 0, rows: 0, saved: undefined }

/** Reads the readable part of `file`; with `mayWrite` it is written to a file beside it. */
export function salvage(file: string, mayWrite: boolean): Saved {
  const target = savedName(file)
  if (existsSync(target)) return { ...countRows(target), saved: target }
  const parent = mayWrite ? dirname(file) : tmpdir()
  let folder: string | undefined
  try {
    folder = mkdtempSync(join(parent, `.${basename(file)}.saving-`))
    const copy = join(folder, 'copy.db')
    copyFileSync(file, copy, constants.COPYFILE_FICLONE)
    if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`)
    const draft = join(folder, 'saved.db')
    copyReadable(copy, draft)
    const counts = countRows(draft)
    if (counts.rows === 0 || !mayWrite) return { ...counts, saved: undefined }
    linkValues(draft, file, target)
    renameSync(draft, target)
    return { ...counts, saved: target }
  } catch {
    // No space for a copy, or no table in it: the damage itself is reported.
    return nothing
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
}

function countRows(file: string): { runs: number; rows: number } {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const { runs, rows } = database
      .prepare('SELECT (SELECT count(*) FROM run) AS runs, (SELECT count(*) FROM history) AS rows')
      .get()!
    return { runs: runs as number, rows: rows as number }
  } catch {
    return { runs: 0, rows: 0 }
  } finally {
    database.close()
  }
}

function copyReadable(from: string, to: string): void {
  // Node 22 does not know this option: its databases are never defensive.
  const options: object = { defensive: false }
  const source = new DatabaseSync(from, options)
  const target = new DatabaseSync(to)
  try {
    // Lets a file be read that is shorter than its header says.
    source.exec('PRAGMA writable_schema = ON; PRAGMA cell_size_check = ON')
    const header = source.prepare('PRAGMA application_id').get() as { application_id: number }
    const version = source.prepare('PRAGMA user_version').get() as { user_version: number }
    if (header.application_id !== applicationId || version.user_version > schemaVersion) return
    // An older file is migrated when it is next opened.
    migrate(target, to, migrations.slice(0, version.user_version))
    target.exec('BEGIN')
    copyTable(source, target, 'session', 'session')
    copyTable(source, target, 'run', 'run')
    copyTable(source, target, 'result', 'position')
    for (const run of runsOf(source)) copyTable(source, target, 'history', 'position', run)
    makeUpRuns(source, target)
    if (version.user_version >= versionWithWriters) target.exec(recount)
    target.exec('COMMIT')
  } finally {
    source.close()
    target.close()
  }
}

/** The runs that have rows, found one by one: a list of all would stop at the first damaged page. */
function* runsOf(source: DatabaseSync): Generator<number, void, undefined> {
  const known = new Set<number>()
  for (const table of ['run', 'history']) {
    for (const order of ['ASC', 'DESC']) {
      const sql = `SELECT DISTINCT run FROM ${table} ORDER BY run ${order}`
      for (const [run] of readable(source, sql, [])) {
        if (!known.has(run as number)) yield run as number
        known.add(run as number)
      }
    }
  }
}

/** Rows until the first that cannot be read. */
function* readable(
  source: DatabaseSync,
  sql: string,
  parameters: readonly number[],
): Generator<SQLOutputValue[], void, undefined> {
  try {
    const statement = returnArrays(source.prepare(sql))
    yield* statement.iterate(...parameters) as unknown as Iterable<SQLOutputValue[]>
  } catch {
    // The page is damaged; reading from the other end reaches the rows before it.
  }
}

function copyTable(
  source: DatabaseSync,
  target: DatabaseSync,
  table: string,
  key: string,
  run?: number,
): void {
  const columns = (
    target.prepare('SELECT name FROM pragma_table_info(?)').all(table) as { name: string }[]
  ).map(({ name }) => name)
  const insert = target.prepare(
    `INSERT OR IGNORE INTO ${table} VALUES (${columns.map(() => '?').join()})`,
  )
  const where = run === undefined ? '' : 'WHERE run = ?'
  for (const order of ['ASC', 'DESC']) {
    const sql = `SELECT ${columns.join()} FROM ${table} ${where} ORDER BY ${key} ${order}`
    for (const row of readable(source, sql, run === undefined ? [] : [run])) {
      try {
        // From the other end: rows that are there already have been read from this side.
        if (insert.run(...row.map(toCell)).changes === 0 && order === 'DESC') break
      } catch {
        // A value of the wrong type: one row is lost, not those behind it.
      }
    }
  }
}

/** Makes records of runs that have rows and no record. Their ids also stand in an index of their own. */
function makeUpRuns(source: DatabaseSync, target: DatabaseSync): void {
  const byIndex = 'SELECT run, id FROM run INDEXED BY sqlite_autoindex_run_1 ORDER BY id'
  const ids = new Map([...readable(source, byIndex, [])].map(([run, id]) => [run, id]))
  const lost = target
    .prepare('SELECT DISTINCT run FROM history WHERE run NOT IN (SELECT run FROM run)')
    .all()
  const read = target.prepare(
    `SELECT state, at, detail FROM history WHERE run = ? AND kind = ${Kind.run} ORDER BY position`,
  )
  const insert = target.prepare(
    `INSERT OR IGNORE INTO run (run, id, title, started_at, ended_at, state, pid, host, command, options)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  for (const { run } of lost as { run: number }[]) {
    const states = read.all(run) as { state: number; at: number; detail: string | null }[]
    const first = states[0]
    const last = states.at(-1)
    const { pid, host, command } = holderOf(states.find(({ detail }) => detail !== null)?.detail)
    const state = last?.state ?? storedRunStates.indexOf('running')
    const endedAt = last !== undefined && isEnd(runStateOf(last.state)) ? last.at : null
    const id = ids.get(run) ?? `saved-${run}`
    insert.run(
      run,
      id,
      command,
      first?.at ?? 0,
      endedAt,
      state,
      pid,
      host,
      command,
      toBlob(noOptions),
    )
  }
}

function toCell(value: SQLOutputValue): SQLInputValue {
  return value instanceof Uint8Array ? toBlob(value) : value
}

/** The encoding of an absent value. */
const noOptions = new Uint8Array(0)

/** The saved journal gets its own folder of large values, with the same files in it. */
function linkValues(saved: string, file: string, target: string): void {
  const from = valuesFolder(file)
  const to = valuesFolder(target)
  if (!existsSync(from)) return
  mkdirSync(to, { recursive: true })
  const database = new DatabaseSync(saved, { readOnly: true })
  try {
    const files = database.prepare("SELECT value FROM result WHERE typeof(value) = 'text'").all()
    for (const { value: name } of files as { value: string }[]) {
      if (existsSync(join(from, name)) && !existsSync(join(to, name)))
        linkOrCopy(join(from, name), join(to, name))
    }
  } finally {
    database.close()
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    // Not every file system has links.
    copyFileSync(from, to)
  }
}
