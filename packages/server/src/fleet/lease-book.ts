/**
 * Leases in memory: decides on the loop, knows states, epochs and time. The work of a lease keeps its own accounts and
 * writes the rows that must survive (`Work` in lease.ts). State machine and rules: docs/design/fleet.md.
 */
import { HeddleError } from '@heddle/core'
import {
  Life,
  LinkedList,
  type Kernel,
  type ServiceState,
  type StopOptions,
  type Timer,
} from '@heddle/core/lowlevel'
import {
  Lease,
  parseLeaseId,
  type CloseReason,
  type LeaseInit,
  type Report,
  type Work,
} from './lease.ts'

export interface LeaseBookOptions {
  readonly kernel: Kernel
  /** Milliseconds until an offer that is not accepted goes back. Default 10,000. */
  readonly offerFor?: number
  /** Milliseconds between two sweeps, ± 5 %. Default 60,000. */
  readonly sweepEvery?: number
  /** Milliseconds between two writes of "last seen" of one lease, at least. Default 300,000. */
  readonly writeSeenEvery?: number
  readonly onClosed?: (lease: Lease, why: CloseReason) => void
}

/** Which lease a call is about (L4). */
export interface LeaseCall {
  readonly lease: string
  readonly epoch: number
  readonly worker: string
  /** The user or token that calls; not checked when absent (L4). */
  readonly owner?: string | undefined
}

export interface BeatAnswer {
  readonly nextBeat: number
}

export interface UpdateAnswer {
  /** False when the report was old: it changed nothing (L5). */
  readonly counted: boolean
  /** Set when the lease has ended with this report. */
  readonly closed?: CloseReason
  readonly problem?: string
  readonly nextBeat: number
}

export interface LeaseBookStats {
  readonly state: ServiceState
  readonly offered: number
  readonly held: number
  /** Workers that have a lease, offered or held. */
  readonly active: number
  readonly granted: number
  readonly closed: Readonly<Record<string, number>>
}

/** Leases of one tenant: how many there are, and how many there were since the start. */
export interface LeaseCounts {
  offered: number
  held: number
  granted: number
  readonly closed: Record<string, number>
}

const noLeases = (): LeaseCounts => ({ offered: 0, held: 0, granted: 0, closed: {} })

/** Closed leases whose reason is remembered. */
const mostRemembered = 20_000
/** Leases that a sweep checks in one turn of the loop. */
const sweepSlice = 2_000
/** Leases that are written together. */
const seenTogether = 256

export class LeaseBook {
  readonly #options: LeaseBookOptions
  readonly #kernel: Kernel
  readonly offerFor: number
  readonly #sweepEvery: number
  readonly #writeSeenEvery: number
  readonly #leases = new Map<string, Lease>()
  /** A take-over forgets the leases of one work, and reads no others. */
  readonly #byWork = new Map<Work, Set<Lease>>()
  /** In order of offer: all have the same time. */
  readonly #offers = new LinkedList<Lease>()
  #offerTimer: Timer | undefined
  /** Held leases by stale period, least recently seen first: a sweep checks the heads only. */
  readonly #held = new Map<number, LinkedList<Lease>>()
  /** How many leases come from an address, and how many workers have one: nothing is counted by walking. */
  readonly #byAddress = new Map<string, number>()
  #active = 0
  readonly #byTenant = new Map<string, LeaseCounts>()
  /** Why leases were closed, for their holders: to others they are unknown (L4). */
  readonly #remembered = new Map<string, { readonly why: CloseReason; readonly owner: string }>()
  readonly #closedCount: Record<string, number> = {}
  #granted = 0
  /** Wall time: see takeRestored(). */
  #restoredSince = Infinity
  #sweepTimer: Timer | undefined
  readonly #life: Life

