/**
 * Results in the store, shared by all servers of a cluster: the second tier of the cache, on a declared table.
 *
 *  R1  Only the owner of a handle writes its results: a server that has lost the shard is refused.
 *  R2  A write that failed may have been carried out, and the cache deletes what it stands for. That delete may come late, when
 *      another owner has written the result again: it removes only what this server has written. So does giving everything
 *      up after too many failures.
 *
 * Known limits: values of up to 32 MiB; it is bounded by age, not by bytes.
 */
import { HeddleError } from '@heddle/core'
import {
  erase,
  write,
  type CacheTier,
  type Clock,
  type ParentVersion,
  type Stored,
  type StoredRecord,
  type Table,
  type TableChange,
  type Tables,
  type TierEntry,
  type TierMeta,
  type TierStats,
  type TierWrite,
} from '@heddle/core/lowlevel'

interface ResultRecord extends StoredRecord {
  readonly version: number
  readonly createdAt: number
  readonly ttl: number
  readonly parentKey?: string
  readonly parentVersion?: number
  /** The server that wrote it. */
  readonly writer?: string
  readonly body: Uint8Array
}

/** Shared: the owner of a handle writes its results. */
export const resultTable: Table<ResultRecord> = {
  name: 'cluster_result',
  columns: {
    version: 'number',
    createdAt: 'number',
    ttl: 'number',
    parentKey: 'text',
    parentVersion: 'number',
    writer: 'text',
    body: 'bytes',
  },
  indexes: [['parentKey', 'version'], ['version'], ['createdAt']],
}

const largest = 32 * 2 ** 20
const day = 86_400_000

/** Failed writes after which the cache gives the content of a tier up: here, only what this server has written. */
const mostFailed = 500

/** Writes between two looks for results that are too old. */
const sweepEvery = 1_000

export interface ResultTierOptions {
  readonly tables: Tables
  readonly clock: Clock
  /** This server. */
  readonly server: string
  /** Whether this server owns what has this name now. @throws `HDL_NOT_OWNER`. */
  readonly checkOwner: (handle: string) => void
  /** Milliseconds that a result is kept. Default 30 days. */
  readonly maxAge?: number
}

export class ResultTier implements CacheTier {
  readonly #tables: Tables
  readonly #clock: Clock
  readonly #maxAge: number
  readonly #server: string
  readonly #checkOwner: (handle: string) => void
  /** R2: keys whose write has failed, until what may be left of it is gone. */
  readonly #failed = new Set<string>()
  #writes = 0
  #expired = 0

  constructor({ tables, clock, server, checkOwner, maxAge = 30 * day }: ResultTierOptions) {
    this.#tables = tables
    this.#clock = clock
    this.#server = server
    this.#checkOwner = checkOwner
    this.#maxAge = maxAge
  }

  async open(): Promise<number> {
    const [last] = await this.#tables.list(resultTable, {
      by: 'version',
      descending: true,
      limit: 1,
    })
    return last?.version ?? 0
  }

  async read(key: string): Promise<TierEntry | undefined> {
    const record = await this.#get(key)
    return record && { ...metaOf(record), body: Uint8Array.from(record.body) }
  }

  async peek(key: string): Promise<TierMeta | undefined> {
    const record = await this.#get(key)
    return record && metaOf(record)
  }

  async write(key: string, entry: TierWrite): Promise<boolean> {
    try {
      const wasThere = await this.#write(key, entry)
      this.#failed.delete(key)
      return wasThere
    } catch (error) {
      this.#failed.add(key)
      throw error
    }
  }

  async #write(key: string, entry: TierWrite): Promise<boolean> {
    const { version, createdAt, ttl, parent } = entry
    const body = await bytesOf(key, entry.body)
    const before = await this.#get(key)
    const record: ResultRecord = {
      id: key,
      version,
      createdAt,
      ttl,
      writer: this.#server,
      body,
      ...(parent !== undefined && { parentKey: parent.key, parentVersion: parent.version }),
    }
    const derived = await this.#derivedFrom(key)
    // R1: as late as possible.
    this.#checkOwner(handleOfKey(key))
    await this.#change([write(resultTable, record), ...derived])
    if (++this.#writes % sweepEvery === 0) await this.#sweep()
    return before !== undefined
  }

  async delete(key: string): Promise<boolean> {
    if (this.#failed.has(key)) return this.#deleteFailed(key)
    const before = await this.#get(key)
    await this.#change([erase(resultTable, key), ...(await this.#derivedFrom(key))])
    return before !== undefined
  }

  /** R2. */
  async #deleteFailed(key: string): Promise<boolean> {
    const found = await this.#get(key)
    const isOwn = found?.writer === this.#server
    // Refused when another server has written it since the look: then it is not ours any more.
    if (isOwn) await this.#tables.change([erase(resultTable, key, found.revision)])
    this.#failed.delete(key)
    return isOwn
  }

  async clear(): Promise<void> {
    if (this.#failed.size >= mostFailed) {
      for (const key of this.#failed) await this.#deleteFailed(key)
      return
    }
    while ((await this.#tables.removeBelow(resultTable, 'version', Infinity)) > 0);
  }

  stats(): TierStats {
    const evicted = { bytes: 0, expired: this.#expired, damaged: 0 }
    return { entries: 0, bytes: 0, maxBytes: Infinity, evicted }
  }

  async close(): Promise<void> {}

  async #get(key: string): Promise<Stored<ResultRecord> | undefined> {
    const [record] = await this.#tables.byIds(resultTable, [key])
    return record
  }

  /** What was made from an earlier version goes with it. */
  async #derivedFrom(key: string): Promise<TableChange[]> {
    const changes: TableChange[] = []
    let from: number | undefined
    for (;;) {
      const page = await this.#tables.list(resultTable, {
        where: { parentKey: key },
        by: 'version',
        from,
        limit: 1_000,
      })
      changes.push(...page.map(({ id }) => erase(resultTable, id)))
      if (page.length < 1_000) return changes
      from = page.at(-1)!.version + 1
    }
  }

  async #change(changes: readonly TableChange[]): Promise<void> {
    const refused = await this.#tables.change(changes)
    if (refused === undefined) return
    const details = { store: 'The store', action: 'keep a result', cause: 'it was refused' }
    throw new HeddleError('HDL_STORE_FAILED', details)
  }

  async #sweep(): Promise<void> {
    const before = this.#clock.wallTime() - this.#maxAge
    const removed = await this.#tables.removeBelow(resultTable, 'createdAt', before)
    this.#expired += removed
  }
}

function metaOf(record: ResultRecord): TierMeta {
  const { version, createdAt, ttl, parentKey, parentVersion } = record
  const parent: ParentVersion | undefined =
    parentKey === undefined ? undefined : { key: parentKey, version: parentVersion! }
  return { version, createdAt, ttl, ...(parent !== undefined && { parent }) }
}

async function bytesOf(key: string, body: TierWrite['body']): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return checkSize(key, body)
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size <= largest) pieces.push(Uint8Array.from(piece))
  }
  if (size > largest) throw tooLarge(key, size)
  return Buffer.concat(pieces)
}

function checkSize(key: string, body: Uint8Array): Uint8Array {
  if (body.length > largest) throw tooLarge(key, body.length)
  return body
}

function tooLarge(key: string, bytes: number): HeddleError {
  return new HeddleError('HDL_VALUE_TOO_LARGE', { key, bytes, limit: largest })
}

/** Keys are handles, and below them what belongs to a handle: `HANDLE/0`. */
function handleOfKey(key: string): string {
  const end = key.indexOf('/')
  return end < 0 ? key : key.slice(0, end)
}
