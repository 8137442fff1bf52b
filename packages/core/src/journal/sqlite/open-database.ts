/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
/**
 * Opening a file: the conditions before anything is read from it or written to it.
 *
 *   no file, or one without tables ──▶ made    (for writing)
 *   a database of ours, older ──▶ migrated     (for writing; for reading it is used as it is)
 *   … of this version ──▶ opened
 *   … newer ──▶ HDL_JOURNAL_NEWER
 *   … damaged, or not a database ──▶ HDL_JOURNAL_DAMAGED, with the readable part
 *   of another program ──▶ HDL_STORE_FAILED
 *   without tables ──▶ HDL_NO_JOURNAL          (for reading: its maker was killed, or has not made them yet)
 */
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from '../../sqlite/node-sqlite.ts'
import { HeddleError, describe } from '../../errors.ts'
import type { Durability } from '../journal.ts'
import { migrate } from './migrate.ts'
import { salvage } from './salvage.ts'
import { applicationId, migrations, schemaVersion } from './journal-schema.ts'
import { isDamage, storeError } from './sqlite-error.ts'
import { makeFolderNow } from '../../files/make-folder.ts'

/** How long to wait for programs that look into the file with other tools. */
const busyTimeout = 30_000

/** Larger files are not read from end to end when they are opened: 16 MiB take about 0.06 s. */
const wholeCheckLimit = 16 * 2 ** 20

/** Bytes of the header that every database begins with. */
const shortestDatabase = 100

/** Bytes of log that are kept for reuse; more is given back to the file system. */
export const keptLog: number = 16 * 2 ** 20

export function openForWriting(file: string, durability: Durability): DatabaseSync {
  try {
    makeFolderNow(dirname(file))
    checkLength(file)
    const database = new DatabaseSync(file, { timeout: busyTimeout })
    try {
      // Pages can be given back to the file system only in a file that was made so.
      if (isEmpty(database)) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
      else checkContent(database, file)
      const synchronous = durability === 'fsync' ? 'FULL' : 'NORMAL'
      // The two about fullfsync are for macOS, where fsync alone leaves data in the cache of the disk.
      database.exec(`
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = ${synchronous};
        PRAGMA fullfsync = ON;
        PRAGMA checkpoint_fullfsync = ON;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA journal_size_limit = ${keptLog};
      `)
      migrate(database, file, migrations)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw openError(file, error, true)
  }
}

/** `checked`: this process has it open for writing, so its content has been checked. */
export function openForReading(file: string, checked: boolean): DatabaseSync {
  if (!existsSync(file)) {
    const details = { store: file, action: 'be opened', cause: 'there is no such file' }
    throw new HeddleError('HDL_STORE_FAILED', details)
  }
  try {
    checkLength(file)
    const database = openReadOnly(file)
    try {
      if (checked) return database
      if (isEmpty(database)) throw new HeddleError('HDL_NO_JOURNAL', { path: file })
      checkContent(database, file)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw openError(file, error, false)
  }
}

/**
 * A database with a log needs a file for shared memory beside it. Where that cannot be made, as on a
 * read-only medium, the file is read as one that does not change.
 */
function openReadOnly(file: string): DatabaseSync {
  const options = { readOnly: true, timeout: busyTimeout }
  const database = new DatabaseSync(file, options)
  try {
    versionOf(database)
    return database
  } catch (error) {
    database.close()
    const log = `${file}-wal`
    if (isDamage(error) || (existsSync(log) && statSync(log).size > 0)) throw error
    return new DatabaseSync(`${pathToFileURL(file).href}?immutable=1`, options)
  }
}

/** The error of a failed opening. The readable part of a damaged file is saved. */
function openError(file: string, error: unknown, maySave: boolean): HeddleError {
  if (!isDamage(error)) return storeError(file, 'be opened', error)
  const saved = salvage(file, maySave)
  const problem = describe(error)
  return new HeddleError('HDL_JOURNAL_DAMAGED', { path: file, problem, ...saved }, { cause: error })
}

class Damage extends Error {
  /** The number that SQLite uses: SQLITE_CORRUPT. */
  readonly errcode = 11
}

/**
 * SQLite itself would take a file of a byte for an empty database, and overwrite it. Anything longer it
 * refuses.
 *
 * The file is not opened for that: to close it would take away all locks that this process has on it
 * (POSIX), those of a journal that is open in another thread among them. Other programs would then
 * take the log for one that is not in use, and remove it.
 */
function checkLength(file: string): void {
  const { size } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0 }
  if (size > 0 && size < shortestDatabase) throw new Damage('it is too short for a database')
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}

function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
}

export function versionOf(database: DatabaseSync): number {
  return pragma(database, 'user_version') as number
}

function checkContent(database: DatabaseSync, file: string): void {
  if (pragma(database, 'application_id') !== applicationId) {
    const cause = 'it is a database of another program'
    throw new HeddleError('HDL_STORE_FAILED', { store: file, action: 'be opened', cause })
  }
  const found = versionOf(database)
  if (found > schemaVersion) {
    throw new HeddleError('HDL_JOURNAL_NEWER', { path: file, found, known: schemaVersion })
  }
  if (statSync(file).size > wholeCheckLimit) return
  const problem = pragma(database, 'quick_check(1)')
  if (problem !== 'ok') throw new Damage(String(problem).replaceAll(/\s+/g, ' '))
}
