import type { Kernel } from '../kernel/kernel.ts'
import type { ServiceState } from '../kernel/service.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import type { CacheTier, ParentVersion, TierStats } from './tier.ts'

export interface CacheOptions {
  /**
   * What keeps values beyond memory: `diskTier({ directory })`, or a tier of your own. One in memory
   * when absent, which keeps them encoded and loses them with the process.
   */
  readonly tier?: CacheTier | undefined
  /** Named in errors. `Cache` when absent. */
  readonly name?: string | undefined
  /** Entries in memory. 10,000 when absent. */
  readonly maxEntries?: number | undefined
  /** Bytes in memory. 64 MiB when absent. */
  readonly maxBytes?: number | undefined
  /** Bytes of one encoded value; more are refused. 256 MiB when absent. */
  readonly maxValueBytes?: number | undefined
  /** Milliseconds an entry lives, from its set. No limit when absent. */
  readonly ttl?: number | undefined
  /** Changes that are not on the tier yet; further ones wait. 4,096 when absent. */
  readonly maxPending?: number | undefined
  /** Bytes of them. 64 MiB when absent. */
  readonly maxPendingBytes?: number | undefined
  /** Reads of the tier at a time; further ones wait. 64 when absent. */
  readonly maxReads?: number | undefined
  /** Time and randomness. Real ones when absent. */
  readonly kernel?: Kernel | undefined
}

/** How an entry is kept. */
export interface KeepOptions {
  /** Milliseconds it lives. The one of the cache when absent; Infinity for ever. */
  readonly ttl?: number | undefined
  /**
   * The entry it was made from: it goes when that one is replaced, deleted, evicted or expires. Give
   * what `entry()` returned, so that a parent replaced meanwhile is noticed; a bare key means
   * whatever version is there now. A derived entry cannot be a parent itself.
   */
  readonly parent?: string | ParentVersion | undefined
}

export interface SetOptions extends KeepOptions, WaitOptions {}

/** A value with the data needed to derive others from it. */
export interface CacheEntry<V> extends ParentVersion {
  readonly value: V
}

/** The context of a computation. */
export interface ComputeContext {
  readonly key: string
  /** Aborts when the last caller has left. */
  readonly signal: AbortSignal
}

export interface CacheStats {
  readonly state: ServiceState
  readonly entries: number
  readonly maxEntries: number
  readonly bytes: number
  readonly maxBytes: number
  readonly hits: {
    readonly memory: number
    readonly tier: number
  }
  readonly misses: number
  /** Computations that `getOrCompute` started. */
  readonly computed: number
  /** Entries that left memory by themselves, by reason. */
  readonly evicted: {
    readonly entries: number
    readonly bytes: number
    readonly expired: number
  }
  /** What is on its way to the tier. */
  readonly pending: {
    readonly writes: number
    readonly bytes: number
    /** Changes that wait for room. */
    readonly waiting: number
  }
  /** Reads of the tier that callers wait for. */
  readonly reads: number
  /** Keys that something is going on with; 0 when the cache is idle. */
  readonly active: number
  /** Writes that the tier refused. */
  readonly failures: number
  /** Stored values that could not be read back. They are deleted and count as misses. */
  readonly damaged: number
  readonly tier: TierStats
}
