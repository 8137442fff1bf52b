/**
 * One lock per key.
 *
 *   absent ──first caller──▶ there ──last one leaves──▶ absent
 *
 *  K1  A key has an entry exactly while a caller holds its lock or waits for it.
 *
 * Why it matters: in a cache that served as a warning (see shared.ts) the leaving user removed the
 * lock while others could still be waiting on it. The next caller made a new one, and two locks
 * guarded one key. Here removal and "no caller holds or waits" are the same step: the lock itself reports
 * when it falls idle, and it cannot be idle while a caller waits (M2, R3).
 */
import { cancelled } from '../errors.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import { Mutex, type LockOptions, type MutexStats } from './mutex.ts'
import { basics, syncOptionNames, type SyncOptions } from './sync-options.ts'
import type { Permit } from './permit.ts'
import { RwLock, type RwLockStats } from './rwlock.ts'

export interface KeyedStats {
  /** How many keys are held or waited for. */
  readonly keys: number
}

class KeyedLocks<K, L> {
  readonly #what: string
  readonly #options: SyncOptions
  readonly #make: (options: LockOptions) => L
  readonly #locks = new Map<K, L>()

  constructor(kind: string, options: SyncOptions, make: (options: LockOptions) => L) {
    this.#what = basics(kind, options, syncOptionNames).what
    this.#options = { ...options, name: options.name ?? kind }
    this.#make = make
  }

  get size(): number {
    return this.#locks.size
  }

  peek(key: K): L | undefined {
    return this.#locks.get(key)
  }

  /** The caller takes the lock, or waits for it, before it gives control back. */
  at(key: K): L {
    let lock = this.#locks.get(key)
    if (lock === undefined) {
      lock = this.#make({ ...this.#options, onIdle: () => this.#locks.delete(key) })
      this.#locks.set(key, lock)
    }
    return lock
  }

  /** An aborted caller takes nothing, so it must not make an entry that would never be removed. */
  enter(key: K, options: WaitOptions, take: (lock: L) => Promise<Permit>): Promise<Permit> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(cancelled(this.#what, signal.reason))
    return take(this.at(key))
  }
}

/**
 * A mutex for each key, without a trace of keys that no caller uses.
 *
 * @example
 * const locks = new KeyedMutex<string>()
 * {
 *   using permit = await locks.acquire('user:7', { deadline: 1000 })
 *   await updateUser(7)
 * }
 * locks.stats().keys // => 0
 */
export class KeyedMutex<K> {
  readonly #locks: KeyedLocks<K, Mutex>

  constructor(options: SyncOptions = {}) {
    this.#locks = new KeyedLocks('KeyedMutex', options, (each) => new Mutex(each))
  }

  /**
   * Waits until the key's lock is free.
   *
   * *Cancellation*: as `Mutex.acquire`; the entry is removed with its last holder or waiter.
   * *Fairness*: first come, first served, for each key.
   */
  acquire(key: K, options: WaitOptions = {}): Promise<Permit> {
    return this.#locks.enter(key, options, (lock) => lock.acquire(options))
  }

  /** Takes the key's lock when it is free; undefined otherwise. */
  tryAcquire(key: K): Permit | undefined {
    return this.#locks.at(key).tryAcquire()
  }

  /** Whether a caller holds the key's lock or waits for it. */
  has(key: K): boolean {
    return this.#locks.peek(key) !== undefined
  }

  stats(): KeyedStats {
    return { keys: this.#locks.size }
  }

  /** Stats of one key; undefined when no caller holds or waits. */
  statsOf(key: K): MutexStats | undefined {
    return this.#locks.peek(key)?.stats()
  }
}

/** A reader-writer lock for each key, without a trace of keys that no caller uses. */
export class KeyedRwLock<K> {
  readonly #locks: KeyedLocks<K, RwLock>

  constructor(options: SyncOptions = {}) {
    this.#locks = new KeyedLocks('KeyedRwLock', options, (each) => new RwLock(each))
  }

  /**
   * Waits until it may read the key.
   *
   * *Cancellation*: as `RwLock.read`; the entry is removed with its last holder or waiter.
   * *Fairness*: first come, first served, for each key.
   */
  read(key: K, options: WaitOptions = {}): Promise<Permit> {
    return this.#locks.enter(key, options, (lock) => lock.read(options))
  }

  /**
   * Waits until it may write the key.
   *
   * *Cancellation*: as `RwLock.write`; the entry is removed with its last holder or waiter.
   * *Fairness*: first come, first served, for each key.
   */
  write(key: K, options: WaitOptions = {}): Promise<Permit> {
    return this.#locks.enter(key, options, (lock) => lock.write(options))
  }

  /** Reads the key when it need not wait; undefined otherwise. */
  tryRead(key: K): Permit | undefined {
    return this.#locks.at(key).tryRead()
  }

  /** Writes the key when no caller is inside; undefined otherwise. */
  tryWrite(key: K): Permit | undefined {
    return this.#locks.at(key).tryWrite()
  }

  /** Whether a caller is inside or waits. */
  has(key: K): boolean {
    return this.#locks.peek(key) !== undefined
  }

  stats(): KeyedStats {
    return { keys: this.#locks.size }
  }

  /** Stats of one key; undefined when no caller is inside or waits. */
  statsOf(key: K): RwLockStats | undefined {
    return this.#locks.peek(key)?.stats()
  }
}
