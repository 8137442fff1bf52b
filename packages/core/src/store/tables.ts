/**
 * Tables of roles: a role declares its tables, and every database stores it in the same way.
 *
 * A role without SQL of its own: its state is records with an id in declared tables. There are two ways to write one.
 *
 *   owned    by the owner of a shard, in a batch that the database refuses when the epoch is not current (C2):
 *            `put` and `remove` rows. The owner decides in memory; the database only stores.
 *   shared   by any process, with `change()`: one transaction that is refused whole when a record is not as expected.
 *            For what belongs to no shard: users, tokens, definitions of schedules.
 *
 * Rules, quoted by the tests:
 *  T1  A record is written whole. Columns that this version does not know keep their values (C11).
 *  T2  Writing the same again changes nothing but the revision: a caller that was left without an answer may repeat it.
 *  T3  A table is written in one of the two ways, never in both.
 *  T4  `change()` writes everything or nothing. If two calls expect the same revision, one is refused.
 *  T5  Lists are in the order of a column, then of the id; text by code points. A list starts after a cursor, so
 *      records that are added or removed in between do not make others repeat or be skipped.
 *  T6  All processes of a store read one clock: `now()`.
 */
import { HeddleError } from '../errors.ts'

/** What a column holds: text, numbers (64-bit floating point, infinite ones too, but not NaN), booleans, bytes, or a value as JSON. */
export type ColumnType = 'text' | 'number' | 'boolean' | 'bytes' | 'json'

/** A record as a database stores it. An absent value is NULL. */
export interface StoredRecord {
  /** Unique in its table. Ids of several parts are joined by the role: `campaign:42`. */
  readonly id: string
}

export type ColumnOf<R> = Exclude<keyof R & string, 'id'>

type TypeFor<V> = [V] extends [string]
  ? 'text'
  : [V] extends [number]
    ? 'number'
    : [V] extends [boolean]
      ? 'boolean'
      : [V] extends [Uint8Array]
        ? 'bytes'
        : 'json'

/**
 * A table of a role: plain data. A column may be added, a table too; neither is ever renamed, dropped or given another
 * type, because servers of the version before still use it (C11).
 */
export interface Table<R extends StoredRecord = StoredRecord> {
  /** The role, then the noun: `people_user`. */
  readonly name: string
  readonly columns: { readonly [K in ColumnOf<R>]-?: TypeFor<NonNullable<R[K]>> }
  /** Columns that lists filter by, then the one that they are ordered by: one index each. */
  readonly indexes?: readonly (readonly ColumnOf<R>[])[]
  /** Columns whose values together exist once. Only for tables that `change()` writes: batches have claims. */
  readonly unique?: readonly (readonly ColumnOf<R>[])[]
}

/** A table whose records' type does not matter. */
export interface AnyTable {
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnType>>
  readonly indexes?: readonly (readonly string[])[]
  readonly unique?: readonly (readonly string[])[]
}

/** Rows of a batch: the owned way. */
export type TableRow =
  | { readonly kind: 'put'; readonly table: string; readonly record: StoredRecord }
  | { readonly kind: 'remove'; readonly table: string; readonly id: string }

export function put<R extends StoredRecord>(table: Table<R>, record: R): TableRow {
  return { kind: 'put', table: table.name, record }
}

export function remove<R extends StoredRecord>(table: Table<R>, id: string): TableRow {
  return { kind: 'remove', table: table.name, id }
}

/** What was read: the record, and how often it was written. */
export type Stored<R> = R & { readonly revision: number }

export interface TableChange {
  readonly table: string
  readonly id: string
  /** Absent: the record is removed. */
  readonly record?: StoredRecord | undefined
  /** What must be there: no record, or the record in this revision. Anything when absent. */
  readonly expect?: 'absent' | number | undefined
}

/** Why nothing was changed. `index` is that of the change which was refused. */
export type ChangeRefusal =
  /** The record is not as expected. */
  | { readonly why: 'changed'; readonly index: number }
  /** Another record has the values of a `unique` list. */
  | { readonly why: 'taken'; readonly index: number; readonly by: string }

