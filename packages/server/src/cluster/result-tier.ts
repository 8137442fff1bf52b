/**
 * Results in the store, shared by all servers of a cluster: the second tier of the cache, on a declared table.
 *
 *  R1  Only the owner of a handle writes its results: a server that has lost the shard is refused.
 *  R2  A write that failed may have been carried out, and the cache then deletes its key, perhaps much later. Nothing
 *      is removed by that: the stored value is a result of its handle, and another owner may have found it and
 *      answered for it.
 *  R3  A write expects the revision it has read: one that comes late, after another owner has written the key, is
 *      refused, and removes nothing that was made from the newer one.
 *  R4  A large body is complete before a record names it. It has a name of its own that is never used again, and goes
 *      after the last record that names it. One that a process which died has left without a record goes when it is
 *      as old as results get.
 *
 * A small body is in its record. A large one is kept where the store keeps artifacts: in pieces in the database, or in
 * the folder that the address names. Bytes travel in pieces, so that no large value is encoded on the loop in one go.
 *
 * Known limits: values of up to 1 GiB; it is bounded by age, not by bytes.
 */
import { randomBytes } from 'node:crypto'
import { HeddleError, isError } from '@heddle/core'
import {
  erase,
  write,
  type ArtifactStore,
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
  /** Empty when the body is large. */
  readonly body: Uint8Array
  /** The name of a large body (R4). */
  readonly large?: string
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
    large: 'text',
  },
  indexes: [['parentKey', 'version'], ['version'], ['createdAt']],
}

interface BodyRecord extends StoredRecord {
  readonly createdAt: number
}

/** Large bodies, by name: bodies that no record names are found here (R4). */
export const resultBodyTable: Table<BodyRecord> = {
  name: 'cluster_result_body',
  columns: { createdAt: 'number' },
  indexes: [['createdAt']],
}

/** A large body is the one artifact of a run that does not exist. */
const bodyArtifact = 'body'

/** Bytes that a record holds. */
const largestInRecord = 64 * 1_024

/** Old bodies that each write of a large one removes. */
const bodiesPerWrite = 2

/** Reads of a result that is replaced again and again while its body is read. */
const mostReads = 3

const day = 86_400_000

/** Failed deletes after which the cache gives up the content of a tier: here, only the values to be deleted. */
const mostFailed = 500

/** Writes between two searches for results that are too old. */
const sweepEvery = 1_000

export interface ResultTierOptions {
  readonly tables: Tables
  /** Keeps large bodies: the same for all servers. */
  readonly artifacts: ArtifactStore
  readonly clock: Clock
  /** This server. */
  readonly server: string
  /** Whether this server owns the things with this name now. @throws `HDL_NOT_OWNER`. */
  readonly checkOwner: (handle: string) => void
  /** Milliseconds that a result is kept. Default 30 days. */
  readonly maxAge?: number
  /** Bytes of the largest value. Default 1 GiB. */
  readonly largest?: number
}

export class ResultTier implements CacheTier {
  readonly #tables: Tables
  readonly #artifacts: ArtifactStore
  readonly #clock: Clock
  readonly #maxAge: number
  readonly #largest: number
  readonly #server: string
  readonly #checkOwner: (handle: string) => void
  /** Keys that could not be deleted when a caller asked for it. */
  readonly #failed = new Set<string>()
  #writes = 0
  #expired = 0
  #damaged = 0

  constructor(options: ResultTierOptions) {
    const { tables, artifacts, clock, server, checkOwner, maxAge = 30 * day } = options
    this.#tables = tables
    this.#artifacts = artifacts
    this.#clock = clock
    this.#server = server
    this.#checkOwner = checkOwner
    this.#maxAge = maxAge
    this.#largest = options.largest ?? 2 ** 30
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
    for (let reads = 0; reads < mostReads; reads++) {
      const record = await this.#get(key)
      if (record === undefined) return undefined
      const large = largeOf(record)
      const body = large === undefined ? Uint8Array.from(record.body) : await this.#readBody(large)
      if (body !== undefined) return { ...metaOf(record), body }
      // It was replaced while it was read, or its bytes are damaged: then it is computed again.
    }
    this.#damaged++
    return undefined
  }

