/**
 * A store in a file, in the thread that hosts the file: what database.ts asks for, on SQLite.
 *
 *  Q1  Changes that have come together are one transaction, with one fsync. A change that fails alone (a commit that does
 *      not follow in its session) fails before it has written anything.
 *  Q2  A server is alive while its lease lasts and the lock of its process is held (C10): the shards of a process that
 *      was killed are free at once, those of one that was stopped when its lease runs out.
 *  Q3  `commit` is never thrown: journal and store share the file, and a failure of one is not the other's.
 *  Q4  A row that SQLite cannot hold (D6) fails the change that it belongs to: the others of its transaction are carried
 *      out once more, each in its own.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { describe, HeddleError } from '../../errors.ts'
import { toBlob } from '../../sqlite/blob.ts'
import type { Role } from '../../sqlite/host-server.ts'
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
import type { StoreRow } from '../roles.ts'
import type { AnyTable } from '../tables.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { StoreChange, StoreQuestion } from './store-messages.ts'
import { storeSchema } from './store-schema.ts'
import { SqliteTables } from './sqlite-tables.ts'

/** What the file gives to the store in it. */
export interface StoreHost {
  readonly database: DatabaseSync
  /** The name of the lock that proves this process alive. */
  readonly lock: string
  readonly pid: number
  /** Whether the process that holds a lock is alive. */
  isAlive(lock: string, pid: number): boolean
  /** One transaction, which waits for other processes. Throws when it was rolled back. */
  transact<T>(rows: number, work: () => T): T
}

/** Milliseconds after which leftovers of a server are removed. */
const day = 86_400_000

export class StoreRole implements Role<StoreQuestion, StoreChange> {
  readonly #hostOf: () => StoreHost
  readonly #statements = new Map<string, StatementSync>()
  #host: StoreHost | undefined
  #tables: SqliteTables | undefined
  /** The tables that the commit under way names. */
  #named: ReadonlyMap<string, AnyTable> = new Map()

  /** `hostOf` throws when the file cannot be used. */
  constructor(hostOf: () => StoreHost) {
    this.#hostOf = hostOf
  }

  answer(question: StoreQuestion): unknown {
    const tables = this.#open()
    switch (question.type) {
      case 'open jobs':
        return this.#openJobs(question.shards)
      case 'family outcomes': {
        // Skips along the index: "!" is the character after the space.
        const sql = 'SELECT DISTINCT outcome FROM store_outcome WHERE handle > ? AND handle < ?'
        const word = toStored(question.word)
        const rows = this.#prepared(sql).all(`${word} `, `${word}!`)
        return rows.map((row) => fromStored(row['outcome'] as string)).toSorted()
      }
      case 'owners':
        return this.#prepared('SELECT owner FROM store_shard ORDER BY shard')
          .all()
          .map((row) => (row['owner'] as string | null) ?? undefined)
      case 'by ids':
        return tables.byIds(question.table, question.ids)
      case 'of shards':
        return tables.ofShards(question.table, question.shards)
      case 'list':
        return tables.list(question.table, question.query)
    }
  }

  seesChanges(): boolean {
    return true
  }

  weightOf(change: StoreChange): number {
    if (change.type !== 'commit') return 1
    return change.batches.reduce((sum, { rows }) => sum + 1 + rows.length, 1)
  }

  commit(changes: readonly StoreChange[], now: number): readonly unknown[] {
    try {
      const rows = changes.reduce((sum, change) => sum + this.weightOf(change), 0)
      this.#open()
      return this.#host!.transact(rows, () => changes.map((change) => this.#carryOut(change, now)))
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      // SQLite's error is the cause of the file guard's error.
      const reason = error instanceof HeddleError ? error.cause : error
      if (!isOfRow(reason)) return changes.map(() => error)
      if (changes.length > 1) return changes.flatMap((change) => this.commit([change], now))
      const details = { store: 'The database', cause: describe(reason) }
      return [new HeddleError('HDL_ROW_REFUSED', details)]
    }
  }

