/**
 * A store in a file. It lives in the thread that writes the journal of that file (journal/sqlite/write-side.ts): one
 * connection and one lock for the process. Changes of the store that come together are one transaction.
 */
import { describe } from '../../errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { OpenJob } from '../acknowledged-jobs.ts'
import type {
  CommitAnswer,
  FenceAnswer,
  Grant,
  Renewal,
  ServerId,
  SessionId,
  ShardBatch,
} from '../database.ts'
import type { StoreDatabase, StoreRow } from '../roles.ts'
import {
  checkRecord,
  mostRecords,
  readQuery,
  rowRefused,
  TableList,
  type AnyTable,
  type ChangeRefusal,
  type ColumnOf,
  type Stored,
  type StoredRecord,
  type Table,
  type TableChange,
  type TableQuery,
  type Tables,
} from '../tables.ts'
import type { StoreChange, StoreQuestion } from './store-messages.ts'

/** The thread that hosts the file. */
export interface StoreLink {
  /** Resolves when the change is durable. */
  change(change: StoreChange): Promise<unknown>
  ask(question: StoreQuestion): Promise<unknown>
  close(): Promise<void>
}

export class SqliteDatabase implements StoreDatabase, AsyncDisposable {
  readonly tables: Tables
  readonly #link: StoreLink
  readonly #list: TableList

  constructor(link: StoreLink, tables: readonly AnyTable[], clock: Pick<Clock, 'wallTime'>) {
    this.#link = link
    this.#list = new TableList(tables)
    this.tables = new TablesInFile(link, this.#list, clock)
  }

  /** Makes the missing parts of the declared tables. */
  async declare(): Promise<void> {
    await this.#change({ type: 'declare', tables: [...this.#list] })
  }

  /** The file was checked when it was opened; a newer process refuses one that an older one has open. */
  async checkVersion(): Promise<void> {}

  async openSession(_server: ServerId, session: SessionId): Promise<void> {
    await this.#change({ type: 'open session', session })
  }

  renew(server: ServerId, ttl: number): Promise<Renewal> {
    return this.#change({ type: 'renew', server, ttl })
  }

  acquire(server: ServerId, most: number): Promise<readonly Grant[]> {
    return this.#change({ type: 'acquire', server, most })
  }

  async release(server: ServerId, grants: readonly Grant[]): Promise<void> {
    await this.#change({ type: 'release', server, grants })
  }

  owners(): Promise<readonly (ServerId | undefined)[]> {
    return this.#ask({ type: 'owners' })
  }

  async commit(
    session: SessionId,
    number: number,
    batches: readonly ShardBatch<StoreRow>[],
  ): Promise<CommitAnswer> {
    const named = new Set<string>()
    for (const { rows } of batches) {
      for (const row of rows) if ('table' in row) named.add(row.table)
    }
    const tables = [...named].map((name) => this.#list.owned(name))
    const encoded = named.size === 0 ? batches : batches.map((batch) => this.#encode(batch))
    return this.#change({ type: 'commit', session, number, batches: encoded, tables })
  }

  #encode(batch: ShardBatch<StoreRow>): ShardBatch<StoreRow> {
    const rows = batch.rows.map((row) => {
      if (row.kind !== 'put') return row
      return { ...row, record: encodedRecord(this.#list.get(row.table), row.record) }
    })
    return { ...batch, rows }
  }

  fence(session: SessionId): Promise<FenceAnswer> {
    return this.#change({ type: 'fence', session })
  }

  openJobs(shards: readonly number[]): Promise<readonly OpenJob[]> {
    return this.#ask({ type: 'open jobs', shards })
  }

  familyOutcomes(word: string): Promise<readonly string[]> {
    return this.#ask({ type: 'family outcomes', word })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link.close()
  }

  async #change<T>(change: StoreChange): Promise<T> {
    return (await this.#link.change(change)) as T
  }

  async #ask<T>(question: StoreQuestion): Promise<T> {
    return (await this.#link.ask(question)) as T
  }
}

class TablesInFile implements Tables {
  readonly #link: StoreLink
  readonly #list: TableList
  readonly #clock: Pick<Clock, 'wallTime'>

  constructor(link: StoreLink, list: TableList, clock: Pick<Clock, 'wallTime'>) {
    this.#link = link
    this.#list = list
    this.#clock = clock
  }

  /** A file is used by processes of one machine. */
  async now(): Promise<number> {
    return this.#clock.wallTime()
  }

  async byIds<R extends StoredRecord>(
    { name }: Table<R>,
    ids: readonly string[],
  ): Promise<readonly (Stored<R> | undefined)[]> {
    return this.#ask({ type: 'by ids', table: this.#list.get(name), ids })
  }

  async ofShards<R extends StoredRecord>(
    { name }: Table<R>,
    shards: readonly number[],
  ): Promise<readonly Stored<R>[]> {
    return this.#ask({ type: 'of shards', table: this.#list.get(name), shards })
  }

  async list<R extends StoredRecord>(
    { name }: Table<R>,
    query: TableQuery<R> = {},
  ): Promise<readonly Stored<R>[]> {
    const table = this.#list.get(name)
    readQuery(table, query)
    return this.#ask({ type: 'list', table, query })
  }

  async change(changes: readonly TableChange[]): Promise<ChangeRefusal | undefined> {
    const names = new Set(changes.map(({ table }) => table))
    const tables = [...names].map((name) => this.#list.get(name))
    const encoded = changes.map((change) => {
      const { table, record } = change
      if (record === undefined) return change
      return { ...change, record: encodedRecord(this.#list.get(table), record) }
    })
    return (await this.#link.change({ type: 'change', changes: encoded, tables })) as ChangeRefusal
  }

  async removeBelow<R extends StoredRecord>(
    { name }: Table<R>,
    by: ColumnOf<R>,
    below: number,
    limit: number = mostRecords,
  ): Promise<number> {
    const table = this.#list.get(name)
    return (await this.#link.change({
      type: 'remove below',
      table,
      by,
      below,
      limit,
    })) as number
  }

  async #ask<T>(question: StoreQuestion): Promise<T> {
    return (await this.#link.ask(question)) as T
  }
}

/**
 * A record as its thread gets it: its columns only, and values of type `json` as text, because a message between threads
 * knows neither functions nor `toJSON()`.
 *
 * @throws `HDL_ROW_REFUSED`.
 */
function encodedRecord(table: AnyTable, record: StoredRecord): StoredRecord {
  checkRecord(table, record)
  const values = record as unknown as Readonly<Record<string, unknown>>
  const cells = Object.entries(table.columns).map(([column, type]) => {
    const value = values[column]
    const isText = type === 'json' && value !== undefined && value !== null
    return [column, isText ? jsonOf(value) : value] as const
  })
  return { id: record.id, ...Object.fromEntries(cells) }
}

function jsonOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw rowRefused(describe(error))
  }
  if (text === undefined) throw rowRefused(`JSON has no ${typeof value}`)
  return text
}
