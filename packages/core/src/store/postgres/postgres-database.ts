/**
 * A store on PostgreSQL 15 or newer. Every call is one statement (L1); schema.ts has its SQL.
 *
 * Connections, each made when it is needed: one that writes batches, one for leases, so that a slow commit delays no
 * renewal, one for what roles read.
 */
import { HeddleError } from '../../errors.ts'
import { checkCount } from '../../kernel/check.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemKernel, type Kernel } from '../../kernel/kernel.ts'
import type { OpenJob } from '../acknowledged-jobs.ts'
import type {
  CommitAnswer,
  FenceAnswer,
  Grant,
  Refusal,
  Renewal,
  ServerId,
  SessionId,
  ShardBatch,
} from '../database.ts'
import type { StoreDatabase, StoreRow } from '../roles.ts'
import { TableList, type AnyTable } from '../tables.ts'
import { fromStored, toStored } from '../stored-text.ts'
import { readAddress, type PostgresAddress } from './address.ts'
import { commitParameters, recordParameters } from './commit-parameters.ts'
import { isRefused, Link } from './database-link.ts'
import { checkVersion, declareTables, migrate } from './migrate.ts'
import { PostgresTables } from './postgres-tables.ts'
import { rowRefusedBy } from './row-refused.ts'

/** Commits between two searches for rows that are no longer needed. */
const sweepEvery = 1_000

/** Another server has written the same at this moment, such as a name: the commit was rolled back, and is sent again. */
const collisions = ['23505', '40001', '40P01']
const mostAttempts = 10

type PairWire = readonly [shard: number, epoch: number]
/** A batch, counted from 1, and why it was refused. */
type RefusalWire = readonly [batch: number, why: 'epoch']

export interface PostgresDatabaseOptions {
  readonly kernel?: Kernel
  /** Milliseconds to wait for one answer. Default 5,000. */
  readonly answerWithin?: number
  /** The tables of roles: missing ones are made. */
  readonly tables?: readonly AnyTable[]
}

/**
 * Opens a store, and makes or migrates its tables.
 *
 * *Cancellation*: none; it ends when the database does not answer in time.
 * @throws `HDL_STORE_FAILED`, `HDL_NO_DRIVER`, `HDL_JOURNAL_NEWER`, `HDL_BAD_OPTION`.
 */
