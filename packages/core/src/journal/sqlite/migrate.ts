/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
import { existsSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { HeddleError, describe } from '../../errors.ts'
import { backupName } from './file-names.ts'
import { applicationId, type Migration } from './journal-schema.ts'

/**
 * Brings a database up to date, all in one transaction: it has either its old tables or the new ones.
 * A file that holds something is copied first; the copy is left for the user to delete.
 */
export function migrate(
  database: DatabaseSync,
  file: string,
  migrations: readonly Migration[],
): void {
  const found = (database.prepare('PRAGMA user_version').get() as { user_version: number })
    .user_version
  if (found >= migrations.length) return
  if (found > 0) {
    const backup = backupName(file, found)
    // One that is there was made by an attempt that failed: the file has not changed since.
    if (existsSync(backup)) rmSync(backup)
    database.prepare('VACUUM INTO ?').run(backup)
  }
  let title = ''
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const migration of migrations.slice(found)) {
      ;({ title } = migration)
      database.exec(migration.sql)
    }
    database.exec(`
      PRAGMA application_id = ${applicationId};
      PRAGMA user_version = ${migrations.length};
      COMMIT;
    `)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    const action = `be migrated from schema version ${found} to ${migrations.length} ("${title}")`
    const details = { store: file, action, cause: describe(error) }
    throw new HeddleError('HDL_STORE_FAILED', details, { cause: error })
  }
}
