/**
 * The seam between the cache and what keeps values when they leave memory.
 *
 * Users may implement `CacheTier`, for example over a shared store; `cacheTierCases` in
 * `@heddle/core/testing` are the checks that every implementation passes. The cache does the
 * thinking about order and coherence; a tier only keeps bytes, and keeps these promises:
 *
 *  T1  An operation happens completely or not at all, at one instant between call and settlement.
 *      One that is rejected changed nothing.
 *  T2  A fulfilled write, delete or clear is still there after the process was killed, as far as
 *      the tier persists at all.
 *  T3  Writing or deleting a key deletes, in the same instant, every entry that was made from an
 *      earlier version of it. Evicting a key deletes all that was made from it.
 *  T4  It bounds itself: it evicts whole entries, the ones unused for longest first.
 *  T5  Nothing it does blocks the event loop for longer than copying a small entry.
 *
 * In return it may rely on this: while a write or delete of a key is under way, no other write or
 * delete of that key comes; while a clear is under way, no write or delete comes at all. Reads may
 * come at any time; one that overlaps with a change gives the entry before or after it.
 */

import { HeddleError, describe } from '../errors.ts'

/** The entry that another one was made from. It goes when that one goes. */
export interface ParentVersion {
  readonly key: string
  readonly version: number
}

/** What a tier knows of an entry without reading its bytes. */
export interface TierMeta {
  /** Unique and rising over the life of the tier, restarts included. */
  readonly version: number
  /** Milliseconds since 1970 at which it was set. */
  readonly createdAt: number
  /** Milliseconds it may live from then; Infinity when it does not expire. */
  readonly ttl: number
  readonly parent?: ParentVersion | undefined
}

/** An entry as it is read. Neither side changes the bytes, and the reader may keep them. */
export interface TierEntry extends TierMeta {
  readonly body: Uint8Array<ArrayBuffer>
}

/**
 * An entry as it is written. The bytes belong to the tier, which may transfer them to a thread.
 *
 * A large value comes in pieces, made while they are asked for, so that it is never in memory twice.
 * When the pieces throw, the write changes nothing and is rejected with their error.
 */
export interface TierWrite extends TierMeta {
  readonly body: Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array<ArrayBuffer>>
}

export interface TierStats {
  readonly entries: number
  /** Total size of keys and values. */
  readonly bytes: number
  readonly maxBytes: number
  /** Entries that left by themselves, by reason. */
  readonly evicted: {
    /** There was no room. */
    readonly bytes: number
    /** Entries that were too old. */
    readonly expired: number
    /** Entries that were damaged on the medium. */
    readonly damaged: number
  }
}

/** Keeps encoded entries. See the promises at the top of this file. */
export interface CacheTier {
  /** Called once, before anything else. Gives the highest version ever written, 0 when there is none. */
  open(): Promise<number>
  read(key: string): Promise<TierEntry | undefined>
  /** The entry without its bytes. */
  peek(key: string): Promise<TierMeta | undefined>
  /** True when it replaced an entry. Rejects with `HDL_VALUE_TOO_LARGE` what could never fit. */
  write(key: string, entry: TierWrite): Promise<boolean>
  /**
   * True when there was an entry. The version is that of the deletion: later than the entry's. With `isCleanUp` no caller
   * has asked for it: a write was rejected, and a tier that keeps T1 has nothing to remove.
   */
  delete(key: string, version: number, isCleanUp?: boolean): Promise<boolean>
  clear(): Promise<void>
  /** What was last known; never waits. */
  stats(): TierStats
  /**
   * Called once: when no operation is under way, or with a signal that has aborted, and then operations under way
   * fail. It also aborts when closing itself takes too long.
   */
  close(options?: { readonly signal?: AbortSignal }): Promise<void>
}

/**
 * Milliseconds an entry has left; 0 or less when it is past its time. A clock that was set back does
 * not make it live longer than its ttl.
 */
export function timeLeft(meta: TierMeta, wallTime: number): number {
  if (meta.ttl === Infinity) return Infinity
  return Math.min(meta.ttl, meta.createdAt + meta.ttl - wallTime)
}

/** An error of the tier, as callers get it. */
export function storeFailure(action: string, error: unknown): HeddleError {
  if (error instanceof HeddleError) return error
  const details = { store: 'The cache', action, cause: describe(error) }
  return new HeddleError('HDL_STORE_FAILED', details, { cause: error })
}
