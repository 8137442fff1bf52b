/** Data about runs that the store holds beside their journal. */
import type { StoredRecord, Table } from '@heddle/core/lowlevel'

/** A link that answers a waiting run. Its id is the hash of the link's secret. */
export interface ApprovalRecord extends StoredRecord {
  readonly run: string
  readonly signal: string
  /** What is asked. */
  readonly text: string
  readonly choices: readonly string[]
  readonly createdBy: string
  readonly expiresAt: number
}

export const approvals: Table<ApprovalRecord> = {
  name: 'run_approval',
  columns: {
    run: 'text',
    signal: 'text',
    text: 'text',
    choices: 'json',
    createdBy: 'text',
    expiresAt: 'number',
  },
  indexes: [['expiresAt']],
}

export const runTables = [approvals] as const
