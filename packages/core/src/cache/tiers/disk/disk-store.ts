/* oxlint-disable node/no-sync -- runs in the tier's own thread, where waiting is what it is for */
/**
 * The database of the disk tier and the names of the files beside it.
 *
 *  D1  A commit takes all changes that have arrived, in order; they are there together or not at all.
 *      When one of them cannot be done, each gets a commit of its own, and only that one fails.
 *  D2  A row that names a file is committed after the file is complete and on the medium; a file is
 *      removed after the commit that made it superfluous. A crash in between leaves a file too many,
 *      never a row without its file; `sweep` finds those at the next start.
 *  D3  After each commit the bytes are within the bound.
 *
 * Equal values of different keys share a file.
 */
import { readdirSync, rmSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { toBlob } from '../../../sqlite/blob.ts'
import type { ParentVersion, TierMeta, TierStats } from '../../tier.ts'
import type { WireMeta } from './disk-messages.ts'

/** A change that is ready to be committed. */
export type StoreChange =
  | {
      readonly type: 'write'
      readonly meta: WireMeta
      readonly bytes: number
      /** One of body and file is null. */
      readonly body: Uint8Array | null
      readonly file: string | null
    }
  | { readonly type: 'delete'; readonly key: string; readonly version: number }
  | { readonly type: 'clear' }

export interface StoredMeta extends TierMeta {
  readonly used: number
  readonly size: number
  readonly file: string | null
}

interface Row {
  readonly version: number
  readonly created_at: number
  readonly expires_at: number | null
  readonly parent: string | null
  readonly parent_version: number | null
  readonly used: number
  readonly size: number
  readonly file: string | null
  readonly body?: Uint8Array<ArrayBuffer> | null
}

/** A row that goes, as far as the bookkeeping needs it. */
interface Going {
  readonly key: string
  readonly size: number
  readonly file: string | null
}

type EvictionReason = 'bytes' | 'expired' | 'damaged'

/** Rows read in one go when there are too many bytes, or when they expire. */
const sweepSize = 64

/** Uses remembered until the next commit. */
const maxTouched = 1000

/** Free pages above which some are given back to the file system, as a share of all. */
const maxFreeShare = 0.25
const vacuumPages = 1000

const metaColumns =
  'version, created_at, expires_at, parent, parent_version, used, size, file' as const

export class DiskStore {
  readonly #database: DatabaseSync
  readonly #files: string
  readonly #maxBytes: number
  readonly #statements: ReturnType<typeof prepare>
  readonly #touched = new Map<string, number>()
  /** Files that a change on its way will name, by how many. */
  readonly #pinned = new Map<string, number>()
  /** Files that the commit under way makes superfluous, if no other row names them. */
  #loose = new Set<string>()
  #entries: number
  #bytes: number
  #lastUse: number
  #lastVersion: number
  /** Whether there may be entries with a parent: many caches never have one. */
  #hasDerived: boolean
  #hasShrunk = false
  #evicted: Record<EvictionReason, number> = { bytes: 0, expired: 0, damaged: 0 }

  constructor(database: DatabaseSync, files: string, maxBytes: number) {
    this.#database = database
    this.#files = files
    this.#maxBytes = maxBytes
    this.#statements = prepare(database)
    const { entries, bytes, last } = this.#statements.totals.get() as {
      entries: number
      bytes: number
      last: number
    }
    this.#entries = entries
    this.#bytes = bytes
    this.#lastUse = last
    const { value } = this.#statements.lastVersion.get() as { value: number }
    this.#lastVersion = value
    this.#hasDerived = this.#statements.anyDerived.get() !== undefined
  }

  /** Whether pages were given back to the file system: the database may be shorter than it was. */
  get hasShrunk(): boolean {
    return this.#hasShrunk
  }

  get lastVersion(): number {
    return this.#lastVersion
  }

  get stats(): TierStats {
    return {
      entries: this.#entries,
      bytes: this.#bytes,
      maxBytes: this.#maxBytes,
      evicted: { ...this.#evicted },
    }
  }

  /** D2: removes files that no row names. Only while nothing is under way. */
  sweep(): void {
    for (const file of readdirSync(this.#files)) this.#removeUnnamed(file)
  }

  peek(key: string): StoredMeta | undefined {
    const row = this.#statements.peek.get(key) as Row | undefined
    return row === undefined ? undefined : metaOf(row)
  }

  /** The body is null when it is in a file. Counts as a use. */
  read(key: string): { meta: StoredMeta; body: Uint8Array<ArrayBuffer> | null } | undefined {
    const row = this.#statements.read.get(key) as Row | undefined
    if (row === undefined) return undefined
    // A recently used row stays where it is: not every read is worth a write.
    if (row.used < this.#lastUse - this.#entries / 2) this.#touch(key)
    return { meta: metaOf(row), body: row.body ?? null }
  }

  /** Keeps a file until the change that names it is committed, or given up. */
  pin(file: string): void {
    this.#pinned.set(file, (this.#pinned.get(file) ?? 0) + 1)
  }

  unpin(file: string): void {
    const pins = (this.#pinned.get(file) ?? 1) - 1
    if (pins > 0) this.#pinned.set(file, pins)
    else this.#pinned.delete(file)
  }

  /** Whether each change found an entry of its key; or the error that kept it from being done. */
  commit(changes: readonly StoreChange[], now: number): (boolean | Error)[] {
    try {
      return this.#transaction(() => changes.map((change) => this.#change(change, now)), now)
    } catch (error) {
      if (changes.length === 1) return [error as Error]
      return changes.flatMap((change) => this.commit([change], now))
    }
  }

  /** The value turned out to be unreadable. */
  removeDamaged(key: string, file: string, now: number): void {
    if (this.peek(key)?.file !== file) return
    this.#transaction(() => this.#evict(key, 'damaged'), now)
  }

  close(): void {
    if (this.#touched.size > 0) this.#transaction(() => undefined, 0)
    this.#database.close()
  }

  #transaction<T>(work: () => T, now: number): T {
    const before = { entries: this.#entries, bytes: this.#bytes, evicted: { ...this.#evicted } }
    this.#database.exec('BEGIN IMMEDIATE')
    let result: T
    try {
      for (const [key, used] of this.#touched) this.#statements.touch.run(used, key)
      result = work()
      this.#makeRoom(now)
      this.#statements.setLastVersion.run(this.#lastVersion)
      this.#database.exec('COMMIT')
    } catch (error) {
      this.#entries = before.entries
      this.#bytes = before.bytes
      this.#evicted = before.evicted
      this.#loose.clear()
      // A full disk has rolled back already.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
    this.#touched.clear()
    this.#dropLoose()
    this.#shrink()
    return result
  }

  #change(change: StoreChange, now: number): boolean {
    switch (change.type) {
      case 'write':
        return this.#write(change, now)
      case 'delete': {
        const old = this.peek(change.key)
        this.#lastVersion = Math.max(this.#lastVersion, change.version)
        this.#remove(change.key, change.version)
        return old !== undefined && !hasExpired(old, now)
      }
      case 'clear':
      default:
        this.#clear()
        return true
    }
  }

  #write(change: StoreChange & { readonly type: 'write' }, now: number): boolean {
    const { key, version, createdAt, ttl, parent } = change.meta
    const old = this.peek(key)
    this.#removeDerived(key, version)
    const size = Buffer.byteLength(key) + change.bytes
    this.#entries += old === undefined ? 1 : 0
    this.#bytes += size - (old?.size ?? 0)
    if (old !== undefined && old.file !== null) this.#loose.add(old.file)
    this.#lastVersion = Math.max(this.#lastVersion, version)
    this.#hasDerived ||= parent !== undefined
    this.#touched.delete(key)
    this.#statements.write.run(
      key,
      version,
      createdAt,
      ttl === Infinity ? null : createdAt + ttl,
      parent?.key ?? null,
      parent?.version ?? null,
      ++this.#lastUse,
      size,
      change.file,
      change.body && toBlob(change.body),
    )
    return old !== undefined && !hasExpired(old, now)
  }

  #remove(key: string, version: number): void {
    const going = this.#statements.remove.get(key) as Going | undefined
    if (going !== undefined) this.#forget(going)
    this.#removeDerived(key, version)
  }

  /** Removes entries made from an earlier version of the parent. */
  #removeDerived(parent: string, version: number): void {
    if (!this.#hasDerived) return
    for (const going of this.#statements.removeDerived.all(parent, version)) {
      this.#forget(going as unknown as Going)
    }
  }

  #forget({ key, size, file }: Going): void {
    this.#entries--
    this.#bytes -= size
    this.#touched.delete(key)
    if (file !== null) this.#loose.add(file)
  }

  #clear(): void {
    this.#database.exec('DELETE FROM entries')
    this.#entries = 0
    this.#bytes = 0
    this.#touched.clear()
    for (const file of readdirSync(this.#files)) this.#loose.add(file)
  }

  #evict(key: string, reason: EvictionReason): void {
    const before = this.#entries
    this.#remove(key, Number.MAX_SAFE_INTEGER)
    this.#evicted[reason] += before - this.#entries
  }

  /** D3. Expired entries are evicted first, then those unused for longest. */
  #makeRoom(now: number): void {
    for (const { key } of this.#statements.expired.all(now, sweepSize)) {
      this.#evict(key as string, 'expired')
    }
    while (this.#bytes > this.#maxBytes && this.#entries > 0) {
      for (const { key } of this.#statements.oldest.all(sweepSize)) {
        if (this.#bytes <= this.#maxBytes) break
        this.#evict(key as string, 'bytes')
      }
    }
  }

  #touch(key: string): void {
    this.#touched.set(key, ++this.#lastUse)
    if (this.#touched.size >= maxTouched) this.#transaction(() => undefined, 0)
  }

  #dropLoose(): void {
    for (const file of this.#loose) this.#removeUnnamed(file)
    this.#loose = new Set()
  }

  #removeUnnamed(file: string): void {
    if (this.#pinned.has(file) || this.#statements.named.get(file) !== undefined) return
    try {
      unlinkSync(join(this.#files, file))
    } catch {
      // It is gone, or stays until the next sweep: no row names it.
    }
  }

  /** Free pages are used again first; only a surplus is worth moving pages for. */
  #shrink(): void {
    const { page_count: pages } = this.#statements.pageCount.get() as { page_count: number }
    const { freelist_count: free } = this.#statements.freeCount.get() as { freelist_count: number }
    if (free < vacuumPages || free < pages * maxFreeShare) return
    this.#hasShrunk = true
    this.#database.exec(`PRAGMA incremental_vacuum(${vacuumPages})`)
  }
}

function prepare(database: DatabaseSync) {
  const statement = (sql: string): StatementSync => database.prepare(sql)
  return {
    totals: statement(
      'SELECT count(*) AS entries, coalesce(sum(size), 0) AS bytes, coalesce(max(used), 0) AS last FROM entries INDEXED BY entries_by_use',
    ),
    lastVersion: statement("SELECT value FROM counters WHERE name = 'last_version'"),
    setLastVersion: statement("UPDATE counters SET value = ? WHERE name = 'last_version'"),
    peek: statement(`SELECT ${metaColumns} FROM entries WHERE key = ?`),
    read: statement(`SELECT ${metaColumns}, body FROM entries WHERE key = ?`),
    write: statement(
      `INSERT INTO entries (key, version, created_at, expires_at, parent, parent_version, used, size, file, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET version = excluded.version, created_at = excluded.created_at,
         expires_at = excluded.expires_at, parent = excluded.parent, parent_version = excluded.parent_version,
         used = excluded.used, size = excluded.size, file = excluded.file, body = excluded.body`,
    ),
    touch: statement('UPDATE entries SET used = ? WHERE key = ?'),
    remove: statement('DELETE FROM entries WHERE key = ? RETURNING key, size, file'),
    anyDerived: statement('SELECT 1 FROM entries WHERE parent IS NOT NULL LIMIT 1'),
    removeDerived: statement(
      'DELETE FROM entries WHERE parent = ? AND parent_version < ? RETURNING key, size, file',
    ),
    expired: statement(
      'SELECT key FROM entries WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?',
    ),
    oldest: statement('SELECT key FROM entries ORDER BY used LIMIT ?'),
    named: statement('SELECT 1 FROM entries WHERE file = ? LIMIT 1'),
    pageCount: statement('PRAGMA page_count'),
    freeCount: statement('PRAGMA freelist_count'),
  }
}

function metaOf(row: Row): StoredMeta {
  const parent: ParentVersion | undefined =
    row.parent === null ? undefined : { key: row.parent, version: row.parent_version! }
  return {
    version: row.version,
    createdAt: row.created_at,
    ttl: row.expires_at === null ? Infinity : row.expires_at - row.created_at,
    parent,
    used: row.used,
    size: row.size,
    file: row.file,
  }
}

const hasExpired = (meta: TierMeta, now: number): boolean => meta.createdAt + meta.ttl <= now

/** What a crash left half written. Only while nothing is under way. */
export function emptyDirectory(path: string): void {
  for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true })
}
