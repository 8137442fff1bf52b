/**
 * The tables of roles in memory. Each index is a sorted list: a page costs a search, the page, and the rows written
 * since the last one.
 */
import { describe } from '../../errors.ts'
import {
  checkRecord,
  compareValues,
  mostRecords,
  readQuery,
  rowRefused,
  type AnyQuery,
  type AnyTable,
  type ChangeRefusal,
  type ColumnOf,
  type Comparable,
  type Stored,
  type StoredRecord,
  type Table,
  type TableChange,
  type TableList,
  type TableQuery,
  type TableRow,
  type Tables,
} from '../tables.ts'

type Values = Readonly<Record<string, unknown>>

interface Entry {
  readonly id: string
  readonly shard: number | undefined
  readonly revision: number
  readonly values: Values
}

function compareOn(columns: readonly string[], a: Values, b: Values): number {
  for (const column of columns) {
    const order = compareValues(a[column] as Comparable, b[column] as Comparable)
    if (order !== 0) return order
  }
  return 0
}

/** Changes that are put into their places one by one; more of them are sorted together. */
const fewChanges = 16

/**
 * Entries in the order of some columns, then of the id. Those that lack a value are left out. Changes wait until the order is asked
 * for, so a table that is written more than it is read does not move all its entries for each write.
 */
class SortedIndex {
  readonly columns: readonly string[]
  #entries: Entry[]
  readonly #added = new Set<Entry>()
  readonly #deleted = new Set<Entry>()