export async function openPostgresDatabase(
  address: string,
  options: PostgresDatabaseOptions = {},
): Promise<PostgresDatabase> {
  const database = new PostgresDatabase(readAddress(address), options)
  try {
    await database.migrate()
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

export class PostgresDatabase implements StoreDatabase, AsyncDisposable {
  readonly tables: PostgresTables
  readonly #address: PostgresAddress
  readonly #list: TableList
  readonly #clock: Clock
  readonly #writer: Link
  readonly #leases: Link
  readonly #reader: Link

  constructor(address: PostgresAddress, options: PostgresDatabaseOptions) {
    const { kernel = systemKernel, answerWithin = 5_000 } = options
    checkCount('answerWithin', answerWithin)
    const { clock } = kernel
    const shared = { address, clock, answerWithin }
    this.#address = address
    this.#clock = clock
    this.#list = new TableList(options.tables)
    this.#writer = new Link({ ...shared, name: 'heddle writer' })
    this.#leases = new Link({ ...shared, name: 'heddle leases' })
    // There may be many open records after a take-over.
    this.#reader = new Link({ ...shared, answerWithin: 6 * answerWithin, name: 'heddle reader' })
    this.tables = new PostgresTables(this.#reader, address, this.#list)
  }

  async migrate(): Promise<void> {
    await migrate(this.#reader, this.#address, this.#clock)
    await declareTables(this.#reader, this.#address, this.#clock, this.#list)
  }

  async checkVersion(): Promise<void> {
    await checkVersion(this.#reader, this.#address)
  }

  async openSession(_server: ServerId, session: SessionId): Promise<void> {
    await this.#call(this.#writer, 'open_session_1', [session])
  }

  async renew(server: ServerId, ttl: number): Promise<Renewal> {
    const answer = await this.#call<{ held: PairWire[]; servers: number }>(
      this.#leases,
      'renew_1',
      [server, ttl],
    )
    return { held: answer.held.map(grantOf), servers: answer.servers }
  }

  async acquire(server: ServerId, most: number): Promise<readonly Grant[]> {
    const pairs = await this.#call<PairWire[]>(this.#leases, 'acquire_1', [server, most])
    return pairs.map(grantOf)
  }

  async release(server: ServerId, grants: readonly Grant[]): Promise<void> {
    const shards = grants.map(({ shard }) => shard)
    const epochs = grants.map(({ epoch }) => epoch)
    await this.#call(this.#leases, 'release_1', [server, shards, epochs])
  }

  async owners(): Promise<readonly (ServerId | undefined)[]> {
    const rows = await this.#reader.call<[string | null]>(
      'be read',
      `SELECT owner FROM ${this.#address.schema}.shard ORDER BY shard`,
    )
    return rows.map(([owner]) => owner ?? undefined)
  }

  async commit(
    session: SessionId,
    number: number,
    batches: readonly ShardBatch<StoreRow>[],
  ): Promise<CommitAnswer> {
    const [parameters, records] = this.#parameters(session, number, batches)
    const refusals = await (records === undefined
      ? this.#commit('commit_1', parameters)
      : this.#commit('commit_2', [...parameters, ...records]))
    if (number % sweepEvery === 0) this.#sweep(session, number)
    return answerOf(batches.length, refusals)
  }

  #parameters(session: SessionId, number: number, batches: readonly ShardBatch<StoreRow>[]) {
    try {
      const parameters = commitParameters(session, number, batches)
      return [parameters, recordParameters(this.#list, batches)] as const
    } catch (error) {
      throw rowRefusedBy(this.#address, error) ?? error
    }
  }

  async #commit(name: string, parameters: readonly unknown[]): Promise<RefusalWire[] | null> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#call<RefusalWire[] | null>(this.#writer, name, parameters)
      } catch (error) {
        const isCollision = isRefused(error, ...collisions)
        if (attempt < mostAttempts && isCollision) continue
        throw rowRefusedBy(this.#address, error) ?? error
      }
    }
  }

  /** D4. A commit that has no answer keeps the connection busy: the fence needs one of its own. */
  async fence(session: SessionId): Promise<FenceAnswer> {
    this.#writer.dropIfBusy()
    const last = await this.#call<{
      last: number
      batches: number
      refusals: RefusalWire[] | null
    } | null>(this.#writer, 'fence_1', [session])
    if (last === null) return { last: 0, answer: [] }
    return { last: last.last, answer: answerOf(last.batches, last.refusals) }
  }

  async openJobs(shards: readonly number[]): Promise<readonly OpenJob[]> {
    type Row = [string, string, string, Uint8Array, boolean, number, boolean]
    const rows = await this.#reader.call<Row>(
      'be read',
      `SELECT handle, job, version, input, started, interruptions, set_aside
        FROM ${this.#address.schema}.job WHERE shard = ANY ($1) ORDER BY number`,
      [shards],
    )
    return rows.map(([handle, job, version, input, started, interruptions, setAside]) => ({
      handle: fromStored(handle),
      job: fromStored(job),
      version: fromStored(version),
      input,
      started,
      interruptions,
      setAside,
    }))
  }

  async familyOutcomes(word: string): Promise<readonly string[]> {
    // Skips along the index: "!" is the character after the space.
    const rows = await this.#reader.call<[string]>(
      'be read',
      `SELECT DISTINCT outcome FROM ${this.#address.schema}.outcome WHERE handle > $1 AND handle < $2`,
      [`${toStored(word)} `, `${toStored(word)}!`],
    )
    return rows.map(([outcome]) => fromStored(outcome)).toSorted()
  }

  /** Ends calls under way first. Closing twice is harmless. */
  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#leases.close(), this.#reader.close()])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #sweep(session: SessionId, number: number): void {
    // The rest is removed the next time.
    this.#call(this.#reader, 'sweep_1', [session, number]).catch(() => undefined)
  }

  /** Calls a function of the schema. */
  async #call<T>(link: Link, name: string, parameters: readonly unknown[]): Promise<T> {
    const places = parameters.map((_, index) => `$${index + 1}`).join(', ')
    const statement = `SELECT ${this.#address.schema}.${name}(${places})`
    const [row] = await link.call<[T]>(`answer the call ${name}`, statement, parameters)
    if (row !== undefined) return row[0]
    throw new HeddleError('HDL_STORE_FAILED', {
      store: this.#address.shown,
      action: `answer the call ${name}`,
      cause: 'it returned nothing',
    })
  }
}

function grantOf([shard, epoch]: PairWire): Grant {
  return { shard, epoch }
}

function answerOf(batches: number, refusals: readonly RefusalWire[] | null): CommitAnswer {
  const answer = Array.from({ length: batches }, (): Refusal => undefined)
  for (const [batch, why] of refusals ?? []) answer[batch - 1] = why
  return answer
}
