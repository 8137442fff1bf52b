/**
 * Limits that hold for all servers on one store: `scope: 'cluster'`.
 *
 *   absent ──join──▶ sure of its share ──no write for ttl − margin──▶ unsure: starts nothing ──write──▶ sure
 *                                                                       └─ silent for ttl ──▶ the others divide its
 *                                                                       share
 *
 * One record for each limit holds the shares of all servers (share.ts). A server changes the record with the revision
 * that it has read: if two change it at the same time, one is refused and reads again. Nothing depends on wall clocks
 * or on the clock of the database. An attempt costs no call to the store: it takes a permit of the share, in memory.
 *
 * Invariants, quoted by the tests:
 *  E1  A server starts attempts within its share, and only until (time of sending its last write that was answered) +
 *      ttl − margin, on its own monotonic clock.
 *  E2  A share is divided only when its server has written nothing for a ttl, counted from the moment in which this
 *      server has read its last write. That write was sent earlier, so its server has stopped trusting it by then
 *      (E1). So the limit holds over kill -9 and take-over.
 *  E3  A share is lowered here before it is lowered in the record, and raised here after it was raised there. A write
 *      without an answer may be carried out late: nothing is raised before a newer write has succeeded, because that
 *      one makes the late one void.
 *  E4  A wait here is announced at once. A wait elsewhere is noticed within `every`, within `shortEvery` while work
 *      waits here too.
 *  E5  A server that stops gives its share back; attempts that still run keep theirs until the ttl is over.
 *
 * Known limit: attempts of a server that was stopped or cut off for longer than the ttl continue beside those that
 * took its share, as all attempts do (C9). They are counted again when the server is back.
 */
import { checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import type { Clock, Timer } from '../kernel/clock.ts'
import { Life, type Service, type ServiceState, type StopOptions } from '../kernel/service.ts'
import { waitFor } from '../kernel/wait-for.ts'
import type { ClusterPermits } from './cluster-permits.ts'
import { shareOf, type Share } from './share.ts'

export interface LimitRecord {
  /** The name of the limit. */
  readonly id: string
  /** Grows with every write. */
  readonly turn: number
  readonly shares: Readonly<Record<string, Share>>
}

/** Where the records are. A call that rejects may have been carried out. */
export interface LimitRecords {
  read(id: string): Promise<(LimitRecord & { readonly revision: number }) | undefined>
  /** Resolves with false when the record is not in this revision any more. */
  write(record: LimitRecord, expect: 'absent' | number): Promise<boolean>
}

/** A resource of the process that has such a limit. */
export interface LimitedResource {
  readonly name: string
  readonly meter: ClusterPermits
  /** How many the first in line wants; 0 when nothing waits. */
  readonly needed: number
  /** Called when its meter has changed. */
  recheck(): void
  /** Called when something waits that the meter has no room for. */
  onShort: (() => void) | undefined
}

export interface ClusterLimitsOptions {
  /** Unique for each start of a process. */
  readonly server: string
  readonly records: LimitRecords
  readonly clock: Clock
  readonly resources: readonly LimitedResource[]
  /** Milliseconds without a write after which a server counts as dead. Default 6,000. */
  readonly ttl?: number
  /** Milliseconds before that at which the server stops trusting its share. Default 1,500. */
  readonly margin?: number
  /** Milliseconds between two reads of a record. Default 500. */
  readonly every?: number
  /** The same, while something waits here. Default 100. */
  readonly shortEvery?: number
}

const optionNames = {
  server: 1,
  records: 1,
  clock: 1,
  resources: 1,
  ttl: 1,
  margin: 1,
  every: 1,
  shortEvery: 1,
} satisfies OptionNames<ClusterLimitsOptions>

export interface ShareStats {
  /** Permits of this server: those that it may use, and those that are still in use. */
  readonly share: number
  readonly used: number
  /** Limit of all servers together. */
  readonly limit: number
  readonly sure: boolean
  /** How often this server was unsure of its share after it had been sure. */
  readonly lapses: number
}

export class ClusterLimits implements Service {
  readonly #limits: readonly Limit[]
  readonly #life: Life

  constructor(options: ClusterLimitsOptions) {
    checkOptions(options, optionNames)
    this.#limits = options.resources.map((resource) => new Limit(options, resource))
    this.#life = new Life({
      what: 'The limits of the cluster',
      clock: options.clock,
      deadline: 2_000,
      start: () => this.#limits.forEach((limit) => limit.start()),
      stop: async (enough) => {
        await Promise.all(this.#limits.map((limit) => limit.stop(enough)))
      },
    })
  }

  /** Takes part from here on. *Cancellation*: stop() ends it. */
  start(): Promise<void> {
    return this.#life.start()
  }

  /** E5. *Cancellation*: it ends at the deadline; unreturned permits are free after the ttl. */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState; readonly shares: Readonly<Record<string, ShareStats>> } {
    const shares: Record<string, ShareStats> = {}
    for (const { resource, lapses } of this.#limits) {
      const { share, used, limit } = resource.meter
      const sure = resource.meter.isTrusted()
      shares[resource.name] = { share, used, limit, sure, lapses }
    }
    return { state: this.#life.state, shares }
  }
}