/** A record to be written by `change()`. */
export function write<R extends StoredRecord>(
  table: Table<R>,
  record: R,
  expect?: 'absent' | number,
): TableChange {
  return { table: table.name, id: record.id, record, expect }
}

/** A record to be removed by `change()`. */
export function erase<R extends StoredRecord>(
  table: Table<R>,
  id: string,
  expect?: number,
): TableChange {
  return { table: table.name, id, expect }
}

/** A value that records can be compared by. */
export type Comparable = string | number | boolean

export interface TableQuery<R extends StoredRecord = StoredRecord> {
  /** Values that records have. */
  readonly where?: { readonly [K in ColumnOf<R>]?: R[K] & Comparable } | undefined
  /** The column of the order. By id when absent. Records without a value in it are left out. */
  readonly by?: ColumnOf<R> | undefined
  /** Bounds of that column: `from` is included, `below` is not. */
  readonly from?: Comparable | undefined
  readonly below?: Comparable | undefined
  readonly descending?: boolean | undefined
  /** The last record of the page before: see {@link cursorOf}. */
  readonly after?: Cursor | undefined
  /** The page size, at most 1,000. Default 100. */
  readonly limit?: number | undefined
}

/** A query of a table whose records' type does not matter. */
export interface AnyQuery {
  readonly where?: Readonly<Record<string, Comparable | undefined>> | undefined
  readonly by?: string | undefined
  readonly from?: Comparable | undefined
  readonly below?: Comparable | undefined
  readonly descending?: boolean | undefined
  readonly after?: Cursor | undefined
  readonly limit?: number | undefined
}

/** Where a list continues. */
export interface Cursor {
  readonly id: string
  /** Value of the column by which the list is ordered. */
  readonly value?: Comparable | undefined
}

export function cursorOf<R extends StoredRecord>(record: R, by?: ColumnOf<R>): Cursor {
  return { id: record.id, ...(by !== undefined && { value: record[by] as Comparable }) }
}

/** *Cancellation*: none of these can be cancelled; each ends when the database does not answer in time. */
export interface Tables {
  /**
   * Milliseconds since 1970 by the clock of the database, which all its servers share (PostgreSQL); a store of one machine
   * has that machine's. It may jump.
   */
  now(): Promise<number>
  /** Records by their ids, in that order; undefined where there is none. */
  byIds<R extends StoredRecord>(
    table: Table<R>,
    ids: readonly string[],
  ): Promise<readonly (Stored<R> | undefined)[]>
  /** All records that batches of these shards have put, by id: one query, for a take-over. */
  ofShards<R extends StoredRecord>(
    table: Table<R>,
    shards: readonly number[],
  ): Promise<readonly Stored<R>[]>
  /** A page of records (T5). Give it the columns of an index: `where`, then `by`. */
  list<R extends StoredRecord>(
    table: Table<R>,
    query?: TableQuery<R>,
  ): Promise<readonly Stored<R>[]>
  /**
   * The shared way (T4). Resolves with undefined when everything was written.
   *
   * A call that was left without an answer may have been carried out: read before repeating it with `expect`.
   */
  change(changes: readonly TableChange[]): Promise<ChangeRefusal | undefined>
  /** Retention: removes up to `limit` (1,000) records whose column is below a value. Resolves with how many it were. */
  removeBelow<R extends StoredRecord>(
    table: Table<R>,
    by: ColumnOf<R>,
    below: number,
    limit?: number,
  ): Promise<number>
}

/** A database that has the tables of its roles. */
export interface WithTables {
  readonly tables: Tables
}

/** The name of a table in a database: apart from the tables that a store has itself. */
export const tablePrefix = 'r_'

const reserved = new Set(['id', 'shard', 'revision'])
const namePattern = /^[a-z][a-z0-9]*_[a-z0-9_]{1,40}$/
const columnPattern = /^[a-zA-Z][a-zA-Z0-9_]{0,40}$/

