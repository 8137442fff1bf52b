/** The rows of campaigns. Open ones are in tables of their own, so a take-over does not read ended ones (L9). */
import { put, remove, type Table, type TableRow, type Tables } from '@heddle/core/lowlevel'

/** A campaign: written when it is created and when it has ended. */
export interface CampaignRecord {
  readonly id: string
  readonly tenant: string
  /** JSON. */
  readonly spec: string
  /** JSON of how it ended; of its first state until then. */
  readonly state: string
  readonly ended: boolean
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** The state of a campaign that has not ended. */
interface OpenCampaign {
  readonly id: string
  /** JSON. */
  readonly state: string
}

/** A lease. Its id is that of the protocol. */
export interface LeaseRecord {
  readonly id: string
  readonly campaign: string
  /** Counts from 1 in its campaign. */
  readonly number: number
  readonly epoch: number
  readonly worker: string
  /** JSON of the known data about the worker. */
  readonly holder: string
  readonly start: number
  readonly size: number
  /** The number of the last report; 0 before the first. */
  readonly sequence: number
  readonly done: number
  /** JSON of the last report; empty before the first. */
  readonly result: string
  /** Why it was closed; empty while it is open. */
  readonly closed: string
  /** Why its result was taken out; empty when it counts. */
  readonly excluded: string
  readonly grantedAt: number
  /** When the worker was seen last, coarsely. Milliseconds since 1970. */
  readonly seenAt: number
}

const campaignTable: Table<CampaignRecord> = {
  name: 'fleet_campaign',
  columns: {
    tenant: 'text',
    spec: 'text',
    state: 'text',
    ended: 'boolean',
    createdAt: 'number',
  },
  indexes: [['tenant', 'createdAt'], ['createdAt']],
}

const openCampaignTable: Table<OpenCampaign> = {
  name: 'fleet_open_campaign',
  columns: { state: 'text' },
}

const leaseColumns = {
  campaign: 'text',
  number: 'number',
  epoch: 'number',
  worker: 'text',
  holder: 'text',
  start: 'number',
  size: 'number',
  sequence: 'number',
  done: 'number',
  result: 'text',
  closed: 'text',
  excluded: 'text',
  grantedAt: 'number',
  seenAt: 'number',
} as const

const openLeaseTable: Table<LeaseRecord> = { name: 'fleet_open_lease', columns: leaseColumns }

const closedLeaseTable: Table<LeaseRecord> = {
  name: 'fleet_lease',
  columns: leaseColumns,
  indexes: [['campaign', 'number']],
}

export const campaignTables: readonly [
  Table<CampaignRecord>,
  Table<OpenCampaign>,
  Table<LeaseRecord>,
  Table<LeaseRecord>,
] = [campaignTable, openCampaignTable, openLeaseTable, closedLeaseTable]

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────

export function campaignCreated(record: CampaignRecord): TableRow[] {
  const { id, state } = record
  return [put(campaignTable, record), put(openCampaignTable, { id, state })]
}

export function campaignSaved(id: string, state: string): TableRow {
  return put(openCampaignTable, { id, state })
}

export function campaignEnded(record: CampaignRecord): TableRow[] {
  return [put(campaignTable, { ...record, ended: true }), remove(openCampaignTable, record.id)]
}

export function leaseSaved(record: LeaseRecord): TableRow[] {
  if (record.closed === '') return [put(openLeaseTable, record)]
  return [put(closedLeaseTable, record), remove(openLeaseTable, record.id)]
}

/** A lease that was left open by a campaign that has ended. */
export function leaseForgotten(record: LeaseRecord): TableRow[] {
  return leaseSaved({ ...record, closed: 'campaign_ended' })
}

/** Leases of a campaign that is removed. */
export function leasesRemoved(records: readonly LeaseRecord[]): TableRow[] {
  return records.map(({ id }) => remove(closedLeaseTable, id))
}

export function campaignRemoved(id: string): TableRow[] {
  return [remove(campaignTable, id), remove(openCampaignTable, id)]
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────

/** Everything that is open in these shards: for a take-over. */
export async function readOpen(
  tables: Tables,
  shards: readonly number[],
): Promise<{
  readonly campaigns: readonly CampaignRecord[]
  readonly leases: readonly LeaseRecord[]
}> {
  const open = await tables.ofShards(openCampaignTable, shards)
  const leases = await tables.ofShards(openLeaseTable, shards)
  const records: CampaignRecord[] = []
  for (let from = 0; from < open.length; from += page) {
    const some = open.slice(from, from + page)
    const found = await tables.byIds(
      campaignTable,
      some.map(({ id }) => id),
    )
    for (const [index, record] of found.entries()) {
      if (record !== undefined) records.push({ ...record, state: some[index]!.state })
    }
  }
  records.sort((a, b) => a.createdAt - b.createdAt)
  return { campaigns: records, leases: [...leases].sort((a, b) => a.number - b.number) }
}

const page = 500

/** One campaign, also one that has ended. */
export async function readCampaign(
  tables: Tables,
  id: string,
): Promise<CampaignRecord | undefined> {
  const [record] = await tables.byIds(campaignTable, [id])
  if (record === undefined || record.ended) return record
  const [open] = await tables.byIds(openCampaignTable, [id])
  return open === undefined ? record : { ...record, state: open.state }
}

/** One lease, also one that is closed. */
export async function readLease(tables: Tables, id: string): Promise<LeaseRecord | undefined> {
  const [closed] = await tables.byIds(closedLeaseTable, [id])
  if (closed !== undefined) return closed
  const [open] = await tables.byIds(openLeaseTable, [id])
  return open
}

/** Closed leases of a campaign with numbers from `from` on, by number. */
export function readClosedLeases(
  tables: Tables,
  campaign: string,
  from: number,
  limit: number,
): Promise<readonly LeaseRecord[]> {
  return tables.list(closedLeaseTable, { where: { campaign }, by: 'number', from, limit })
}

/** Campaigns of a tenant (of all when undefined), newest first, created before `before`. */
export function readCampaigns(
  tables: Tables,
  tenant: string | undefined,
  before: number,
  limit: number,
): Promise<readonly CampaignRecord[]> {
  const where = tenant === undefined ? {} : { tenant }
  return tables.list(campaignTable, {
    where,
    by: 'createdAt',
    ...(before === Infinity ? {} : { below: before }),
    descending: true,
    limit,
  })
}
