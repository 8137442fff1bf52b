/**
 * The tables of a store in a file: beside those of the journal, made when a process first uses the store.
 *
 *   store_server    until when the lease of a server lasts, and the lock that proves it alive
 *   store_shard     owner and epoch of 256 shards
 *   store_session   whether a session is fenced, its last commit and what that answered
 *   store_job       acknowledged jobs without an outcome    store_outcome   their outcomes
 *   r_…             tables of roles
 *
 * They are made with `IF NOT EXISTS` and only ever added to, so that the version of the file stays that of the journal.
 */
import { tablePrefix, type AnyTable, type ColumnType } from '../tables.ts'

export const storeSchema = `
  CREATE TABLE IF NOT EXISTS store_server (
    id TEXT PRIMARY KEY, until REAL NOT NULL, lock TEXT NOT NULL, pid INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS store_shard (shard INTEGER PRIMARY KEY, owner TEXT, epoch INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS store_session (
    id TEXT PRIMARY KEY, fenced INTEGER NOT NULL, last INTEGER NOT NULL, answer TEXT NOT NULL, opened_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS store_job (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    handle TEXT NOT NULL UNIQUE,
    shard INTEGER NOT NULL,
    job TEXT NOT NULL,
    version TEXT NOT NULL,
    input BLOB NOT NULL,
    started INTEGER NOT NULL DEFAULT 0,
    interruptions INTEGER NOT NULL DEFAULT 0,
    set_aside INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE IF NOT EXISTS store_outcome (
    handle TEXT PRIMARY KEY, outcome TEXT NOT NULL, ended_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  WITH RECURSIVE each (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM each WHERE n < 255)
  INSERT OR IGNORE INTO store_shard SELECT n, NULL, 0 FROM each;
`

const sqlTypes: Readonly<Record<ColumnType, string>> = {
  text: 'TEXT',
  number: 'REAL',
  boolean: 'INTEGER',
  bytes: 'BLOB',
  json: 'TEXT',
}

export function tableOf({ name }: AnyTable): string {
  return `${tablePrefix}${name}`
}

/** The statements that make the missing parts of a declared table. `present`: its existing columns. */
export function declarationsOf(table: AnyTable, present: ReadonlySet<string>): string[] {
  const { columns, indexes = [], unique = [] } = table
  const stored = tableOf(table)
  const missing = Object.entries(columns).filter(([column]) => !present.has(column))
  const index = (list: readonly string[], isUnique: boolean): string => {
    const names = [...list.map((column) => `"${column}"`), ...(isUnique ? [] : ['id'])]
    const kind = isUnique ? 'UNIQUE INDEX' : 'INDEX'
    return `CREATE ${kind} IF NOT EXISTS "${stored}_${list.join('_')}" ON ${stored} (${names.join()})`
  }
  return [
    `CREATE TABLE IF NOT EXISTS ${stored} (
      id TEXT PRIMARY KEY, shard INTEGER, revision INTEGER NOT NULL DEFAULT 1
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX IF NOT EXISTS ${stored}_shard ON ${stored} (shard, id) WHERE shard IS NOT NULL`,
    ...missing.map(
      ([column, type]) => `ALTER TABLE ${stored} ADD COLUMN "${column}" ${sqlTypes[type]}`,
    ),
    ...indexes.map((list) => index(list, false)),
    ...unique.map((list) => index(list, true)),
  ]
}
