/** The tables of roles in a file, in the thread that hosts it. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { toBlob } from '../../sqlite/blob.ts'
import {
  readQuery,
  type AnyQuery,
  type AnyTable,
  type ChangeRefusal,
  type ColumnType,
  type Comparable,
  type Stored,
  type StoredRecord,
  type TableChange,
  type TableRow,
} from '../tables.ts'
import { fromStored, toStored } from '../stored-text.ts'
import { declarationsOf, tableOf } from './store-schema.ts'

type Row = Readonly<Record<string, unknown>>

export class SqliteTables {
  readonly #database: DatabaseSync
  readonly #prepared: (sql: string) => StatementSync

  constructor(database: DatabaseSync, prepared: (sql: string) => StatementSync) {
    this.#database = database
    this.#prepared = prepared
  }

  /** Makes the missing parts. In a transaction. */
  declare(tables: readonly AnyTable[]): void {
    for (const table of tables) {
      const found = this.#database
        .prepare('SELECT name FROM pragma_table_info(?)')
        .all(tableOf(table)) as unknown as { name: string }[]
      const present = new Set(found.map(({ name }) => name))
      for (const sql of declarationsOf(table, present)) this.#database.exec(sql)
    }
  }

  apply(row: TableRow, table: AnyTable, shard: number | null): void {
    if (row.kind === 'put') this.#put(table, row.record, shard)
    else this.#remove(table, row.id)
  }

  byIds(table: AnyTable, ids: readonly string[]): (Stored<StoredRecord> | undefined)[] {
    const one = this.#prepared(`${this.#select(table)} WHERE id = ?`)
    return ids.map((id) => {
      const row = one.get(toStored(id))
      return row && recordOf(table, row)
    })
  }

  ofShards(table: AnyTable, shards: readonly number[]): Stored<StoredRecord>[] {
    const sql = `${this.#select(table)} WHERE shard IN (SELECT value FROM json_each(?)) ORDER BY id`
    return this.#all(table, sql, [JSON.stringify(shards)])
  }

  list(table: AnyTable, query: AnyQuery): Stored<StoredRecord>[] {
    const { by, where, limit } = readQuery(table, query)
    const { from, below, after, descending = false } = query
    const values: SQLInputValue[] = []
    const place = (value: Comparable): string => {
      values.push(inputOf(value))
      return '?'
    }
    const conditions = where.map(([column, value]) => `"${column}" = ${place(value)}`)
    const order = by === undefined ? ['id'] : [`"${by}"`, 'id']
    if (by !== undefined) {
      conditions.push(`"${by}" IS NOT NULL`)
      if (from !== undefined) conditions.push(`"${by}" >= ${place(from)}`)
      if (below !== undefined) conditions.push(`"${by}" < ${place(below)}`)
    }
    if (after !== undefined) {
      const at = by === undefined ? [after.id] : [after.value!, after.id]
      const places = at.map(place).join()
      conditions.push(`(${order.join()}) ${descending ? '<' : '>'} (${places})`)
    }
    const filter = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
    const sorted = order.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join()
    const sql = `${this.#select(table)}${filter} ORDER BY ${sorted} LIMIT ${limit}`
    return this.#all(table, sql, values)
  }

  /** T4. In a transaction: rows written before a refusal are rolled back. */
  change(
    changes: readonly TableChange[],
    tables: ReadonlyMap<string, AnyTable>,
  ): ChangeRefusal | undefined {
    this.#database.exec('SAVEPOINT change')
    for (const [index, change] of changes.entries()) {
      const refusal = this.#change(change, tables.get(change.table)!, index)
      if (refusal === undefined) continue
      this.#database.exec('ROLLBACK TO change; RELEASE change')
      return refusal
    }
    this.#database.exec('RELEASE change')
    return undefined
  }

  #change(
    { id, record, expect }: TableChange,
    table: AnyTable,
    index: number,
  ): ChangeRefusal | undefined {
    if (expect !== undefined) {
      const sql = `SELECT revision FROM ${tableOf(table)} WHERE id = ?`
      const found = this.#prepared(sql).get(toStored(id))?.['revision']
      const isExpected = expect === 'absent' ? found === undefined : found === expect
      if (!isExpected) return { why: 'changed', index }
    }
    if (record === undefined) {
      this.#remove(table, id)
      return undefined
    }
    const by = this.#takenBy(table, record)
    if (by !== undefined) return { why: 'taken', index, by }
    this.#put(table, record, null)
    return undefined
  }

  removeBelow(table: AnyTable, by: string, below: number, limit: number): number {
    readQuery(table, { by })
    const stored = tableOf(table)
    const sql = `DELETE FROM ${stored} WHERE id IN (
      SELECT id FROM ${stored} WHERE "${by}" < ? ORDER BY "${by}", id LIMIT ?)`
    return Number(this.#prepared(sql).run(below, limit).changes)
  }

  #takenBy(table: AnyTable, record: StoredRecord): string | undefined {
    const values = record as unknown as Row
    for (const list of table.unique ?? []) {
      const same = list.map((column) => `"${column}" = ?`).join(' AND ')
      const sql = `SELECT id FROM ${tableOf(table)} WHERE id <> ? AND ${same} LIMIT 1`
      const cells = list.map((column) => cellOf(table.columns[column]!, values[column]))
      const found = this.#prepared(sql).get(toStored(record.id), ...cells)
      if (found !== undefined) return fromStored(found['id'] as string)
    }
    return undefined
  }

  #put(table: AnyTable, record: StoredRecord, shard: number | null): void {
    const columns = Object.entries(table.columns)
    const names = ['shard', ...columns.map(([column]) => `"${column}"`)]
    const sql = `INSERT INTO ${tableOf(table)} (id, ${names.join()})
      VALUES (?${', ?'.repeat(names.length)})
      ON CONFLICT (id) DO UPDATE SET revision = revision + 1,
        ${names.map((name) => `${name} = excluded.${name}`).join()}`
    const values = record as unknown as Row
    const cells = columns.map(([column, type]) => cellOf(type, values[column]))
    this.#prepared(sql).run(toStored(record.id), shard, ...cells)
  }

  #remove(table: AnyTable, id: string): void {
    this.#prepared(`DELETE FROM ${tableOf(table)} WHERE id = ?`).run(toStored(id))
  }

  #select(table: AnyTable): string {
    const columns = Object.keys(table.columns).map((column) => `, "${column}"`)
    return `SELECT id, revision${columns.join('')} FROM ${tableOf(table)}`
  }

  #all(table: AnyTable, sql: string, values: SQLInputValue[]): Stored<StoredRecord>[] {
    return this.#prepared(sql)
      .all(...values)
      .map((row) => recordOf(table, row))
  }
}

function inputOf(value: Comparable): SQLInputValue {
  if (typeof value === 'string') return toStored(value)
  return Number(value)
}

function cellOf(type: ColumnType, value: unknown): SQLInputValue {
  if (value === undefined || value === null) return null
  switch (type) {
    case 'text':
    // As text already: sqlite-database.ts.
    case 'json':
      return toStored(value as string)
    case 'bytes':
      return toBlob(value as Uint8Array)
    case 'number':
      return value as number
    case 'boolean':
      return Number(value)
  }
}

function recordOf({ columns }: AnyTable, row: Row): Stored<StoredRecord> {
  const record: Record<string, unknown> = {}
  for (const [column, type] of Object.entries(columns)) {
    const cell = row[column]
    if (cell === null) continue
    if (type === 'text') record[column] = fromStored(cell as string)
    else if (type === 'json') record[column] = JSON.parse(fromStored(cell as string)) as unknown
    else record[column] = type === 'boolean' ? cell === 1 : cell
  }
  const id = fromStored(row['id'] as string)
  return { id, ...record, revision: row['revision'] as number }
}
