/** A commit as the parameters of `commit_1` and `commit_2`: columns, not rows, because a statement takes arrays. */
import type { SessionId, ShardBatch } from '../database.ts'
import type { StoreRow } from '../roles.ts'
import { checkRecord, type AnyTable, type StoredRecord, type TableList } from '../tables.ts'
import { toStored } from '../stored-text.ts'
import { namesOf } from './table-schema.ts'

/** Batches are counted from 1, as arrays of PostgreSQL are. */
export function commitParameters(
  session: SessionId,
  number: number,
  batches: readonly ShardBatch<StoreRow>[],
): unknown[] {
  const acknowledged: Columns<5> = [[], [], [], [], []]
  const marks: Columns<3> = [[], [], []]
  const ended: Columns<3> = [[], [], []]
  const endedHere = new Set<string>()
  for (const { rows } of batches) {
    for (const row of rows) if (row.kind === 'job-ended') endedHere.add(row.handle)
  }
  for (const [index, { rows }] of batches.entries()) {
    const batch = index + 1
    for (const row of rows) {
      switch (row.kind) {
        case 'job-acknowledged': {
          const { handle, job, version, input } = row
          push(acknowledged, batch, toStored(handle), toStored(job), toStored(version), input)
          break
        }
        case 'job-started':
          // A job that has ended by the time of this commit was never seen running.
          if (!endedHere.has(row.handle)) push(marks, batch, toStored(row.handle), 'started')
          break
        case 'job-interrupted':
          push(marks, batch, toStored(row.handle), row.setAside ? 'set-aside' : 'interrupted')
          break
        case 'job-put-back':
          push(marks, batch, toStored(row.handle), 'put-back')
          break
        case 'job-ended':
          push(ended, batch, toStored(row.handle), toStored(row.outcome))
          break
        // See recordParameters().
        case 'put':
        case 'remove':
      }
    }
  }
  return [
    session,
    number,
    batches.map(({ shard }) => shard),
    batches.map(({ epoch }) => epoch),
    ...unused(4),
    ...acknowledged,
    ...marks,
    ...ended,
    ...unused(2),
  ]
}

/** The records of roles in a commit; undefined when there are none. */
export function recordParameters(
  tables: TableList,
  batches: readonly ShardBatch<StoreRow>[],
): unknown[] | undefined {
  const records: Columns<4> = [[], [], [], []]
  for (const [index, { rows }] of batches.entries()) {
    for (const row of rows) {
      if (row.kind !== 'put' && row.kind !== 'remove') continue
      const table = tables.owned(row.table)
      const { writer } = namesOf(table)
      const [id, wire] =
        row.kind === 'put' ? [row.record.id, recordWire(table, row.record)] : [row.id, null]
      push(records, index + 1, writer, toStored(id), wire)
    }
  }
  return records[0]!.length === 0 ? undefined : records
}

/**
 * A record as JSON: an array of its columns. JSON has neither bytes nor infinity, and PostgreSQL's text no U+0000.
 *
 * @throws `HDL_ROW_REFUSED`.
 */
export function recordWire(table: AnyTable, record: StoredRecord): string {
  checkRecord(table, record)
  const values = record as unknown as Readonly<Record<string, unknown>>
  const cells = Object.entries(table.columns).map(([column, type]) => {
    const value = values[column]
    if (value === undefined || value === null) return null
    switch (type) {
      case 'text':
        return toStored(value as string)
      case 'bytes':
        return Buffer.from(value as Uint8Array).toString('base64')
      case 'json':
        return toStored(JSON.stringify(value))
      case 'number':
        return Number.isFinite(value) ? value : `${value as number}`
      case 'boolean':
        return value
    }
  })
  return JSON.stringify(cells)
}

/** Parameters of `commit_1` that no version uses any more. */
function unused(columns: number): unknown[][] {
  return Array.from({ length: columns }, () => [])
}

type Columns<N extends number> = unknown[][] & { readonly length: N }

function push<C extends unknown[][]>(columns: C, ...cells: { [I in keyof C]: unknown }): void {
  for (const [index, cell] of cells.entries()) columns[index]!.push(cell)
}
