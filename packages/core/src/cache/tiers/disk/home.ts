/* oxlint-disable node/no-sync -- runs in the tier's own thread, where waiting is what it is for */
/**
 * The directory of one cache.
 *
 *   <directory>/heddle-cache-v1-<hash of the namespace>/
 *     cache.db      rows: everything but large values
 *     files/        large values, named by the SHA-256 of their bytes
 *     staging/      large values that are being written
 *     owner         who has it open, for people and for the message of HDL_LOCKED
 *
 * What is there and is not ours, or is ours and damaged, is left alone: the cache then goes on in
 * the next free name (`…-2`). A cache may start empty at any time; a directory that somebody else
 * made, or a newer version of this package, may be all they have.
 */
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { threadId } from 'node:worker_threads'
import { HeddleError } from '../../../errors.ts'

/** Read as text: "hdlC". */
const applicationId = 0x68646c43
export const schemaVersion = 1

const ourNames = new Set(['files', 'staging', 'owner'])
const databaseName = 'cache.db'

/** More damaged or foreign directories than anybody should have. */
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
}

/** Opens the first directory of that name that is ours and whole, and makes it when there is none. */
export function openHome(directory: string, name: string, durable: boolean): Home {
  for (let number = 1; number <= maxNames; number++) {
    const path = join(directory, number === 1 ? name : `${name}-${number}`)
    const database = isForeign(path) ? undefined : tryOpen(path, durable)
    if (database !== undefined) return { path, database }
  }
  throw new HeddleError('HDL_STORE_FAILED', {
    store: join(directory, name),
    action: 'be opened',
    cause: `it and ${maxNames - 1} directories of the same name are damaged or of another format`,
  })
}

/** Whether it holds something that we did not make, or made in another format. */
function isForeign(path: string): boolean {
  mkdirSync(path, { recursive: true })
  const names = readdirSync(path)
  if (!names.includes(databaseName)) {
    // Ours as it is in the first moments, or somebody else's.
    return names.some((name) => !ourNames.has(name) && !name.startsWith(databaseName))
  }
  const header = Buffer.alloc(100)
  const file = openSync(join(path, databaseName), 'r')
  try {
    readSync(file, header)
  } finally {
    closeSync(file)
  }
  // The file format of SQLite: the version of the user at byte 60, the application at byte 68.
  return (
    header.toString('latin1', 0, 15) !== 'SQLite format 3' ||
    header.readUInt32BE(60) !== schemaVersion ||
    header.readUInt32BE(68) !== applicationId
  )
}

/** Undefined when the database is damaged. */
function tryOpen(path: string, durable: boolean): DatabaseSync | undefined {
  mkdirSync(join(path, 'files'), { recursive: true })
  mkdirSync(join(path, 'staging'), { recursive: true })
  const file = join(path, databaseName)
  create(file)
  const database = new DatabaseSync(file)
  try {
    // The lock is the kernel's: it goes with the process, however that ends.
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'};
      PRAGMA journal_size_limit = 8388608;
      PRAGMA cache_size = -8192;
      BEGIN IMMEDIATE;
      UPDATE counters SET value = value;
      COMMIT;
    `)
    writeFileSync(join(path, 'owner'), `process ${process.pid}\n`)
    return database
  } catch (error) {
    database.close()
    if (isBusy(error)) throw new HeddleError('HDL_LOCKED', { path, holder: ownerOf(path) })
    if (isDamage(error)) return undefined
    throw error
  }
}

/** Complete under another name first, so that whatever is called cache.db has all its tables. */
function create(file: string): void {
  const draft = `${file}.${process.pid}-${threadId}`
  if (existsSync(file)) return
  rmSync(draft, { force: true })
  const database = new DatabaseSync(draft)
  database.exec(schema)
  database.close()
  try {
    linkSync(draft, file)
  } catch (error) {
    // Another process was faster; who gets it is decided by the lock.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function ownerOf(path: string): string {
  try {
    return readFileSync(join(path, 'owner'), 'utf8').trim()
  } catch {
    return 'another process'
  }
}

const codeOf = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) & 0xff

/** SQLITE_BUSY, SQLITE_LOCKED. */
const isBusy = (error: unknown): boolean => codeOf(error) === 5 || codeOf(error) === 6

/** SQLITE_ERROR (a table is missing), SQLITE_CORRUPT, SQLITE_NOTADB. */
const isDamage = (error: unknown): boolean => [1, 11, 26].includes(codeOf(error))
