import type { JobReads, JobRow } from './acknowledged-jobs.ts'
import type { Database } from './database.ts'
import type { TableRow, WithTables } from './tables.ts'

/** The rows of all roles. */
export type StoreRow = JobRow | TableRow

/** A database that servers of several versions share. */
export interface Versioned {
  /**
   * Whether this code may still work on the tables: a newer server may have changed them since (C11).
   *
   * @throws `HDL_JOURNAL_NEWER` when it may not.
   */
  checkVersion(): Promise<void>
}

/** A database with what all roles read. */
export type StoreDatabase = Database<StoreRow> & JobReads & WithTables & Versioned