  async peek(key: string): Promise<TierMeta | undefined> {
    const record = await this.#get(key)
    return record && metaOf(record)
  }

  async write(key: string, entry: TierWrite): Promise<boolean> {
    const { version, createdAt, ttl, parent } = entry
    const { body, large } = await this.#keepBody(key, version, entry.body)
    const before = await this.#get(key)
    const record: ResultRecord = {
      id: key,
      version,
      createdAt,
      ttl,
      writer: this.#server,
      body,
      ...(large !== undefined && { large }),
      ...(parent !== undefined && { parentKey: parent.key, parentVersion: parent.version }),
    }
    // Without an earlier version nothing is made from it: results left by the sweep are of another version (C7 of the
    // cache).
    const derived = before === undefined ? [] : await this.#derivedFrom(key)
    let isKnown = true
    try {
      // R1: as late as possible.
      this.#checkOwner(handleOfKey(key))
      // R2: a record whose answer was lost may be there, and names the body.
      isKnown = false
      const expected = before?.revision ?? 'absent'
      const refused = await this.#tables.change([
        write(resultTable, record, expected),
        ...erased(derived),
      ])
      isKnown = true
      if (refused !== undefined) throw wasRefused()
    } catch (error) {
      if (large !== undefined && isKnown) await this.#dropBody(large)
      throw error
    }
    this.#failed.delete(key)
    await this.#dropBodies([before, ...derived])
    if (large !== undefined) await this.#dropOldBodies()
    if (++this.#writes % sweepEvery === 0) await this.#sweep()
    return before !== undefined
  }

  async delete(key: string, _version: number, isCleanUp = false): Promise<boolean> {
    if (isCleanUp) return false
    try {
      const before = await this.#get(key)
      const derived = await this.#derivedFrom(key)
      await this.#change([erase(resultTable, key), ...erased(derived)])
      this.#failed.delete(key)
      await this.#dropBodies([before, ...derived])
      return before !== undefined
    } catch (error) {
      this.#failed.add(key)
      throw error
    }
  }

  async clear(): Promise<void> {
    if (this.#failed.size >= mostFailed) {
      for (const key of this.#failed) await this.delete(key, 0)
      return
    }
    while ((await this.#tables.removeBelow(resultTable, 'version', Infinity)) > 0);
    for (;;) {
      const bodies = await this.#tables.list(resultBodyTable)
      if (bodies.length === 0) return
      for (const { id } of bodies) await this.#dropBody(id)
    }
  }

  stats(): TierStats {
    const evicted = { bytes: 0, expired: this.#expired, damaged: this.#damaged }
    return { entries: 0, bytes: 0, maxBytes: Infinity, evicted }
  }

  async close(): Promise<void> {}

  async #get(key: string): Promise<Stored<ResultRecord> | undefined> {
    const [record] = await this.#tables.byIds(resultTable, [key])
    return record
  }

  /** A result derived from an earlier version is removed with that version. */
  async #derivedFrom(key: string): Promise<readonly ResultRecord[]> {
    const derived: ResultRecord[] = []
    let from: number | undefined
    for (;;) {
      const page = await this.#tables.list(resultTable, {
        where: { parentKey: key },
        by: 'version',
        from,
        limit: 1_000,
      })
      derived.push(...page)
      if (page.length < 1_000) return derived
      from = page.at(-1)!.version + 1
    }
  }

  async #change(changes: readonly TableChange[]): Promise<void> {
    const refused = await this.#tables.change(changes)
    if (refused !== undefined) throw wasRefused()
  }

  /** What the record of an entry holds: its body, or the name under which a large one was stored (R4). */
  async #keepBody(key: string, version: number, body: TierWrite['body']): Promise<KeptBody> {
    const source = piecesOf(key, body, this.#largest)
    const first = await takeFirst(source)
    if (first.isWhole) return { body: Buffer.concat(first.pieces), large: undefined }
    const random = randomBytes(9).toString('base64url')
    const large = `${prefixOf({ writer: this.#server, version })}${random}`
    // Not that of the entry: a body is never older than the record that names it, and goes after it.
    const createdAt = this.#clock.wallTime()
    await this.#change([write(resultBodyTable, { id: large, createdAt })])
    try {
      const quota = { bytes: this.#largest, count: 1 }
      await this.#artifacts.put(large, bodyArtifact, joined(first.pieces, source), { quota })
    } catch (error) {
      await this.#dropBody(large)
      throw error
    }
    return { body: new Uint8Array(), large }
  }

  /** Undefined when it is not there any more, or damaged. */
  async #readBody(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    try {
      await using artifact = await this.#artifacts.open(name, bodyArtifact)
      const body = new Uint8Array(artifact.info.length)
      let at = 0
      for await (const piece of artifact.bytes) {
        body.set(piece, at)
        at += piece.length
      }
      return body
    } catch (error) {
      if (isError(error, 'HDL_UNKNOWN_ARTIFACT') || isError(error, 'HDL_ARTIFACT_DAMAGED'))
        return undefined
      throw error
    }
  }

  async #dropBodies(records: readonly (ResultRecord | undefined)[]): Promise<void> {
    for (const record of records)
      if (record?.large !== undefined) await this.#dropBody(record.large)
  }

  /** A body that cannot be removed now is removed by age. */
  async #dropBody(name: string): Promise<void> {
    try {
      await this.#artifacts.remove(name)
      await this.#tables.change([erase(resultBodyTable, name)])
    } catch {
      // R4
    }
  }

  async #dropOldBodies(): Promise<void> {
    const below = this.#clock.wallTime() - this.#maxAge
    const limit = bodiesPerWrite
    for (const { id } of await this.#tables.list(resultBodyTable, {
      by: 'createdAt',
      below,
      limit,
    })) {
      await this.#dropBody(id)
    }
  }

  async #sweep(): Promise<void> {
    const before = this.#clock.wallTime() - this.#maxAge
    const removed = await this.#tables.removeBelow(resultTable, 'createdAt', before)
    this.#expired += removed
  }
}

