/* oxlint-disable node/no-sync -- runs in the tier's own thread, where waiting is what it is for */
/**
 * The directory of one cache.
 *
 *   <directory>/heddle-cache-v1-<hash of the namespace>/
 *     cache.db         rows: everything but large values
 *     files/           large values, named by the SHA-256 of their bytes
 *     staging/         large values that are being written
 *     cache.lock       held by the process that has it open; cache.lock.json names it
 *
 * A folder that is not ours, or that is damaged, is left alone: the cache then uses
 * the next free name (`…-2`). A cache may start empty at any time; a directory that another program
 * made, or a newer version of this package, may be all they have.
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '../../../sqlite/node-sqlite.ts'
import { HeddleError } from '../../../errors.ts'
import { holdLock, type HeldLock } from '../../../files/exclusive-lock.ts'
import { makeFolderNow } from '../../../files/make-folder.ts'

/** Read as text: "hdlC". */
const applicationId = 0x68646c43
const schemaVersion = 1

const databaseName = 'cache.db'
const ourNames = /^(files|staging|cache\.(db|lock).*)$/

/** More damaged or foreign directories than there should ever be. */
const maxNames = 20

const schema = `
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
  CREATE TABLE entries (
    key TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL,
    parent TEXT,
    parent_version INTEGER,
    used INTEGER NOT NULL,
    size INTEGER NOT NULL,
    file TEXT,
    body BLOB
  ) STRICT;
  CREATE INDEX entries_by_use ON entries (used, size);
  CREATE INDEX entries_by_expiry ON entries (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX entries_by_parent ON entries (parent, parent_version) WHERE parent IS NOT NULL;
  CREATE INDEX entries_by_file ON entries (file) WHERE file IS NOT NULL;
  CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  INSERT INTO counters VALUES ('last_version', 0);
`

export interface Home {
  readonly path: string
  readonly database: DatabaseSync
  readonly lock: HeldLock
}

/** Opens the first directory of that name that is ours and whole, and makes it when there is none. */
export async function openHome(directory: string, name: string, durable: boolean): Promise<Home> {
  for (let number = 1; number <= maxNames; number++) {
    const path = join(directory, number === 1 ? name : `${name}-${number}`)
    makeFolderNow(path)
    if (hasOtherNames(path)) continue
    const lock = await holdLock(join(path, 'cache.lock'), { command: 'a cache on disk' })
    try {
      if (isOurs(join(path, databaseName))) {
        return { path, lock, database: openDatabase(path, durable) }
      }
    } catch (error) {
      if (!isDamage(error)) {
        await lock.release()
        throw error
      }
    }
    await lock.release()
  }
  throw new HeddleError('HDL_STORE_FAILED', {
    store: join(directory, name),
    action: 'be opened',
    cause: `it and ${maxNames - 1} directories of the same name are damaged or of another format`,
  })
}

/** Whether it holds something that we did not make. */
function hasOtherNames(path: string): boolean {
  return readdirSync(path).some((name) => !ourNames.test(name))
}

/**
 * Whether it is not there, or has our format. Under the lock: closing a file drops the locks that SQLite has
 * on it for another opening in this process (POSIX).
 */
function isOurs(file: string): boolean {
  if (!existsSync(file)) return true
  const header = Buffer.alloc(100)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, header)
  } finally {
    closeSync(descriptor)
  }
  // The file format of SQLite: the version of the user at byte 60, the application at byte 68.
  return (
    header.toString('latin1', 0, 15) === 'SQLite format 3' &&
    header.readUInt32BE(60) === schemaVersion &&
    header.readUInt32BE(68) === applicationId
  )
}

/** Under the lock. */
function openDatabase(path: string, durable: boolean): DatabaseSync {
  makeFolderNow(join(path, 'files'))
  makeFolderNow(join(path, 'staging'))
  const file = join(path, databaseName)
  if (!existsSync(file)) create(file)
  const database = new DatabaseSync(file)
  try {
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'};
      PRAGMA journal_size_limit = 8388608;
      PRAGMA cache_size = -8192;
      UPDATE counters SET value = value;
    `)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Complete under another name first, so that whatever is called cache.db has all its tables. */
function create(file: string): void {
  const draft = `${file}.draft`
  rmSync(draft, { force: true })
  const database = new DatabaseSync(draft)
  try {
    database.exec(schema)
  } finally {
    database.close()
  }
  renameSync(draft, file)
}

/** SQLITE_ERROR (a table is missing), SQLITE_CORRUPT, SQLITE_NOTADB. */
function isDamage(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode ?? 0
  return [1, 11, 26].includes(code & 0xff)
}