/** Milliseconds before a write that another server was faster with is tried again. */
const retryAfter = 20

class Limit {
  readonly resource: LimitedResource
  readonly #options: ClusterLimitsOptions
  readonly #ttl: number
  readonly #margin: number
  readonly #every: number
  readonly #shortEvery: number
  /** Keyed by other server: its last beat, and when this server first read it. */
  readonly #seen = new Map<string, { readonly beat: number; readonly at: number }>()
  #trustedUntil = -Infinity
  #lapses = 0
  #writtenAt = -Infinity
  /** E3: a write has no answer yet, or was given up. */
  #isUnknown = false
  /** E4: whether the others know that something waits here. */
  #isAnnounced = false
  #timer: Timer | undefined
  #look = Promise.resolve()
  #isLooking = false
  #isWanted = false
  #isOver = true

  constructor(options: ClusterLimitsOptions, resource: LimitedResource) {
    this.#options = options
    this.resource = resource
    this.#ttl = checkDuration('ttl', options.ttl ?? 6_000)
    this.#margin = checkDuration('margin', options.margin ?? 1_500)
    this.#every = checkDuration('every', options.every ?? 500)
    this.#shortEvery = checkDuration('shortEvery', options.shortEvery ?? 100)
    const { meter } = resource
    meter.capacity = 0
    meter.isTrusted = () => options.clock.now() < this.#trustedUntil
  }

  get lapses(): number {
    const isLapsed = this.#trustedUntil > -Infinity && !this.resource.meter.isTrusted()
    return this.#lapses + (isLapsed ? 1 : 0)
  }