/** Declared tables by name. @throws `HDL_BAD_OPTION` for a name that a database cannot have. */
export class TableList {
  readonly #tables = new Map<string, AnyTable>()

  constructor(tables: readonly AnyTable[] = []) {
    for (const table of tables) this.#add(table)
  }

  [Symbol.iterator](): IterableIterator<AnyTable> {
    return this.#tables.values()
  }

  get(name: string): AnyTable {
    const table = this.#tables.get(name)
    if (table !== undefined) return table
    throw badTable(name, 'one that was given when the store was opened')
  }

  /** T3: a table that batches write. */
  owned(name: string): AnyTable {
    const table = this.get(name)
    if ((table.unique?.length ?? 0) === 0) return table
    throw badTable(name, 'one without unique columns: a batch takes names with claims')
  }

  #add(table: AnyTable): void {
    const { name, columns, indexes = [], unique = [] } = table
    if (!namePattern.test(name)) {
      throw badTable(name, 'the role, an underscore and a noun, in lower-case letters')
    }
    for (const column of Object.keys(columns)) {
      if (columnPattern.test(column) && !reserved.has(column)) continue
      throw badTable(`${name}.${column}`, 'a column of letters, not id, shard or revision')
    }
    for (const column of [...indexes, ...unique].flat()) {
      if (column in columns) continue
      throw badTable(`${name}.${column}`, 'an index over columns of the table')
    }
    this.#tables.set(name, table)
  }
}

function badTable(value: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', { option: 'table', value, expected })
}

const defaultLimit = 100
export const mostRecords = 1_000

/** The conditions of a query, without undefined ones. */
export interface ReadQuery {
  readonly where: readonly (readonly [column: string, value: Comparable])[]
  readonly by: string | undefined
  readonly limit: number
}

/** @throws `HDL_BAD_OPTION`. */
export function readQuery(table: AnyTable, query: AnyQuery): ReadQuery {
  const { by, limit = defaultLimit } = query
  const where = Object.entries(query.where ?? {}).flatMap(([column, value]) =>
    value === undefined ? [] : [[column, value] as const],
  )
  for (const column of [...where.map(([name]) => name), ...(by === undefined ? [] : [by])]) {
    if (!(column in table.columns)) throw badTable(`${table.name}.${column}`, 'a column')
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > mostRecords) {
    const expected = `a whole number from 1 to ${mostRecords}`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'limit', value: limit, expected })
  }
  return { by, where, limit }
}

const isOfType: Readonly<Record<ColumnType, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  // NaN has no place in an order, and SQLite has no such number.
  number: (value) => typeof value === 'number' && !Number.isNaN(value),
  boolean: (value) => typeof value === 'boolean',
  bytes: (value) => value instanceof Uint8Array,
  json: () => true,
}

/** D6: what every database refuses alike, before it is sent. @throws `HDL_ROW_REFUSED`. */
export function checkRecord({ name, columns }: AnyTable, record: StoredRecord): void {
  const values = record as unknown as Readonly<Record<string, unknown>>
  for (const [column, type] of Object.entries(columns)) {
    const value = values[column]
    if (value === undefined || value === null || isOfType[type](value)) continue
    throw rowRefused(`${name}.${column} is ${Number.isNaN(value) ? 'NaN' : `not ${type}`}`)
  }
}

export function rowRefused(cause: string): HeddleError<'HDL_ROW_REFUSED'> {
  return new HeddleError('HDL_ROW_REFUSED', { store: 'The database', cause })
}

/** Compares values of one column as the databases do: text by code points, false before true. */
export function compareValues(a: Comparable, b: Comparable): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  const [x, y] = [Number(a), Number(b)]
  // Two infinite numbers have no difference.
  return x === y ? 0 : x - y
}

/** Compares code points: UTF-16 units sort differently above U+D7FF. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