  constructor(columns: readonly string[], entries: Iterable<Entry> = []) {
    this.columns = columns
    this.#entries = [...entries]
      .filter((entry) => !this.#lacksValue(entry))
      .sort((a, b) => this.#compare(a, b))
  }

  get entries(): readonly Entry[] {
    if (this.#added.size + this.#deleted.size > fewChanges) this.#sortChanges()
    else {
      for (const entry of this.#deleted) this.#entries.splice(this.#placeOf(entry), 1)
      for (const entry of this.#added) this.#entries.splice(this.#placeOf(entry), 0, entry)
    }
    this.#added.clear()
    this.#deleted.clear()
    return this.#entries
  }

  add(entry: Entry): void {
    if (!this.#lacksValue(entry)) this.#added.add(entry)
  }

  delete(entry: Entry): void {
    if (!this.#lacksValue(entry) && !this.#added.delete(entry)) this.#deleted.add(entry)
  }

  /** The number of the first entry for which `compare` is not negative. */
  search(compare: (entry: Entry) => number): number {
    return firstOf(this.entries, compare)
  }

  #placeOf(entry: Entry): number {
    return firstOf(this.#entries, (other) => this.#compare(other, entry))
  }

  #sortChanges(): void {
    const kept = this.#entries.filter((entry) => !this.#deleted.has(entry))
    // One list that is in order and a short one that is not: sorting takes little more than the short one.
    this.#entries = [...kept, ...this.#added].sort((a, b) => this.#compare(a, b))
  }

  #compare(a: Entry, b: Entry): number {
    return compareOn(this.columns, a.values, b.values) || compareValues(a.id, b.id)
  }

  #lacksValue({ values }: Entry): boolean {
    return this.columns.some((column) => values[column] === undefined)
  }
}

function firstOf(entries: readonly Entry[], compare: (entry: Entry) => number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(entries[middle]!) < 0) low = middle + 1
    else high = middle
  }
  return low
}

class MemoryTable {
  readonly #table: AnyTable
  readonly #byId = new Map<string, Entry>()
  readonly #indexes: readonly SortedIndex[]

  constructor(table: AnyTable) {
    this.#table = table
    const lists = [[], ...(table.indexes ?? []), ...(table.unique ?? [])]
    this.#indexes = lists.map((columns) => new SortedIndex(columns))
  }

  get(id: string): Entry | undefined {
    return this.#byId.get(id)
  }

  check(record: StoredRecord): void {
    checkRecord(this.#table, record)
    try {
      for (const [column, type] of Object.entries(this.#table.columns)) {
        if (type === 'json') copyOf(type, (record as unknown as Values)[column] ?? null)
      }
    } catch (error) {
      throw rowRefused(describe(error))
    }
  }

  put(record: StoredRecord, shard: number | undefined): void {
    const { id } = record
    const values: Record<string, unknown> = {}
    for (const [column, type] of Object.entries(this.#table.columns)) {
      const value = (record as unknown as Values)[column]
      if (value !== undefined && value !== null) values[column] = copyOf(type, value)
    }
    const revision = (this.#byId.get(id)?.revision ?? 0) + 1
    this.remove(id)
    this.restore({ id, shard, revision, values })
  }

  restore(entry: Entry): void {
    this.#byId.set(entry.id, entry)
    for (const index of this.#indexes) index.add(entry)
  }

  remove(id: string): void {
    const entry = this.#byId.get(id)
    if (entry === undefined) return
    this.#byId.delete(id)
    for (const index of this.#indexes) index.delete(entry)
  }

  /** Another record that has the values of a unique list. */
  takenBy(record: StoredRecord): string | undefined {
    const values = record as unknown as Values
    for (const columns of this.#table.unique ?? []) {
      if (columns.some((column) => values[column] === undefined)) continue
      const index = this.#indexes.find((each) => each.columns === columns)!
      const at = index.search((entry) => compareOn(columns, entry.values, values))
      const same = index.entries.slice(at, at + 2).filter((entry) => {
        return compareOn(columns, entry.values, values) === 0
      })
      const other = same.find(({ id }) => id !== record.id)
      if (other !== undefined) return other.id
    }
    return undefined
  }

  ofShards(shards: ReadonlySet<number>): Entry[] {
    return this.#indexes[0]!.entries.filter(({ shard }) => shard !== undefined && shards.has(shard))
  }

  list(query: AnyQuery): Entry[] {
    const { by, limit, where: wanted } = readQuery(this.#table, query)
    const { from, below, descending = false, after } = query
    const where = Object.fromEntries(wanted)
    const index = this.#indexFor(Object.keys(where), by)
    const fixed = index.columns.slice(0, wanted.length)
    const compare = ({ values, id }: Entry, value?: Comparable, at?: string): number =>
      compareOn(fixed, values, where) ||
      (value === undefined ? 0 : compareValues(values[by!] as Comparable, value)) ||
      (at === undefined ? 0 : compareValues(id, at))
    let low = index.search((entry) => compare(entry, from))
    let high = index.search((entry) =>
      below === undefined ? compare(entry) - 0.5 : compare(entry, below),
    )
    if (after !== undefined) {
      const [value, id] = [by === undefined ? undefined : after.value, after.id]
      if (descending)
        high = Math.min(
          high,
          index.search((entry) => compare(entry, value, id)),
        )
      else
        low = Math.max(
          low,
          index.search((entry) => compare(entry, value, id) - 0.5),
        )
    }
    if (!descending) return index.entries.slice(low, Math.min(high, low + limit))
    return index.entries.slice(Math.max(low, high - limit), Math.max(low, high)).toReversed()
  }

  /** An index that begins with the columns of `where` and continues with the order; without one everything is sorted. */
  #indexFor(where: readonly string[], by: string | undefined): SortedIndex {
    const order = by === undefined ? [] : [by]
    const found = this.#indexes.find(({ columns }) => {
      const [first, rest] = [columns.slice(0, where.length), columns.slice(where.length)]
      return where.every((column) => first.includes(column)) && rest.join() === order.join()
    })
    return found ?? new SortedIndex([...where, ...order], this.#byId.values())
  }
}

/** Later changes by the caller are not stored. */
function copyOf(type: string, value: unknown): unknown {
  if (type === 'bytes') return Uint8Array.from(value as Uint8Array)
  return type === 'json' ? (JSON.parse(JSON.stringify(value)) as unknown) : value
}

function recordOf<R>({ id, revision, values }: Entry): Stored<R> {
  return { id, ...values, revision } as unknown as Stored<R>
}

export class MemoryTables implements Tables {
  readonly #list: TableList
  readonly #tables = new Map<string, MemoryTable>()
  readonly #wallTime: () => number

  constructor(list: TableList, wallTime: () => number) {
    this.#list = list
    this.#wallTime = wallTime
    for (const table of list) this.#tables.set(table.name, new MemoryTable(table))
  }

  async now(): Promise<number> {
    return this.#wallTime()
  }

  /** @throws `HDL_ROW_REFUSED` for values that the columns of a table cannot hold, as a database does (D6). */
  check({ name }: Pick<AnyTable, 'name'>, record: StoredRecord): void {
    this.#table(name).check(record)
  }

  /** A row of a batch. Whether it may be written has been checked. */
  apply(row: TableRow, shard: number): void {
    const table = this.#table(this.#list.owned(row.table).name)
    if (row.kind === 'put') table.put(row.record, shard)
    else table.remove(row.id)
  }

  async byIds<R extends StoredRecord>(
    { name }: Table<R>,
    ids: readonly string[],
  ): Promise<readonly (Stored<R> | undefined)[]> {
    const table = this.#table(name)
    return ids.map((id) => {
      const entry = table.get(id)
      return entry && recordOf<R>(entry)
    })
  }

  async ofShards<R extends StoredRecord>(
    { name }: Table<R>,
    shards: readonly number[],
  ): Promise<readonly Stored<R>[]> {
    return this.#table(name)
      .ofShards(new Set(shards))
      .map((entry) => recordOf<R>(entry))
  }

  async list<R extends StoredRecord>(
    { name }: Table<R>,
    query: TableQuery<R> = {},
  ): Promise<readonly Stored<R>[]> {
    return this.#table(name)
      .list(query as AnyQuery)
      .map((entry) => recordOf<R>(entry))
  }

  async change(changes: readonly TableChange[]): Promise<ChangeRefusal | undefined> {
    for (const { table, record } of changes)
      if (record !== undefined) this.#table(table).check(record)
    const undo: (() => void)[] = []
    for (const [index, change] of changes.entries()) {
      const refusal = this.#change(change, index, undo)
      if (refusal === undefined) continue
      for (const step of undo.reverse()) step()
      return refusal
    }
    return undefined
  }

  #change(
    { table: name, id, record, expect }: TableChange,
    index: number,
    undo: (() => void)[],
  ): ChangeRefusal | undefined {
    const table = this.#table(name)
    const before = table.get(id)
    const isExpected = expect === 'absent' ? before === undefined : before?.revision === expect
    if (expect !== undefined && !isExpected) return { why: 'changed', index }
    const by = record && table.takenBy(record)
    if (by !== undefined) return { why: 'taken', index, by }
    undo.push(() => {
      table.remove(id)
      if (before !== undefined) table.restore(before)
    })
    if (record === undefined) table.remove(id)
    else table.put(record, undefined)
    return undefined
  }

  async removeBelow<R extends StoredRecord>(
    { name }: Table<R>,
    by: ColumnOf<R>,
    below: number,
    limit: number = mostRecords,
  ): Promise<number> {
    const table = this.#table(name)
    const old = table.list({ by, below, limit })
    for (const { id } of old) table.remove(id)
    return old.length
  }

  #table(name: string): MemoryTable {
    return this.#tables.get(this.#list.get(name).name)!
  }
}