  constructor(options: LeaseBookOptions) {
    this.#options = options
    this.#kernel = options.kernel
    this.offerFor = options.offerFor ?? 10_000
    this.#sweepEvery = options.sweepEvery ?? 60_000
    this.#writeSeenEvery = options.writeSeenEvery ?? 300_000
    this.#life = new Life({
      what: 'The lease book',
      clock: options.kernel.clock,
      deadline: 5_000,
      start: () => this.#sweepLater(),
      stop: () => {
        this.#sweepTimer?.cancel()
        this.#offerTimer?.cancel()
        this.#offerTimer = undefined
      },
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): LeaseBookStats {
    return {
      state: this.#life.state,
      offered: this.#offers.size,
      held: this.#leases.size - this.#offers.size,
      active: this.#active,
      granted: this.#granted,
      closed: { ...this.#closedCount },
    }
  }

  /** Counts of the leases of one tenant. */
  countsOf(tenant: string): Readonly<LeaseCounts> {
    const { offered, held, granted, closed } = this.#byTenant.get(tenant) ?? noLeases()
    return { offered, held, granted, closed: { ...closed } }
  }

  #countsOf({ tenant }: Lease): LeaseCounts {
    let counts = this.#byTenant.get(tenant)
    if (counts === undefined) this.#byTenant.set(tenant, (counts = noLeases()))
    return counts
  }

