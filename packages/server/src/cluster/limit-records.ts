/** Where the servers of a cluster record which server has how many permits of limits with `scope: 'cluster'`. */
import {
  write,
  type LimitRecord,
  type LimitRecords,
  type StoredRecord,
  type Table,
  type Tables,
} from '@heddle/core/lowlevel'

interface LimitRow extends StoredRecord {
  readonly turn: number
  readonly shares: LimitRecord['shares']
}

/** Shared: if two servers change a record at the same time, one is refused. */
export const limitTable: Table<LimitRow> = {
  name: 'cluster_limit',
  columns: { turn: 'number', shares: 'json' },
}

export function limitRecords(tables: Tables): LimitRecords {
  return {
    async read(id) {
      const [row] = await tables.byIds(limitTable, [id])
      return row
    },
    async write({ id, turn, shares }, expect) {
      const refused = await tables.change([write(limitTable, { id, turn, shares }, expect)])
      return refused === undefined
    },
  }
}
