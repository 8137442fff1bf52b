/**
 * What a store asks of a database. Memory, SQLite and PostgreSQL implement it, and the simulation puts a
 * faulty network in front of it. Not for users to implement: it changes with the roles on it.
 *
 * A shard, as the database sees it:
 *
 *     free ──acquire──▶ owned (server, epoch e) ──the server's lease runs out, or release──▶ free
 *                                                └─ acquire by another server ──▶ owned (…, epoch e + 1)
 *
 * The lease is a row of the *server*, not of each shard: renewing it changes one row however many shards
 * the server owns (docs/decisions/0170). A shard can be acquired when it has no owner or when the lease of
 * its owner has run out by the database's own clock.
 *
 * Rules, quoted by the tests (C1 to C13 are those of docs/design/store.md):
 *  D1  `acquire` raises the epoch by one. An epoch is granted once.
 *  D2  `commit` is one transaction. Each batch in it is written whole or not at all: a batch whose epoch is not
 *      current is refused, the others are written.
 *  D3  The commits of a session are numbered 1, 2, 3 … A commit is written only if its session is not
 *      fenced and its number is the next.
 *  D4  After `fence` has answered, no commit of that session is written any more, and its answer names
 *      the last one and which of its batches were refused.
 *  D5  A row that was written already changes nothing: a caller that was left without an answer may write it again.
 *  D6  A commit with a row that the database cannot hold rejects with `HDL_ROW_REFUSED`: nothing of it is written, and
 *      its number is the next one still.
 */

/** A process that owns shards, for as long as the process lives. A restarted process is another server. */
export type ServerId = string

/** One connection's life: what numbers its commits. */
export type SessionId = string

/** A right to write a shard. */
export interface Grant {
  readonly shard: number
  readonly epoch: number
}

/** Rows of one shard that are written together or not at all. */
export interface ShardBatch<R> extends Grant {
  readonly rows: readonly R[]
}

/** Why a batch was not written: its epoch is not current. */
export type Refusal = 'epoch' | undefined

/** One for each batch of the commit, in order; undefined for a batch that was written. */
export type CommitAnswer = readonly Refusal[]

export interface Renewal {
  /** The shards that this server still owns. */
  readonly held: readonly Grant[]
  /** Servers whose lease has not run out, this one included. */
  readonly servers: number
}

export interface FenceAnswer {
  /** The number of the session's last commit; 0 when it has none. */
  readonly last: number
  /** The answer of that commit. */
  readonly answer: CommitAnswer
}

/**
 * Calls to a database. A call that rejects with `HDL_STORE_FAILED` may have been carried out all the same:
 * its answer may have been lost on the way.
 */
export interface Database<R> {
  /** Registers a session of this server. */
  openSession(server: ServerId, session: SessionId): Promise<void>
  /** Makes the lease of the server last `ttl` milliseconds from now, by the database's clock. */
  renew(server: ServerId, ttl: number): Promise<Renewal>
  /** Takes at most `most` shards that can be acquired. The server's lease must not have run out. */
  acquire(server: ServerId, most: number): Promise<readonly Grant[]>
  /** Gives shards back, for any server to acquire at once. Grants that are not current are ignored. */
  release(server: ServerId, grants: readonly Grant[]): Promise<void>
  /** The servers that own the shards, by number; one whose lease has run out is still named. */
  owners(): Promise<readonly (ServerId | undefined)[]>
  commit(
    session: SessionId,
    number: number,
    batches: readonly ShardBatch<R>[],
  ): Promise<CommitAnswer>
  fence(session: SessionId): Promise<FenceAnswer>
}
