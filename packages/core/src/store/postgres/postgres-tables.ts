/**
 * The tables of roles on PostgreSQL: table-schema.ts has what they look like.
 *
 * Calls that wait for the connection are made as one (gather.ts): reads of one table by id in one statement, changes in one
 * transaction. When that transaction is refused, nothing of it was carried out, and each change is made alone: one that is
 * refused fails alone.
 */
import {
  mostRecords,
  readQuery,
  type AnyQuery,
  type AnyTable,
  type ChangeRefusal,
  type ColumnOf,
  type ColumnType,
  type Comparable,
  type Stored,
  type StoredRecord,
  type Table,
  type TableChange,
  type TableList,
  type TableQuery,
  type Tables,
} from '../tables.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { PostgresAddress } from './address.ts'
import { recordWire } from './commit-parameters.ts'
import { Gather } from './gather.ts'
import { isRefused, type Link, type Parameters, type Refused } from './database-link.ts'
import { rowRefusedBy } from './row-refused.ts'
import { namesOf } from './table-schema.ts'

/** Raised by `change_1`: nothing was changed. */
const refusedState = 'HD002'

/** Two changes at a time are in the way of each other: one is sent again. The first where transactions are serializable. */
const collisions = ['40001', '40P01']
const mostAttempts = 5

/** What is read or changed together at most: a record holds up to 64 kB, and none of this may hold up the loop. */
const mostIds = 64
const mostRows = 64
const mostBytes = 512 * 1_024

/** The parameters of a change, in the order of `change_1`. */
type ChangeRow = readonly [
  table: string,
  writer: string,
  taken: string | null,
  id: string,
  record: string | null,
  expected: number | null,
]

type Found = readonly (Stored<StoredRecord> | undefined)[]
type ChangeAnswer = ChangeRefusal | undefined

export class PostgresTables implements Tables {
  readonly #link: Link
  readonly #address: PostgresAddress
  readonly #schema: string
  readonly #list: TableList
  /** Keyed by the name of the table. */
  readonly #reads = new Map<string, Gather<readonly string[], Found>>()
  readonly #changes: Gather<readonly ChangeRow[], ChangeAnswer>

  constructor(link: Link, address: PostgresAddress, list: TableList) {
    this.#link = link
    this.#address = address
    this.#schema = address.schema
    this.#list = list
    this.#changes = new Gather((take) => this.#changeTogether(take), fitsInOneChange)
  }

  async now(): Promise<number> {
    const statement = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000'
    const [row] = await this.#link.call<[number]>('read its clock', statement)
    return Math.floor(row![0])
  }

  byIds<R extends StoredRecord>(
    { name }: Table<R>,
    ids: readonly string[],
  ): Promise<readonly (Stored<R> | undefined)[]> {
    let reads = this.#reads.get(name)
    if (reads === undefined) {
      reads = new Gather((take) => this.#readTogether(name, take), fitsInOneRead)
      this.#reads.set(name, reads)
    }
    return reads.call(ids) as Promise<readonly (Stored<R> | undefined)[]>
  }

  async #readTogether(name: string, take: () => readonly (readonly string[])[]): Promise<Found[]> {
    let asked: readonly (readonly string[])[] = []
    const found = await this.#select<StoredRecord>(name, 'WHERE id = ANY ($1)', () => {
      asked = take()
      return [[...new Set(asked.flat())].map(toStored)]
    })
    const byId = new Map(found.map((record) => [record.id, record]))
    return asked.map((ids) => ids.map((id) => byId.get(id)))
  }

  ofShards<R extends StoredRecord>(
    { name }: Table<R>,
    shards: readonly number[],
  ): Promise<readonly Stored<R>[]> {
    return this.#select<R>(name, 'WHERE shard = ANY ($1) ORDER BY id', [shards])
  }

  async list<R extends StoredRecord>(
    { name }: Table<R>,
    query: TableQuery<R> = {},
  ): Promise<readonly Stored<R>[]> {
    const { clause, values } = clauseOf(this.#list.get(name), query)
    return this.#select<R>(name, clause, values)
  }

  async change(changes: readonly TableChange[]): Promise<ChangeRefusal | undefined> {
    return this.#changes.call(this.#rowsOf(changes))
  }

  async #changeTogether(
    take: () => readonly (readonly ChangeRow[])[],
  ): Promise<(ChangeAnswer | Promise<ChangeAnswer>)[]> {
    let together: readonly (readonly ChangeRow[])[] = []
    try {
      await this.#sendChange(() => (together = take()).flat())
      return together.map(() => undefined)
    } catch (error) {
      if (!isRefused(error)) throw error
      if (together.length === 1) return [this.#answerTo(error, together[0]!, 1)]
      return together.map((rows) => this.#changeAlone(rows, 1))
    }
  }

  async #changeAlone(rows: readonly ChangeRow[], attempt: number): Promise<ChangeAnswer> {
    try {
      await this.#sendChange(() => rows)
      return undefined
    } catch (error) {
      return this.#answerTo(error, rows, attempt)
    }
  }

  async #answerTo(
    error: unknown,
    rows: readonly ChangeRow[],
    attempt: number,
  ): Promise<ChangeAnswer> {
    if (isRefused(error, refusedState)) return refusalOf(error)
    if (attempt < mostAttempts && isRefused(error, ...collisions)) {
      return this.#changeAlone(rows, attempt + 1)
    }
    throw rowRefusedBy(this.#address, error) ?? error
  }

  #sendChange(take: () => readonly ChangeRow[]): Promise<unknown> {
    const statement = `SELECT ${this.#schema}.change_1($1, $2, $3, $4, $5, $6)`
    return this.#link.call('change records', statement, () => {
      const rows = take()
      return [0, 1, 2, 3, 4, 5].map((column) => rows.map((row) => row[column]))
    })
  }

  /** @throws `HDL_ROW_REFUSED` for a record that cannot be encoded: before it joins others. */
  #rowsOf(changes: readonly TableChange[]): ChangeRow[] {
    try {
      return changes.map(({ table: name, id, record, expect }) => {
        const table = this.#list.get(name)
        const { table: stored, writer, taken = null } = namesOf(table)
        const wire = record === undefined ? null : recordWire(table, record)
        const expected = expect === 'absent' ? 0 : (expect ?? null)
        return [stored, writer, taken, toStored(id), wire, expected]
      })
    } catch (error) {
      throw rowRefusedBy(this.#address, error) ?? error
    }
  }

  async removeBelow<R extends StoredRecord>(
    { name }: Table<R>,
    by: ColumnOf<R>,
    below: number,
    limit: number = mostRecords,
  ): Promise<number> {
    const { by: column } = readQuery(this.#list.get(name), { by })
    const table = `${this.#schema}.${namesOf(this.#list.get(name)).table}`
    const statement = `WITH gone AS (
        DELETE FROM ${table} WHERE id IN (
          SELECT id FROM ${table} WHERE "${column}" < $1 ORDER BY "${column}", id LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING 1)
      SELECT count(*)::integer FROM gone`
    const [row] = await this.#link.call<[number]>('remove records', statement, [below, limit])
    return row![0]
  }

  async #select<R extends StoredRecord>(
    name: string,
    clause: string,
    values: Parameters,
  ): Promise<Stored<R>[]> {
    const table = this.#list.get(name)
    const columns = Object.entries(table.columns).map(
      ([column, type]) => `, ${cellOf(column, type)}`,
    )
    const from = `${this.#schema}.${namesOf(table).table}`
    const statement = `SELECT id, revision::float8${columns.join('')} FROM ${from} ${clause}`
    const rows = await this.#link.call<[string, number, ...unknown[]]>('be read', statement, values)
    return rows.map(([id, revision, ...cells]) =>
      recordOf<R>(table, fromStored(id), revision, cells),
    )
  }
}

