/** What is stored of the leases of jobs: a row from the accept until the outcome is in the record of its run. */
import { put, remove, type Table, type TableRow } from '@heddle/core/lowlevel'
import type { WorkerDescription, WorkerIdentity } from './fleet-worker.ts'
import type { Lease, ResultPlace } from './lease.ts'

export interface JobLeaseRecord {
  /** That of the protocol. */
  readonly id: string
  /** Which attempt of which work: see keyOfAttempt(). */
  readonly key: string
  readonly number: number
  readonly epoch: number
  /** JSON of the known data about the worker. */
  readonly holder: string
  /** The number of the last report; 0 before the first. */
  readonly sequence: number
  /** The result, as resultText() writes it; empty while the worker runs it. */
  readonly result: string
  readonly grantedAt: number
}

export const jobLeaseTable: Table<JobLeaseRecord> = {
  name: 'fleet_job_lease',
  columns: {
    key: 'text',
    number: 'number',
    epoch: 'number',
    holder: 'text',
    sequence: 'number',
    result: 'text',
    grantedAt: 'number',
  },
}

export function jobLeaseSaved(record: JobLeaseRecord): TableRow {
  return put(jobLeaseTable, record)
}

export function jobLeaseForgotten(id: string): TableRow {
  return remove(jobLeaseTable, id)
}

export function jobLeaseRecord(lease: Lease, key: string, now: number): JobLeaseRecord {
  const { id, number, epoch, worker, sequence, result, resultAt } = lease
  const { description, identity } = worker
  lease.grantedAt ??= now
  return {
    id,
    key,
    number,
    epoch,
    holder: JSON.stringify({ description: { ...description, jobs: [] }, identity }),
    sequence,
    result: sequence === 0 ? '' : resultText(result, resultAt),
    grantedAt: lease.grantedAt,
  }
}

/** No JSON begins with these. */
const elsewhere = '@'
const nothing = '-'

function resultText(result: unknown, resultAt: ResultPlace | undefined): string {
  if (resultAt !== undefined) return elsewhere + JSON.stringify(resultAt)
  return result === undefined ? nothing : JSON.stringify(result)
}

export function readResultText(text: string): {
  readonly result?: unknown
  readonly resultAt?: ResultPlace
} {
  if (text === nothing) return {}
  if (text.startsWith(elsewhere)) return { resultAt: JSON.parse(text.slice(1)) as ResultPlace }
  return { result: JSON.parse(text) as unknown }
}

export interface Holder {
  readonly description: WorkerDescription
  readonly identity: WorkerIdentity
}

export function readHolder(text: string): Holder {
  return JSON.parse(text) as Holder
}
