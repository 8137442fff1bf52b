import { cancelled } from '../errors.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import { lockOptionNames, type LockOptions } from './mutex.ts'
import { basics } from './sync-options.ts'
import { Permit } from './permit.ts'

export interface RwLockStats {
  readonly readers: number
  readonly writing: boolean
  readonly waitingReaders: number
  readonly waitingWriters: number
}

type Mode = 'read' | 'write'

/**
 * Many readers or one writer. It is not re-entrant, and a reader cannot become a writer.
 *
 * One line for both kinds, served strictly in order of arrival; readers that stand next to each
 * other go in together. So no caller can starve: a writer waits only for earlier callers, and
 * so does a reader in a stream of writers.
 *
 *  R1  Readers and a writer are never inside together; never two writers.
 *  R2  No caller goes in before one that came earlier and still waits.
 *  R3  A caller waits only while another one is inside.
 *
 * Prior art: the fair mode of Java's ReentrantReadWriteLock, and tokio's RwLock. Reader preference
 * starves writers; writer preference starves readers; phase-fair locks let a reader pass waiting
 * writers, which gains nothing on one thread where readers do not block each other.
 *
 * @example
 * const lock = new RwLock()
 * {
 *   using reading = await lock.read({ signal })
 *   await answer()
 * }
 */
export class RwLock {
  readonly #what: string
  readonly #waiters: WaiterList<Permit>
  readonly #onIdle: (() => void) | undefined
  #readers = 0
  #writing = false

  constructor(options: LockOptions = {}) {
    const { what, kernel, maxWaiters } = basics('RwLock', options, lockOptionNames)
    this.#what = what
    this.#waiters = new WaiterList(kernel.clock, maxWaiters)
    // A writer that gives up at the front of the line lets the readers behind it in.
    this.#waiters.onLeave = () => this.#admit()
    this.#onIdle = options.onIdle
  }

  /**
   * Waits until it may read.
   *
   * *Cancellation*: an aborted or late caller loses its place and nothing else.
   * *Fairness*: first come, first served, across readers and writers.
   */
  read(options: WaitOptions = {}): Promise<Permit> {
    return this.#enter('read', options)
  }

  /**
   * Waits until it may write.
   *
   * *Cancellation*: an aborted or late caller loses its place; readers it held back go in at once.
   * *Fairness*: first come, first served, across readers and writers.
   */
  write(options: WaitOptions = {}): Promise<Permit> {
    return this.#enter('write', options)
  }

  /** Goes in when it need not wait; undefined otherwise, also when an earlier caller waits. */
  tryRead(): Permit | undefined {
    return this.#waiters.size === 0 ? this.#admitOne('read') : undefined
  }

  /** Goes in when no caller is inside; undefined otherwise. */
  tryWrite(): Permit | undefined {
    return this.#waiters.size === 0 ? this.#admitOne('write') : undefined
  }

  /** Walks over every caller that waits. */
  stats(): RwLockStats {
    let waitingWriters = 0
    for (const waiter of this.#waiters) if (waiter.tag === 'write') waitingWriters++
    return {
      readers: this.#readers,
      writing: this.#writing,
      waitingReaders: this.#waiters.size - waitingWriters,
      waitingWriters,
    }
  }

  #enter(mode: Mode, options: WaitOptions): Promise<Permit> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(cancelled(this.#what, signal.reason))
    const permit = mode === 'read' ? this.tryRead() : this.tryWrite()
    return permit === undefined
      ? this.#waiters.wait(`${this.#what} (${mode})`, options, 1, mode)
      : Promise.resolve(permit)
  }

  #admitOne(mode: Mode): Permit | undefined {
    if (this.#writing || (mode === 'write' && this.#readers > 0)) return undefined
    if (mode === 'write') {
      this.#writing = true
      return new Permit(this.#endWrite)
    }
    this.#readers++
    return new Permit(this.#endRead)
  }

  /** Admits from the front of the line as many callers as fit. */
  #admit(): void {
    for (let first = this.#waiters.first; first !== undefined; first = this.#waiters.first) {
      const mode = first.tag as Mode
      const permit = this.#admitOne(mode)
      if (permit === undefined) return
      if (!first.wake(permit)) this.#count(mode)
    }
  }

  /** A caller has left. */
  #count(mode: Mode): void {
    if (mode === 'write') this.#writing = false
    else this.#readers--
  }

  #leave(mode: Mode): void {
    this.#count(mode)
    this.#admit()
    if (!this.#writing && this.#readers === 0) this.#onIdle?.()
  }

  readonly #endRead = (): void => this.#leave('read')
  readonly #endWrite = (): void => this.#leave('write')
}