function fitsInOneRead(asked: readonly (readonly string[])[], next: readonly string[]): boolean {
  return asked.reduce((sum, ids) => sum + ids.length, next.length) <= mostIds
}

/** A change sees the effects of the changes before it, so changes of one record follow each other. */
function fitsInOneChange(
  together: readonly (readonly ChangeRow[])[],
  next: readonly ChangeRow[],
): boolean {
  const rows = [...together.flat(), ...next]
  const bytes = rows.reduce((sum, [, , , , record]) => sum + (record?.length ?? 0), 0)
  if (rows.length > mostRows || bytes > mostBytes) return false
  const earlier = new Set(together.flat().map(recordKey))
  return !next.some((row) => earlier.has(recordKey(row)))
}

function recordKey([table, , , id]: ChangeRow): string {
  return `${table} ${id}`
}

/** `WHERE …, ORDER BY …, LIMIT …` of a query, with the values of its parameters. */
function clauseOf(table: AnyTable, query: AnyQuery): { clause: string; values: unknown[] } {
  const { by, where, limit } = readQuery(table, query)
  const { from, below, after, descending = false } = query
  const values: unknown[] = []
  const place = (value: Comparable): string => {
    values.push(typeof value === 'string' ? toStored(value) : value)
    return `$${values.length}`
  }
  const conditions = where.map(([column, value]) => `"${column}" = ${place(value)}`)
  const direction = descending ? 'DESC' : 'ASC'
  const order = by === undefined ? ['id'] : [`"${by}"`, 'id']
  if (by !== undefined) {
    if (from !== undefined) conditions.push(`"${by}" >= ${place(from)}`)
    if (below !== undefined) conditions.push(`"${by}" < ${place(below)}`)
    conditions.push(`"${by}" IS NOT NULL`)
  }
  if (after !== undefined) {
    const at = by === undefined ? [after.id] : [after.value!, after.id]
    const places = at.map(place).join(', ')
    conditions.push(`(${order.join(', ')}) ${descending ? '<' : '>'} (${places})`)
  }
  const filter = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const sorted = order.map((column) => `${column} ${direction}`).join(', ')
  return { clause: `${filter} ORDER BY ${sorted} LIMIT ${limit}`, values }
}

function recordOf<R>(
  { columns }: AnyTable,
  id: string,
  revision: number,
  cells: readonly unknown[],
): Stored<R> {
  const record: Record<string, unknown> = { id }
  for (const [index, [column, type]] of Object.entries(columns).entries()) {
    const cell = cells[index]
    if (cell !== null) record[column] = valueOf(type, cell)
  }
  return { ...record, revision } as unknown as Stored<R>
}

/** Numbers are read as their eight bytes: as text they are rounded where `extra_float_digits` is 0. */
function cellOf(column: string, type: ColumnType): string {
  return type === 'number' ? `float8send("${column}")` : `"${column}"`
}

function valueOf(type: ColumnType, cell: unknown): unknown {
  if (type === 'text') return fromStored(cell as string)
  if (type === 'number') return (cell as Buffer).readDoubleBE()
  return type === 'json' ? (JSON.parse(fromStored(cell as string)) as unknown) : cell
}

function refusalOf(error: Refused): ChangeRefusal {
  const refusal = JSON.parse((error.cause as { detail: string }).detail) as ChangeRefusal
  return refusal.why === 'taken' ? { ...refusal, by: fromStored(refusal.by) } : refusal
}