  start(): void {
    this.#isOver = false
    this.resource.onShort = () => {
      if (!this.#isAnnounced) this.#lookSoon()
    }
    this.#lookSoon()
  }

  async stop(enough: AbortSignal): Promise<void> {
    this.#isOver = true
    this.#timer?.cancel()
    this.resource.onShort = undefined
    this.#lapses = this.lapses
    this.#trustedUntil = -Infinity
    this.resource.meter.capacity = 0
    const { clock } = this.#options
    const left = this.#look.then(() => this.#leave(enough))
    await waitFor(left, 'The return of permits', clock, { signal: enough }).catch(() => undefined)
  }

  #lookSoon(): void {
    this.#isWanted = true
    if (this.#isLooking || this.#isOver) return
    this.#isLooking = true
    this.#timer?.cancel()
    this.#look = this.#lookNow()
  }

  /** Never rejects. */
  async #lookNow(): Promise<void> {
    this.#isWanted = false
    let pause = this.#every
    try {
      const isSettled = await this.#update()
      if (this.resource.needed > 0) pause = this.#shortEvery
      // After a random pause: servers that collide would collide again.
      if (!isSettled) pause = Math.min(retryAfter, pause)
      // E4: something waits since the record was read.
      else if (this.#isWanted) pause = 0
    } catch {
      // The store is away: trust runs out by the clock.
    }
    this.#isLooking = false
    if (this.#isOver) return
    if (pause === 0) this.#lookSoon()
    else this.#timer = this.#options.clock.setTimer(pause, () => this.#lookSoon())
  }

  /** Resolves with false when another server has changed the record meanwhile. */
  async #update(): Promise<boolean> {
    const { records, clock, server } = this.#options
    const { resource } = this
    const { meter } = resource
    const id = resource.name
    const record = await this.#call(records.read(id))
    if (this.#isOver) return true
    const { shares = {}, turn: lastTurn = 0, revision = 'absent' as const } = record ?? {}
    const others = this.#alive(shares)
    const own = shares[server]
    const turn = lastTurn + 1
    const need = resource.needed
    const { limit, used } = meter
    const { share, allowed } = shareOf({ limit, id: server, own, others, used, need, turn })
    meter.elsewhere = {
      servers: others.length,
      permits: others.reduce((sum, [, { count }]) => sum + count, 0),
    }
    const isAll = others.length === Object.keys(shares).length - (own === undefined ? 0 : 1)
    const isRecent = clock.now() - this.#writtenAt < this.#ttl / 3
    if (own !== undefined && isSame(own, share) && isAll && isRecent && !this.#isUnknown) {
      this.#isAnnounced = need > 0
      this.#allow(allowed)
      return true
    }
    // E3.
    meter.capacity = Math.min(meter.capacity, allowed)
    const sentAt = clock.now()
    this.#isUnknown = true
    const next = { id, turn, shares: Object.fromEntries([...others, [server, share] as const]) }
    const isWritten = await this.#call(records.write(next, revision))
    if (!isWritten) return false
    this.#isUnknown = false
    if (this.#isOver) return true
    this.#writtenAt = sentAt
    this.#lapses = this.lapses
    // E1.
    this.#trustedUntil = sentAt + this.#ttl - this.#margin
    this.#isAnnounced = need > 0
    this.#allow(allowed)
    return true
  }

  #allow(allowed: number): void {
    this.resource.meter.capacity = allowed
    this.resource.recheck()
  }

  /** E2. */
  #alive(shares: LimitRecord['shares']): (readonly [string, Share])[] {
    const now = this.#options.clock.now()
    const others = Object.entries(shares).filter(([id]) => id !== this.#options.server)
    for (const id of this.#seen.keys()) if (!(id in shares)) this.#seen.delete(id)
    return others.filter(([id, { beat }]) => {
      const known = this.#seen.get(id)
      if (known?.beat === beat) return now - known.at < this.#ttl
      this.#seen.set(id, { beat, at: now })
      return true
    })
  }

  /** E5. */
  async #leave(enough: AbortSignal): Promise<void> {
    const { records, server } = this.#options
    while (!enough.aborted) {
      const record = await records.read(this.resource.name)
      const own = record?.shares[server]
      if (record === undefined || own === undefined) return
      const { [server]: _own, ...shares } = record.shares
      const { id, revision } = record
      const turn = record.turn + 1
      const { used } = this.resource.meter
      const left = { ...own, count: used, want: used, need: 0, isShort: false, beat: turn }
      const next = used === 0 ? shares : { ...shares, [server]: left }
      if (await records.write({ id, turn, shares: next }, revision)) return
    }
  }

  #call<T>(call: Promise<T>): Promise<T> {
    const deadline = this.#ttl / 3
    return waitFor(call, 'A call to the store', this.#options.clock, { deadline })
  }
}

/** Whether a share has to be written, apart from the beat. */
function isSame(a: Share, b: Share): boolean {
  return (
    a.count === b.count &&
    a.want === b.want &&
    a.need === b.need &&
    a.limit === b.limit &&
    a.isShort === b.isShort
  )
}
