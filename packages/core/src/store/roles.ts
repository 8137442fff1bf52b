import type { JobReads, JobRow } from './acknowledged-jobs.ts'
import type { Database } from './database.ts'
import type { Mail, MailRow } from './mailbox.ts'
import type { TableRow, WithTables } from './tables.ts'

/** The rows of all roles. */
export type StoreRow = JobRow | MailRow | TableRow

/** A database with what all roles read. */
export type StoreDatabase = Database<StoreRow> & JobReads & Mail & WithTables
