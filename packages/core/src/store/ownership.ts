/**
 * Which shards this server owns, and whether it may still trust that.
 *
 * The owner's view of a shard:
 *
 *     absent ──acquired──▶ sure ──no renewal before ttl − margin──▶ unsure
 *       ▲                   ▲ └──────────────┐                        │
 *       │                   └── renewed with the same epoch ──────────┤
 *       └── lost: another epoch, refused by a commit, or released ◀───┴─ (also from sure)
 *
 * Invariants, quoted by the simulation (C1, C9 of docs/design/store.md):
 *  O1  A shard is trusted only until (time of sending the last renewal that was answered) + ttl − margin, on
 *      this process's monotonic clock. The database counts from a later moment and without the margin,
 *      so no two servers trust one shard at a time as long as clocks run at nearly the same speed.
 *  O2  A shard that was lost is reported lost before it is reported acquired again.
 *  O3  A grant that was released is never taken back from a renewal's answer: the release may still be on
 *      its way.
 *  O4  Calls to the database follow each other. The answer of a call that was given up is ignored; the
 *      effect of the call is learnt from the next renewal.
 */
import { checkDuration } from '../kernel/check.ts'
import type { Clock, Timer } from '../kernel/clock.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { Life, type Service, type ServiceState, type StopOptions } from '../kernel/service.ts'
import { waitFor } from '../kernel/wait-for.ts'
import type { Database, Grant, Renewal, ServerId } from './database.ts'
import { shardCount } from './shard-of.ts'

export interface OwnershipOptions {
  readonly server: ServerId
  readonly database: Pick<Database<never>, 'renew' | 'acquire' | 'release'>
  readonly kernel: Kernel
  /** Milliseconds that a renewal lasts by the database's clock. Default 6,000. */
  readonly ttl?: number
  /** Milliseconds before the end of the lease at which this server stops trusting it. Default 1,500. */
  readonly margin?: number
  /** Milliseconds between renewals; a server that is not alone renews with every scan. Default 2,000. */
  readonly renewEvery?: number
  /** Milliseconds between two searches for shards to acquire. Default 1,000. */
  readonly scanEvery?: number
  /** How many shards there are. Default 256. */
  readonly shards?: number
  readonly listener: OwnershipListener
}

/** Is notified on the loop. Must not throw. */
export interface OwnershipListener {
  /** The shard is this server's: read its open work, then continue it. */
  acquired(grant: Grant): void
  /** The shard is not this server's any more: discard its state, abort its attempts. */
  lost(grant: Grant): void
  /** The lease was renewed: this server is sure of all its shards. */
  renewed(): void
  /** Whether a shard may be given to a server that has fewer: false while work of it is under way. */
  mayRelease(shard: number): boolean
}

export interface OwnershipStats {
  readonly state: ServiceState
  /** Shards that this server owns, as far as it knows. */
  readonly shards: number
  /** Whether it may act as their owner now (O1). */
  readonly sure: boolean
  readonly servers: number
}

export class Ownership implements Service {
  readonly #server: ServerId
  readonly #database: OwnershipOptions['database']
  readonly #clock: Clock
  readonly #listener: OwnershipListener
  readonly #ttl: number
  readonly #margin: number
  readonly #renewEvery: number
  readonly #scanEvery: number
  readonly #shards: number
  /** Epochs by shard. */
  readonly #held = new Map<number, number>()
  /** O3: by shard, the epoch that was given back. */
  readonly #released = new Map<number, number>()
  #trustedUntil = -Infinity
  #nextRenewal = -Infinity
  #servers = 1
  #timer: Timer | undefined
  /** Aborts when it is stopped; a new one for each start. */
  #run = new AbortController()
  /** The step that is under way, or the last one. */
  #step = Promise.resolve()
  readonly #life: Life