  /** Makes the tables of the store when they are first needed. */
  #open(): SqliteTables {
    const host = this.#hostOf()
    if (this.#tables !== undefined) return this.#tables
    this.#host = host
    host.transact(1, () => host.database.exec(storeSchema))
    return (this.#tables = new SqliteTables(host.database, (sql) => this.#prepared(sql)))
  }

  #carryOut(change: StoreChange, now: number): unknown {
    switch (change.type) {
      case 'declare':
        this.#tables!.declare(change.tables)
        return undefined
      case 'open session':
        return this.#openSession(change.session, now)
      case 'renew':
        return this.#renew(change.server, change.ttl, now)
      case 'acquire':
        return this.#acquire(change.server, change.most, now)
      case 'release':
        return this.#release(change.server, change.grants)
      case 'commit':
        return this.#commit(change, now)
      case 'fence':
        return this.#fence(change.session, now)
      case 'change': {
        const byName = new Map(change.tables.map((table) => [table.name, table]))
        return this.#tables!.change(change.changes, byName)
      }
      case 'remove below':
        return this.#tables!.removeBelow(change.table, change.by, change.below, change.limit)
    }
  }

  #renew(server: ServerId, ttl: number, now: number): Renewal {
    const { lock, pid } = this.#host!
    const sql = 'INSERT OR REPLACE INTO store_server (id, until, lock, pid) VALUES (?, ?, ?, ?)'
    this.#prepared(sql).run(server, now + ttl, lock, pid)
    const held = this.#prepared(
      'SELECT shard, epoch FROM store_shard WHERE owner = ? ORDER BY shard',
    ).all(server) as unknown as Grant[]
    return {
      held: held.map(({ shard, epoch }) => ({ shard, epoch })),
      servers: this.#liveServers(now).size,
    }
  }

  #acquire(server: ServerId, most: number, now: number): Grant[] {
    const live = this.#liveServers(now)
    if (!live.has(server)) return []
    const granted: Grant[] = []
    const free = this.#prepared('SELECT shard, owner, epoch FROM store_shard ORDER BY shard').all()
    const take = this.#prepared('UPDATE store_shard SET owner = ?, epoch = ? WHERE shard = ?')
    for (const row of free) {
      if (granted.length === most) break
      if (row['owner'] !== null && live.has(row['owner'] as string)) continue
      const grant = { shard: row['shard'] as number, epoch: (row['epoch'] as number) + 1 }
      take.run(server, grant.epoch, grant.shard)
      granted.push(grant)
    }
    return granted
  }

  #release(server: ServerId, grants: readonly Grant[]): void {
    const sql = 'UPDATE store_shard SET owner = NULL WHERE shard = ? AND epoch = ? AND owner = ?'
    for (const { shard, epoch } of grants) this.#prepared(sql).run(shard, epoch, server)
  }

  /** Q2. */
  #liveServers(now: number): Set<ServerId> {
    const host = this.#host!
    const live = new Set<ServerId>()
    for (const row of this.#prepared('SELECT id, lock, pid FROM store_server WHERE until > ?').all(
      now,
    )) {
      const theirs = row['lock'] as string
      if (theirs === host.lock || host.isAlive(theirs, row['pid'] as number))
        live.add(row['id'] as string)
    }
    return live
  }

  #openSession(session: SessionId, now: number): void {
    this.#prepared('DELETE FROM store_session WHERE opened_at < ?').run(now - day)
    this.#prepared(
      `DELETE FROM store_server WHERE until < ?
        AND NOT EXISTS (SELECT 1 FROM store_shard WHERE owner = store_server.id)`,
    ).run(now - day)
    this.#prepared("INSERT OR IGNORE INTO store_session VALUES (?, 0, 0, '[]', ?)").run(
      session,
      now,
    )
  }

  #fence(session: SessionId, now: number): FenceAnswer {
    this.#prepared(
      `INSERT INTO store_session VALUES (?, 1, 0, '[]', ?) ON CONFLICT (id) DO UPDATE SET fenced = 1`,
    ).run(session, now)
    const sql = 'SELECT last, answer FROM store_session WHERE id = ?'
    const { last, answer } = this.#prepared(sql).get(session) as { last: number; answer: string }
    return { last, answer: readAnswer(answer) }
  }

  #commit(
    { session, number, batches, tables }: StoreChange & { readonly type: 'commit' },
    now: number,
  ): CommitAnswer | Error {
    this.#named = new Map(tables.map((table) => [table.name, table]))
    const sql = 'SELECT fenced, last FROM store_session WHERE id = ?'
    const found = this.#prepared(sql).get(session)
    if (found === undefined || found['fenced'] === 1 || found['last'] !== number - 1) {
      return new HeddleError('HDL_STORE_FAILED', {
        store: 'The database',
        action: 'write a commit',
        cause: `commit ${number} does not follow in its session`,
      })
    }
    const answer = batches.map((batch) => this.#write(batch, now))
    const refused = answer.flatMap((refusal, index) =>
      refusal === undefined ? [] : [[index, refusal]],
    )
    this.#prepared('UPDATE store_session SET last = ?, answer = ? WHERE id = ?').run(
      number,
      JSON.stringify([batches.length, ...refused]),
      session,
    )
    return answer
  }

  #write({ shard, epoch, rows }: ShardBatch<StoreRow>, now: number): Refusal {
    const current = this.#prepared('SELECT epoch FROM store_shard WHERE shard = ?').get(shard)
    if (current?.['epoch'] !== epoch) return 'epoch'
    for (const row of rows) this.#apply(row, shard, now)
    return undefined
  }

  #apply(row: StoreRow, shard: number, now: number): void {
    switch (row.kind) {
      case 'put':
      case 'remove':
        this.#tables!.apply(row, this.#named.get(row.table)!, shard)
        return
      case 'job-acknowledged':
        this.#prepared(
          `INSERT INTO store_job (handle, shard, job, version, input) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (handle) DO NOTHING`,
        ).run(
          toStored(row.handle),
          shard,
          toStored(row.job),
          toStored(row.version),
          toBlob(row.input),
        )
        return
      case 'job-started':
        this.#prepared('UPDATE store_job SET started = 1 WHERE handle = ?').run(
          toStored(row.handle),
        )
        return
      case 'job-interrupted':
        // D5: what interrupted the attempt is counted once.
        this.#prepared(
          `UPDATE store_job SET started = 0, interruptions = interruptions + 1, set_aside = ?
            WHERE handle = ? AND started = 1`,
        ).run(row.setAside ? 1 : 0, toStored(row.handle))
        return
      case 'job-put-back':
        this.#prepared('UPDATE store_job SET started = 0 WHERE handle = ?').run(
          toStored(row.handle),
        )
        return
      case 'job-ended': {
        const handle = toStored(row.handle)
        const sql = 'DELETE FROM store_job WHERE handle = ?'
        if (this.#prepared(sql).run(handle).changes === 0) return
        this.#prepared(
          'INSERT INTO store_outcome VALUES (?, ?, ?) ON CONFLICT (handle) DO NOTHING',
        ).run(handle, toStored(row.outcome), now)
      }
    }
  }

  #openJobs(shards: readonly number[]): OpenJob[] {
    const wanted = new Set(shards)
    const rows = this.#prepared(
      `SELECT handle, shard, job, version, input, started, interruptions, set_aside
        FROM store_job ORDER BY number`,
    ).all()
    return rows
      .filter((row) => wanted.has(row['shard'] as number))
      .map((row) => ({
        handle: fromStored(row['handle'] as string),
        job: fromStored(row['job'] as string),
        version: fromStored(row['version'] as string),
        input: row['input'] as Uint8Array,
        started: row['started'] === 1,
        interruptions: row['interruptions'] as number,
        setAside: row['set_aside'] === 1,
      }))
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#host!.database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** SQLITE_CONSTRAINT_TRIGGER: the tables have no triggers of ours, so a foreign trigger refuses every row. */
const byTrigger = 1811

/** Result codes of SQLite for a value that cannot be held: too large, not allowed, of another type, no such place. */
const codesOfRows = new Set([18, 19, 20, 25])

function isOfRow(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { errcode } = error as { errcode?: unknown }
  if (typeof errcode === 'number') return codesOfRows.has(errcode & 0xff) && errcode !== byTrigger
  // A value that cannot be encoded or bound never reached SQLite.
  return error instanceof TypeError
}

/** `[]`, or how many batches there were and which were refused. */
function readAnswer(text: string): CommitAnswer {
  const [count = 0, ...refused] = JSON.parse(text) as [number?, ...[number, NonNullable<Refusal>][]]
  const answer = Array.from({ length: count }, (): Refusal => undefined)
  for (const [index, refusal] of refused) answer[index] = refusal
  return answer
}
