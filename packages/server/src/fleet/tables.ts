import type { AnyTable } from '@heddle/core/lowlevel'
import { campaignTables } from '../campaigns/records.ts'
import { backlogTable } from './backlog.ts'
import { jobLeaseTable } from './job-records.ts'

/** What leases and campaigns are stored in. */
export const fleetTables: readonly AnyTable[] = [...campaignTables, jobLeaseTable, backlogTable]