/**
 * The prefix of the name of a large body: it belongs to one record, and not to the record with which an older server
 * overwrites it.
 */
function prefixOf({ writer, version }: Pick<ResultRecord, 'writer' | 'version'>): string {
  return `result:${writer}:${version}:`
}

/** A server of the version before writes a record without this column, which then keeps the name of an earlier body (C11). */
function largeOf(record: ResultRecord): string | undefined {
  return record.large?.startsWith(prefixOf(record)) === true ? record.large : undefined
}

function metaOf(record: ResultRecord): TierMeta {
  const { version, createdAt, ttl, parentKey, parentVersion } = record
  const parent: ParentVersion | undefined =
    parentKey === undefined ? undefined : { key: parentKey, version: parentVersion! }
  return { version, createdAt, ttl, ...(parent !== undefined && { parent }) }
}

interface KeptBody {
  readonly body: Uint8Array
  readonly large: string | undefined
}

/** The pieces of a body, which is refused as soon as it is too large. */
async function* piecesOf(
  key: string,
  body: TierWrite['body'],
  largest: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  let size = 0
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    size += piece.length
    if (size > largest)
      throw new HeddleError('HDL_VALUE_TOO_LARGE', { key, bytes: size, limit: largest })
    yield piece
  }
}

/** As many pieces as a record can hold, and one more to notice that there are too many. */
async function takeFirst(
  source: AsyncGenerator<Uint8Array, void, undefined>,
): Promise<{ readonly pieces: readonly Uint8Array[]; readonly isWhole: boolean }> {
  const pieces: Uint8Array[] = []
  let size = 0
  while (size <= largestInRecord) {
    const next = await source.next()
    if (next.done === true) return { pieces, isWhole: true }
    pieces.push(next.value)
    size += next.value.length
  }
  return { pieces, isWhole: false }
}

async function* joined(
  first: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* first
  yield* rest
}

/** Another owner has written meanwhile: nothing was changed. */
function wasRefused(): HeddleError {
  const details = { store: 'The store', action: 'keep a result', cause: 'it was refused' }
  return new HeddleError('HDL_STORE_FAILED', details)
}

function erased(records: readonly ResultRecord[]): TableChange[] {
  return records.map(({ id }) => erase(resultTable, id))
}

/** Keys are handles, and below them what belongs to a handle: `HANDLE/0`. */
function handleOfKey(key: string): string {
  const end = key.indexOf('/')
  return end < 0 ? key : key.slice(0, end)
}
