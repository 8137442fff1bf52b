import type { AnyTable } from '@heddle/core/lowlevel'
import { campaignTables } from '../campaigns/records.ts'
import { backlogTable } from './fleet-backlog.ts'
import { jobLeaseTable } from './job-records.ts'

/** The tables of leases and campaigns. */
export const fleetTables: readonly AnyTable[] = [...campaignTables, jobLeaseTable, backlogTable]