  constructor(options: OwnershipOptions) {
    this.#server = options.server
    this.#database = options.database
    this.#clock = options.kernel.clock
    this.#listener = options.listener
    this.#ttl = checkDuration('ttl', options.ttl ?? 6_000)
    this.#margin = checkDuration('margin', options.margin ?? 1_500)
    this.#renewEvery = checkDuration('renewEvery', options.renewEvery ?? 2_000)
    this.#scanEvery = checkDuration('scanEvery', options.scanEvery ?? 1_000)
    this.#shards = options.shards ?? shardCount
    this.#life = new Life({
      what: 'The ownership of shards',
      clock: this.#clock,
      deadline: 5_000,
      start: () => this.#begin(),
      stop: (enough) => this.#end(enough),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  /**
   * Hands all shards over. Stopping twice, or before the start, is harmless.
   *
   * *Cancellation*: it ends at the deadline; other shards are acquired by another server when
   * the lease runs out.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  #begin(): void {
    this.#run = new AbortController()
    this.#nextRenewal = -Infinity
    this.#step = this.#tick(this.#run.signal)
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#run.abort()
    this.#timer?.cancel()
    const grants = [...this.grants()]
    this.#trustedUntil = -Infinity
    for (const grant of grants) this.#lose(grant.shard)
    const ended = Promise.all([this.#leave(grants), this.#step])
    // The lease runs out by itself: a release that fails only makes the hand-over slower.
    await waitFor(ended, 'The hand-over of shards', this.#clock, { signal: enough }).catch(ignore)
  }

  /** Ends the lease too: the others count this server no more, and take its shards at once. */
  async #leave(grants: readonly Grant[]): Promise<void> {
    if (grants.length > 0) await this.#database.release(this.#server, grants)
    await this.#database.renew(this.#server, 0)
  }

  /** Whether this server may act as the owner of a shard now (O1). */
  trusts(shard: number): boolean {
    return this.#held.has(shard) && this.#clock.now() < this.#trustedUntil
  }

  /** The epoch to write a shard with; undefined when this server does not own it, as far as it knows. */
  epochOf(shard: number): number | undefined {
    return this.#held.get(shard)
  }

  /** The shards that this server owns, as far as it knows. */
  *grants(): IterableIterator<Grant> {
    for (const [shard, epoch] of this.#held) yield { shard, epoch }
  }

  /** A commit was refused: another server has the shard. */
  refused({ shard, epoch }: Grant): void {
    if (this.#held.get(shard) === epoch) this.#lose(shard)
  }

  stats(): OwnershipStats {
    const { state } = this.#life
    const sure = this.#clock.now() < this.#trustedUntil
    return { state, shards: this.#held.size, sure, servers: this.#servers }
  }

  /** One step: renews when that is due, then gives away or takes shards (O4). Never rejects. */
  async #tick(stopped: AbortSignal): Promise<void> {
    try {
      if (this.#clock.now() >= this.#nextRenewal) await this.#renew(stopped)
      await this.#balance(stopped)
    } catch {
      // The database is away or slow: trust runs out by the clock, and the next step tries again.
    }
    if (stopped.aborted) return
    this.#timer = this.#clock.setTimer(this.#nextLook(), () => {
      this.#step = this.#tick(stopped)
    })
  }

  /** Milliseconds. Only a renewal says that the share of this server has changed: one that has its share looks after that. */
  #nextLook(): number {
    const now = this.#clock.now()
    const hasShare = this.#held.size === Math.ceil(this.#shards / this.#servers)
    if (!hasShare || now >= this.#trustedUntil) return this.#scanEvery
    return Math.max(this.#scanEvery, this.#nextRenewal - now)
  }

  async #renew(stopped: AbortSignal): Promise<void> {
    const sentAt = this.#clock.now()
    const renewal = await this.#call(this.#database.renew(this.#server, this.#ttl), stopped)
    if (stopped.aborted) return
    this.#servers = Math.max(1, renewal.servers)
    // Only a renewal shows that another server is gone, so that this server may take its shards.
    const isAlone = this.#servers === 1
    const every = isAlone ? this.#renewEvery : Math.min(this.#renewEvery, this.#scanEvery)
    this.#nextRenewal = sentAt + every
    this.#trustedUntil = sentAt + this.#ttl - this.#margin
    this.#adopt(renewal)
    this.#listener.renewed()
    await this.#releaseAgain(renewal, stopped)
  }

  /** Makes this server's view that of the database. */
  #adopt({ held }: Renewal): void {
    const current = new Map(held.map(({ shard, epoch }) => [shard, epoch]))
    for (const [shard, epoch] of this.#held) {
      if (current.get(shard) !== epoch) this.#lose(shard)
    }
    for (const [shard, epoch] of current) {
      if (this.#released.get(shard) === epoch) continue
      this.#gain({ shard, epoch })
    }
    for (const [shard, epoch] of this.#released) {
      if (current.get(shard) !== epoch) this.#released.delete(shard)
    }
  }

  async #releaseAgain({ held }: Renewal, stopped: AbortSignal): Promise<void> {
    const late = held.filter(({ shard, epoch }) => this.#released.get(shard) === epoch)
    if (late.length > 0) await this.#call(this.#database.release(this.#server, late), stopped)
  }

  async #balance(stopped: AbortSignal): Promise<void> {
    if (stopped.aborted || this.#clock.now() >= this.#trustedUntil) return
    const share = Math.ceil(this.#shards / this.#servers)
    const surplus = this.#held.size - share
    if (surplus > 0) return this.#giveAway(surplus, stopped)
    if (surplus === 0) return
    const grants = await this.#call(this.#database.acquire(this.#server, -surplus), stopped)
    // O1: trust may have run out while the answer was on its way; the next renewal reports these shards again.
    if (stopped.aborted || this.#clock.now() >= this.#trustedUntil) return
    for (const grant of grants) this.#gain(grant)
  }

  async #giveAway(surplus: number, stopped: AbortSignal): Promise<void> {
    const grants: Grant[] = []
    for (const [shard, epoch] of this.#held) {
      if (grants.length === surplus) break
      if (this.#listener.mayRelease(shard)) grants.push({ shard, epoch })
    }
    if (grants.length === 0) return
    for (const { shard, epoch } of grants) {
      this.#released.set(shard, epoch)
      this.#lose(shard)
    }
    await this.#call(this.#database.release(this.#server, grants), stopped)
  }

  #gain(grant: Grant): void {
    const { shard, epoch } = grant
    const before = this.#held.get(shard)
    if (before === epoch) return
    if (before !== undefined) this.#lose(shard)
    this.#held.set(shard, epoch)
    this.#listener.acquired(grant)
  }

  #lose(shard: number): void {
    const epoch = this.#held.get(shard)
    if (epoch === undefined) return
    this.#held.delete(shard)
    this.#listener.lost({ shard, epoch })
  }

  #call<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
    const deadline = this.#renewEvery
    return waitFor(call, 'A call to the database', this.#clock, { deadline, signal })
  }
}

const ignore = (): void => undefined