  #countGrant(lease: Lease): void {
    const counts = this.#countsOf(lease)
    counts.offered--
    counts.held++
    counts.granted++
  }

  /** Leases of workers at this address, offered and held. */
  leasesFrom(address: string): number {
    return this.#byAddress.get(address) ?? 0
  }

  get(id: string): Lease | undefined {
    return this.#leases.get(id)
  }

  leases(): IterableIterator<Lease> {
    return this.#leases.values()
  }

  /** L1: nothing is written for an offer. */
  offer(init: Omit<LeaseInit, 'number' | 'epoch'>, request: string): Lease {
    const { work } = init
    const lease = new Lease({ ...init, number: work.nextLease(), epoch: work.epoch })
    lease.request = request
    lease.seenAt = this.#now()
    this.#add(lease)
    this.#offers.push(lease)
    this.#countsOf(lease).offered++
    if (this.#offerTimer === undefined) this.#watchOffers()
    return lease
  }

  /** Puts a lease that was read from the store into the book: it has a full stale period from now (L6). */
  restore(lease: Lease): void {
    lease.state = 'held'
    lease.seenAt = this.#now()
    lease.seenWrittenAt = lease.seenAt
    lease.reportedAt = lease.seenAt
    this.#add(lease)
    this.#listOf(lease.work).push(lease)
    this.#countsOf(lease).held++
    this.#restoredSince = Math.min(this.#restoredSince, lease.grantedAt ?? 0)
  }

  /** See Fleet.takeRestored(). */
  takeRestored(): number | undefined {
    const since = this.#restoredSince
    this.#restoredSince = Infinity
    return since === Infinity ? undefined : since
  }

  /**
   * L2: resolves when the lease is durable. Again with the same answer when it is held already (L5).
   *
   * *Cancellation*: none; a worker that does not get the answer asks again.
   * @throws `HDL_LEASE_ENDED`; `HDL_STORE_FAILED`, after which the worker may accept again.
   */
  async accept(call: LeaseCall): Promise<Lease> {
    const lease = this.#find(call)
    if (lease.state === 'held') return lease
    lease.state = 'accepting'
    try {
      await lease.work.grant(lease)
    } catch (error) {
      // Still an offer, with its own time to live: the worker may accept again (L11).
      if (this.#stateOf(lease) === 'accepting') lease.state = 'offered'
      throw error
    }
    switch (this.#stateOf(lease)) {
      case 'accepting':
        this.#offers.remove(lease)
        lease.state = 'held'
        lease.reportedAt = this.#now()
        this.#granted++
        this.#countGrant(lease)
        this.#listOf(lease.work).push(lease)
        this.#touch(lease)
        return lease
      // Another call has accepted it meanwhile.
      case 'held':
        return lease
      case 'offered':
      case 'closing':
      case 'closed':
        throw this.#lost(call)
    }
  }

  /**
   * L6, L8.
   * @throws `HDL_LEASE_ENDED`.
   */
  beat(call: LeaseCall, progress?: number): BeatAnswer {
    const lease = this.#findHeld(call)
    this.#touch(lease)
    const { idleBeats } = lease.work.times
    if (progress !== undefined && progress > lease.progress) {
      lease.progress = progress
      lease.idleBeats = 0
    } else if (progress !== undefined && idleBeats > 0 && ++lease.idleBeats >= idleBeats) {
      this.close(lease, 'no_progress')
      throw this.#lost(call)
    }
    return { nextBeat: this.nextBeat(lease.work) }
  }

  /**
   * Counts a report and waits until that is durable.
   *
   * *Cancellation*: none; a worker that does not get the answer sends the report again (L5).
   * @throws `HDL_LEASE_ENDED`; `HDL_STORE_FAILED`, after which the same report may be sent again (L11).
   */
  async update(call: LeaseCall, report: Report): Promise<UpdateAnswer> {
    const lease = this.#leases.get(call.lease)
    if (lease === undefined) return this.#updateOfClosed(call, report)
    this.#check(lease, call)
    if (lease.state !== 'held') throw this.#lost(call)
    this.#touch(lease)
    const { work } = lease
    if (report.sequence <= lease.sequence) {
      // The answer to it was lost, or its write is under way: acknowledged when it is durable.
      await work.saved()
      return { counted: false, nextBeat: this.nextBeat(work) }
    }
    lease.progress++
    lease.idleBeats = 0
    const outcome = work.report(lease, report)
    if (outcome.kind === 'closed') {
      const { why, problem } = outcome
      this.close(lease, why)
      await work.saved()
      return {
        counted: why !== 'invalid_report',
        closed: why,
        ...(problem === undefined ? {} : { problem }),
        nextBeat: 0,
      }
    }
    await work.saved()
    return { counted: true, nextBeat: this.nextBeat(work) }
  }

  /** L5: the report that finished a lease is acknowledged again, also after a restart. */
  async #updateOfClosed(call: LeaseCall, report: Report): Promise<UpdateAnswer> {
    const remembered = this.#remembered.get(call.lease)
    if (remembered !== undefined && !isOf(call, remembered.owner)) throw this.#lost(call)
    const id = parseLeaseId(call.lease)
    const work = id && this.findWork(id.work)
    const closed = await work?.closedLease(id!.number)
    const isOwn = closed?.worker === call.worker && isOf(call, closed.owner)
    const isSame =
      closed?.why === 'finished' &&
      closed.epoch === call.epoch &&
      report.sequence <= closed.sequence
    if (!isOwn || !isSame) throw this.#lost(call, isOwn ? closed?.why : undefined)
    return { counted: false, closed: 'finished', nextBeat: 0 }
  }

  /** Set by the fleet: finds the work of an old lease. */
  findWork: (id: string) => Work | undefined = () => undefined

  /** The lease of a call. @throws `HDL_LEASE_ENDED`. */
  heldLease(call: LeaseCall): Lease {
    const lease = this.#findHeld(call)
    this.#touch(lease)
    return lease
  }

  /** Ends a lease now. False when it has ended already: closing is idempotent. */
  close(lease: Lease, why: CloseReason): boolean {
    if (lease.state === 'closing' || lease.state === 'closed') return false
    const wasOffer = lease.state === 'offered' && !lease.isGrantSaved
    this.#forget(lease, why)
    lease.state = 'closing'
    lease.closedWhy = why
    lease.work.release(lease, why, wasOffer)
    lease.state = 'closed'
    this.#options.onClosed?.(lease, why)
    lease.worker.beats.wake()
    return true
  }

  /** Ends all leases of a work. */
  closeAll(work: Work, why: CloseReason): void {
    for (const lease of this.#byWork.get(work) ?? []) this.close(lease, why)
  }

  /** Asks the worker of a held lease to stop (W7): it hands the lease back when its job has ended. */
  askStop(lease: Lease, reason: string): void {
    lease.stopReason ??= reason
    lease.worker.claims.wake()
    lease.worker.beats.wake()
  }

  /** Forgets the leases of a work that another server owns now. Nothing is written. */
  drop(work: Work): void {
    for (const lease of this.#byWork.get(work) ?? []) {
      this.#forget(lease, 'takeover')
      lease.state = 'closed'
      this.#options.onClosed?.(lease, 'takeover')
    }
  }

  /** Milliseconds until the next beat of a worker: spread over the last tenth, so that a fleet spreads itself. */
  nextBeat({ times }: Work): number {
    return Math.round(times.beat * (0.9 + 0.1 * this.#kernel.random.next()))
  }

  /**
   * Like nextBeat, after an accept: anywhere in the period, so that workers that came together do
   * not beat together.
   */
  firstBeat({ times }: Work): number {
    return Math.round(times.beat * (0.1 + 0.9 * this.#kernel.random.next()))
  }

  // ── Time ──────────────────────────────────────────────────────────────────────────────────────

  #now(): number {
    return this.#kernel.clock.now()
  }

  #touch(lease: Lease): void {
    const now = this.#now()
    lease.seenAt = now
    lease.worker.seenAt = now
    const list = lease.list as LinkedList<Lease> | undefined
    if (lease.state !== 'held' || list === undefined || list.last === lease) return
    list.remove(lease)
    list.push(lease)
  }

  #watchOffers(): void {
    const first = this.#offers.first
    if (first === undefined) return
    const delay = first.seenAt + this.offerFor - this.#now()
    this.#offerTimer = this.#kernel.clock.setTimer(Math.max(0, delay), () => {
      this.#offerTimer = undefined
      const due = this.#now() - this.offerFor
      for (let lease = this.#offers.first; lease !== undefined; lease = this.#offers.first) {
        if (lease.seenAt > due) break
        // An accept is being written: it ends by itself, and comes back here if it fails.
        if (lease.state === 'accepting') this.#offerAgain(lease)
        else this.close(lease, 'not_accepted')
      }
      this.#watchOffers()
    })
  }

  /** Moves an offer whose accept is under way to the end of the list. */
  #offerAgain(lease: Lease): void {
    this.#offers.remove(lease)
    lease.seenAt = this.#now()
    this.#offers.push(lease)
  }

  #sweepLater(): void {
    const jitter = 0.95 + 0.1 * this.#kernel.random.next()
    this.#sweepTimer = this.#kernel.clock.setTimer(this.#sweepEvery * jitter, () => {
      this.sweep()
      if (this.#life.isRunning) this.#sweepLater()
    })
  }

  /** L7: closes stale leases, and writes which workers were seen (L6). */
  sweep(): void {
    this.#sweepSlice()
    this.#writeSeen(this.#leases.values())
  }

  #sweepSlice(): void {
    const now = this.#now()
    let closed = 0
    for (const [stale, list] of this.#held) {
      for (let lease = list.first; lease !== undefined; lease = list.first) {
        if (now - lease.seenAt <= stale) break
        this.close(lease, 'stale')
        if (++closed === sweepSlice) {
          return this.#kernel.clock.afterIo(() => this.#life.isRunning && this.#sweepSlice())
        }
      }
      if (list.size === 0) this.#held.delete(stale)
    }
  }

  /** In slices: a million leases take no turn of the loop for themselves. */
  #writeSeen(leases: IterableIterator<Lease>): void {
    const due = new Map<Work, Lease[]>()
    const now = this.#now()
    let looked = 0
    for (let step = leases.next(); step.done !== true; step = leases.next()) {
      const lease = step.value
      const isDue = lease.seenAt - lease.seenWrittenAt >= this.#writeSeenEvery
      if (lease.state === 'held' && isDue) {
        lease.seenWrittenAt = now
        const list = due.get(lease.work)
        if (list === undefined) due.set(lease.work, [lease])
        else list.push(lease)
      }
      if (++looked === sweepSlice) {
        this.#kernel.clock.afterIo(() => this.#life.isRunning && this.#writeSeen(leases))
        break
      }
    }
    for (const [work, seen] of due) {
      for (let from = 0; from < seen.length; from += seenTogether) {
        work.seen(seen.slice(from, from + seenTogether))
      }
    }
  }

  // ── Finding ───────────────────────────────────────────────────────────────────────────────────

  #listOf({ times }: Work): LinkedList<Lease> {
    let list = this.#held.get(times.stale)
    if (list === undefined) this.#held.set(times.stale, (list = new LinkedList()))
    return list
  }

  #findHeld(call: LeaseCall): Lease {
    const lease = this.#find(call)
    if (lease.state !== 'held') throw this.#lost(call)
    return lease
  }

  #find(call: LeaseCall): Lease {
    const lease = this.#leases.get(call.lease)
    if (lease === undefined) throw this.#lost(call)
    this.#check(lease, call)
    return lease
  }

  /** L4. */
  #check(lease: Lease, call: LeaseCall): void {
    const isOwn = isOf(call, lease.owner)
    // A stranger gets the answer of an unknown lease.
    if (lease.epoch !== call.epoch || lease.worker.id !== call.worker || !isOwn) {
      throw this.#lost(call)
    }
  }

  /** A method, so that types do not narrow the state: it changes while a promise is awaited. */
  #stateOf(lease: Lease): Lease['state'] {
    return lease.state
  }

  #add(lease: Lease): void {
    this.#leases.set(lease.id, lease)
    const leases = this.#byWork.get(lease.work)
    if (leases === undefined) this.#byWork.set(lease.work, new Set([lease]))
    else leases.add(lease)
    const { worker, address } = lease
    if (worker.leases.size === 0) {
      this.#active++
      if (worker.group !== undefined) worker.group.busy++
    }
    worker.leases.add(lease)
    this.#byAddress.set(address, this.leasesFrom(address) + 1)
  }

  #forget(lease: Lease, why: CloseReason): void {
    const counts = this.#countsOf(lease)
    if (lease.list === this.#offers) counts.offered--
    else counts.held--
    counts.closed[why] = (counts.closed[why] ?? 0) + 1
    ;(lease.list as LinkedList<Lease> | undefined)?.remove(lease)
    this.#leases.delete(lease.id)
    const leases = this.#byWork.get(lease.work)
    leases?.delete(lease)
    if (leases?.size === 0) this.#byWork.delete(lease.work)
    this.#leaveWorker(lease)
    this.#closedCount[why] = (this.#closedCount[why] ?? 0) + 1
    this.#remembered.set(lease.id, { why, owner: lease.owner })
    if (this.#remembered.size <= mostRemembered) return
    for (const oldest of this.#remembered.keys()) {
      this.#remembered.delete(oldest)
      break
    }
  }

  #leaveWorker(lease: Lease): void {
    const { worker, address } = lease
    if (worker.leases.delete(lease) && worker.leases.size === 0) {
      this.#active--
      if (worker.group !== undefined) worker.group.busy--
    }
    const left = this.leasesFrom(address) - 1
    if (left > 0) this.#byAddress.set(address, left)
    else this.#byAddress.delete(address)
  }

  #lost(call: LeaseCall, why?: string): HeddleError<'HDL_LEASE_ENDED'> {
    const { lease } = call
    const remembered = this.#remembered.get(lease)
    const known =
      remembered !== undefined && isOf(call, remembered.owner) ? remembered.why : undefined
    return new HeddleError('HDL_LEASE_ENDED', { lease, reason: why ?? known ?? 'not_held' })
  }
}

/** L4. */
function isOf(call: LeaseCall, owner: string): boolean {
  return call.owner === undefined || call.owner === owner
}
