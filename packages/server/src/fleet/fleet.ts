/**
 * The fleet of one server: workers, their claims and their leases. Rules L1 to L12 and W1 to W6: docs/design/fleet.md.
 */
import { HeddleError, isError } from '@heddle/core'
import type { ErrorRecord, Kernel, StopOptions } from '@heddle/core/lowlevel'
import type { Campaign } from '../campaigns/campaign.ts'
import type { Campaigns } from '../campaigns/campaigns.ts'
import { chooseCampaign } from '../campaigns/choose-campaign.ts'
import { ClaimDesk, type ClaimAnswer, type ClaimRequest } from './claim-desk.ts'
import type { FleetJobs } from './fleet-jobs.ts'
import {
  FleetWorker,
  type Refusal,
  type WorkerDescription,
  type WorkerIdentity,
} from './fleet-worker.ts'
import type { JobShard } from './job-shard.ts'
import { LeaseBook, type LeaseCall, type UpdateAnswer } from './lease-book.ts'
import type { CloseReason, Lease, Report, ResultPlace, Work } from './lease.ts'
import { LostWorkers } from './lost-workers.ts'
import { WorkerGroups } from './worker-groups.ts'

export interface FleetOptions {
  readonly kernel: Kernel
  /** Milliseconds: see LeaseBookOptions. */
  readonly offerFor?: number | undefined
  readonly sweepEvery?: number | undefined
  readonly writeSeenEvery?: number | undefined
  /** Leases of one address at a time. Default 100. */
  readonly leasesPerAddress?: number | undefined
  /** Claims that wait at a time. Default 100,000. */
  readonly waitingClaims?: number | undefined
  /** Reports workers whose leases were lost because they fell silent. */
  readonly onSilent?: ((text: string) => void) | undefined
  /** Reports work that failed, with the machine that it failed on. */
  readonly onFailed?: ((text: string) => void) | undefined
  /** Milliseconds within which two workers of one name are refused (W6). Default 120,000. */
  readonly nameFor?: number | undefined
  /** Workers that are remembered after they were seen last. Default 100,000. */
  readonly mostWorkers?: number | undefined
}

/** What a worker says about work that failed. */
export interface Failure {
  readonly message: string
  /** Whether another attempt may succeed. */
  readonly retryable: boolean
  /** `start`: the work did not begin (P6). */
  readonly stage: 'start' | 'run'
  readonly name?: string | undefined
  readonly stack?: string | undefined
  /** Milliseconds after which the job asks to be tried again. */
  readonly retryAfter?: number | undefined
  /** What was thrown, with its causes. */
  readonly error?: ErrorRecord | undefined
}

export interface FleetClaim extends ClaimRequest {
  readonly description: WorkerDescription
  readonly identity: WorkerIdentity
  /** The leases that the worker holds: others of it were lost on the way (L5). */
  readonly holds?: readonly string[] | undefined
}

export interface FleetSummary {
  readonly workers: number
  readonly active: number
  readonly waiting: number
  readonly offered: number
  readonly held: number
  readonly granted: number
  readonly closed: Readonly<Record<string, number>>
  readonly jobs_waiting: number
}

export class Fleet {
  readonly book: LeaseBook
  readonly desk: ClaimDesk
  readonly #kernel: Kernel
  readonly #leasesPerAddress: number
  readonly #nameFor: number
  readonly #mostWorkers: number
  readonly #workers = new Map<string, FleetWorker>()
  /** How far #forgetIdle() has looked. */
  #looked: Iterator<FleetWorker> = [][Symbol.iterator]()
  readonly groups = new WorkerGroups()
  /** Keyed by owner and name (W6). */
  readonly #names = new Map<string, FleetWorker>()
  #campaigns: Campaigns | undefined
  #jobs: FleetJobs | undefined
  readonly #lost: LostWorkers | undefined
  readonly #onFailed: ((text: string) => void) | undefined
  #isDraining = false

  constructor(options: FleetOptions) {
    this.#kernel = options.kernel
    this.#leasesPerAddress = options.leasesPerAddress ?? 100
    this.#nameFor = options.nameFor ?? 120_000
    this.#mostWorkers = options.mostWorkers ?? 100_000
    this.#onFailed = options.onFailed
    this.#lost = options.onSilent && new LostWorkers(options.onSilent)
    this.book = new LeaseBook({
      kernel: options.kernel,
      ...(options.offerFor === undefined ? {} : { offerFor: options.offerFor }),
      ...(options.sweepEvery === undefined ? {} : { sweepEvery: options.sweepEvery }),
      ...(options.writeSeenEvery === undefined ? {} : { writeSeenEvery: options.writeSeenEvery }),
      onClosed: (lease, why) => this.#onClosed(lease, why),
    })
    this.book.findWork = (id) => this.#findWork(id)
    this.desk = new ClaimDesk({
      kernel: options.kernel,
      choose: (worker, request) => this.#choose(worker, request),
      hasWork: () => this.#hasWork(),
      takeBack: (lease) => this.book.close(lease, 'not_accepted'),
      most: options.waitingClaims,
    })
  }

  /** What leases are made of. Set once, before the start. */
  attach(work: { readonly campaigns?: Campaigns; readonly jobs?: FleetJobs }): void {
    this.#campaigns = work.campaigns ?? this.#campaigns
    this.#jobs = work.jobs ?? this.#jobs
  }

  /** Milliseconds for an offer to be accepted. */
  get offerFor(): number {
    return this.book.offerFor
  }

  now(): number {
    return this.#kernel.clock.now()
  }

  start(): Promise<void> {
    return this.book.start()
  }

  /** No call of a worker waits from now on, and no claim gets work. */
  drain(): void {
    this.#isDraining = true
    this.desk.close()
    for (const worker of this.#workers.values()) worker.beats.wake()
  }

  async stop(options: StopOptions = {}): Promise<void> {
    this.drain()
    await this.book.stop(options)
  }

  // ── Workers ───────────────────────────────────────────────────────────────────────────────────

  /**
   * Like worker(), for a call. @throws `HDL_WORKER_TAKEN` when another user or token has this
   * worker (W8).
   */
  callingWorker(description: WorkerDescription, identity: WorkerIdentity): FleetWorker {
    if (this.#isOfOther(description.id, identity.owner)) {
      throw new HeddleError('HDL_WORKER_TAKEN', { worker: description.id })
    }
    return this.worker(description, identity)
  }

  /** W8: details of a worker are for the user or token that started it. */
  #isOfOther(id: string, owner: string): boolean {
    const known = this.#workers.get(id)
    return known !== undefined && known.identity.owner !== owner
  }

  /** The worker, as it describes itself now (W1). */
  worker(description: WorkerDescription, identity: WorkerIdentity): FleetWorker {
    const now = this.#kernel.clock.now()
    let worker = this.#workers.get(description.id)
    if (worker === undefined) {
      worker = new FleetWorker(description, identity, now)
      this.#workers.set(worker.id, worker)
      this.#forgetIdle(worker)
    } else {
      worker.description = description
      worker.identity = identity
    }
    this.groups.put(worker)
    return worker
  }

  knownWorker(id: string): FleetWorker | undefined {
    return this.#workers.get(id)
  }

  /** Those of one tenant; all when undefined. */
  workers(tenant?: string): Iterable<FleetWorker> {
    return tenant === undefined ? this.#workers.values() : this.groups.workers(tenant)
  }

  get hasWorkers(): boolean {
    return this.#workers.size > 0
  }

  /** The wall time at which the oldest lease was granted that was read from the store since the last call; undefined when none was. */
  takeRestored(): number | undefined {
    return this.book.takeRestored()
  }

  /** These were blocked or revoked (`user ann`, `token ci`): the leases of their workers end now. */
  block(refused: ReadonlySet<string>): void {
    const isRefused = ({ identity }: FleetWorker): boolean =>
      identity.names?.some((name) => refused.has(name)) === true
    for (const worker of this.#workers.values()) {
      if (!isRefused(worker)) continue
      worker.claims.wake()
      for (const lease of worker.leases) this.book.close(lease, 'blocked')
    }
  }

  // ── Calls ─────────────────────────────────────────────────────────────────────────────────────

  /**
   * *Cancellation*: the claim leaves; jobs offered to it go back.
   * *Fairness*: as ClaimDesk.claim().
   * @throws `HDL_WORKER_TAKEN`, `HDL_DRAINING`.
   */
  async claim(claim: FleetClaim): Promise<ClaimAnswer> {
    const worker = this.callingWorker(claim.description, claim.identity)
    const now = this.#kernel.clock.now()
    const other = this.#otherOfName(worker, now)
    if (other !== undefined) {
      const message = `a worker with name ${worker.name} was seen ${Math.round((now - other.seenAt) / 1_000)} s ago`
      const refusal: Refusal = { reason: 'limit', message, retryAfter: this.#nameFor }
      worker.lastRefusal = refusal
      return { kind: 'empty', ...refusal }
    }
    worker.seenAt = now
    worker.isLeaving = false
    this.#names.set(nameKey(worker), worker)
    if (claim.holds !== undefined) this.#closeOrphans(worker, claim.holds)
    return this.desk.claim(worker, claim)
  }

  accept(call: LeaseCall): Promise<Lease> {
    this.#checkOwner(call)
    return this.book.accept(call)
  }

  update(call: LeaseCall, report: Report): Promise<UpdateAnswer> {
    this.#checkOwner(call)
    return this.book.update(call, report)
  }

  /** The lease failed. Resolves when that is durable. */
  async fail(call: LeaseCall, failure: Failure): Promise<void> {
    this.#checkOwner(call)
    const lease = this.book.heldLease(call)
    const { work, worker } = lease
    const what = isJobs(work) ? this.#jobs!.nameOf(lease) : `Campaign ${work.id}`
    this.#onFailed?.(
      `${what} failed on worker ${worker.name} at ${lease.address}: ${failure.message}`,
    )
    if (isJobs(work)) this.#jobs!.failed(lease, failure)
    this.book.close(lease, 'failed')
    if (isCampaign(work)) {
      this.#failedIn(work, lease)
      if (failure.stage === 'start' || lease.done === 0) work.failedToStart(worker, failure.message)
    }
    await work.saved()
  }

  /** The worker hands a lease back unfinished: its reports count. */
  async handBack(call: LeaseCall): Promise<void> {
    this.#checkOwner(call)
    const lease = this.book.get(call.lease)
    if (lease === undefined || lease.epoch !== call.epoch || lease.worker.id !== call.worker) return
    if (call.owner !== undefined && lease.owner !== call.owner) return
    this.book.close(lease, lease.state === 'offered' ? 'not_accepted' : 'handed_back')
    await lease.work.saved()
  }

  /**
   * Whose artifacts a worker may write with its lease: the run or campaign, and the piece of work.
   * @throws `HDL_LEASE_ENDED`, `HDL_NOT_OWNER`.
   */
  artifactsOf(call: LeaseCall): { readonly run: string; readonly by: string } {
    this.#checkOwner(call)
    const lease = this.book.heldLease(call)
    if (isCampaign(lease.work)) return { run: lease.work.id, by: '' }
    return this.#jobs!.artifactsOf(lease)
  }

  /** Where the result of a job is that was uploaded before its report. @throws as artifactsOf(). */
  resultAt(call: LeaseCall, artifact: string): ResultPlace {
    return { run: this.artifactsOf(call).run, artifact }
  }

  /** W7: leases of a worker that it is asked to stop. */
  stopsOf(worker: string, owner: string): { readonly lease: string; readonly reason: string }[] {
    const stops: { lease: string; reason: string }[] = []
    if (this.#isOfOther(worker, owner)) return stops
    for (const { id, stopReason } of this.#workers.get(worker)?.leases ?? []) {
      if (stopReason !== undefined) stops.push({ lease: id, reason: stopReason })
    }
    return stops
  }

  /**
   * Like stopsOf(), but each stop once: a claim that is answered with a stop is followed by the
   * next claim at once. Beats repeat it.
   */
  newStopsOf(worker: string): { readonly lease: string; readonly reason: string }[] {
    const leases = this.#workers.get(worker)?.leases ?? []
    const stops: { lease: string; reason: string }[] = []
    for (const lease of leases) {
      const { id, stopReason, isStopTold } = lease
      if (stopReason === undefined || isStopTold) continue
      lease.isStopTold = true
      stops.push({ lease: id, reason: stopReason })
    }
    return stops
  }

  /**
   * Resolves when a lease of the worker has ended or is to stop, at the deadline, and when the signal aborts. At once for a worker
   * that another owner has, as for one that is unknown.
   *
   * *Cancellation*: the signal.
   */
  async waitNews(
    worker: string,
    owner: string,
    deadline: number,
    signal: AbortSignal,
  ): Promise<void> {
    const known = this.#isOfOther(worker, owner) ? undefined : this.#workers.get(worker)
    if (known === undefined || this.#isDraining || deadline <= 0 || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const forget = known.beats.add(resolve)
    const timer = this.#kernel.clock.setTimer(deadline, resolve)
    const stop = (): void => resolve()
    signal.addEventListener('abort', stop, { once: true })
    await promise
    signal.removeEventListener('abort', stop)
    timer.cancel()
    forget()
  }

  /** W4. */
  async leave(id: string, owner: string): Promise<void> {
    const worker = this.#workers.get(id)
    if (worker === undefined || worker.identity.owner !== owner) return
    worker.isLeaving = true
    worker.leaves++
    worker.claims.wake()
    const leases = [...worker.leases]
    for (const lease of leases) {
      this.book.close(lease, lease.state === 'offered' ? 'not_accepted' : 'handed_back')
    }
    await Promise.allSettled(leases.map(({ work }) => work.saved()))
    if (worker.leases.size === 0) this.#forget(worker)
  }

  /** W10: a lease of the worker has ended at another server, which this one has sent the report on to. */
  freePlace(id: string, owner: string): void {
    const worker = this.#workers.get(id)
    if (worker !== undefined && worker.identity.owner === owner) this.#freePlace(worker)
  }

  /** Work has arrived: waiting claims are checked in this turn of the loop (W3). */
  wake(): void {
    this.desk.wake()
  }

  /** Summary of one tenant; of all when undefined. */
  summary(tenant?: string): FleetSummary {
    if (tenant !== undefined) {
      return {
        ...this.groups.counts(tenant),
        waiting: this.desk.waitingOf(tenant),
        ...this.book.countsOf(tenant),
        jobs_waiting: this.#jobs?.waitingOf(tenant) ?? 0,
      }
    }
    const { offered, held, active, granted, closed } = this.book.stats()
    return {
      workers: this.#workers.size,
      active,
      waiting: this.desk.waiting,
      offered,
      held,
      granted,
      closed,
      jobs_waiting: this.#jobs?.waiting ?? 0,
    }
  }

  // ── Choosing ──────────────────────────────────────────────────────────────────────────────────

  #choose(worker: FleetWorker, request: string): Lease | Refusal {
    const refusal = this.#refusal(worker)
    if (refusal !== undefined) return refusal
    const job = this.#jobs?.take(worker)
    if (job !== undefined && !('reason' in job)) {
      const work = this.#jobs!.workOf(job)
      return this.#offer({ work, worker, start: 0, size: 1 }, request, (lease) =>
        this.#jobs!.offered(lease, job),
      )
    }
    if (worker.isSuspect) return suspect(worker)
    const campaign = chooseCampaign(this.#campaigns?.offering() ?? [], worker, this.#kernel.random)
    if ('reason' in campaign) {
      const isJobNearer = job !== undefined && campaign.reason === 'no_work'
      return isJobNearer && campaign.isPersonal !== true ? job : campaign
    }
    const range = campaign.take(worker)
    if (range === undefined) return { reason: 'no_work', message: 'no units are open' }
    worker.lastWork = campaign.id
    return this.#offer({ work: campaign, worker, ...range }, request, (lease) =>
      campaign.offered(lease),
    )
  }

  #offer(
    init: { work: Work; worker: FleetWorker; start: number; size: number },
    request: string,
    offered: (lease: Lease) => void,
  ): Lease {
    const lease = this.book.offer(init, request)
    offered(lease)
    return lease
  }

  #refusal(worker: FleetWorker): Refusal | undefined {
    const { address } = worker.identity
    if (worker.isLeaving) {
      return { reason: 'limit', message: 'the worker is leaving', isPersonal: true }
    }
    const leases = this.book.leasesFrom(address)
    if (leases < this.#leasesPerAddress) return undefined
    const message = `${leases} leases are held from ${address}, the limit is ${this.#leasesPerAddress}`
    return { reason: 'limit', message, retryAfter: 10_000, isPersonal: true }
  }

  #hasWork(): boolean {
    if ((this.#jobs?.waiting ?? 0) > 0) return true
    for (const campaign of this.#campaigns?.offering() ?? [])
      if (campaign.openUnits > 0) return true
    return false
  }

  #otherOfName(worker: FleetWorker, now: number): FleetWorker | undefined {
    const other = this.#names.get(nameKey(worker))
    const isOther = other !== undefined && other !== worker && other.leases.size > 0
    return isOther && now - other.seenAt <= this.#nameFor ? other : undefined
  }

  /** L5: leases whose accept was answered, but the answer never arrived. */
  #closeOrphans(worker: FleetWorker, holds: readonly string[]): void {
    for (const lease of worker.leases) {
      if (lease.state === 'held' && !holds.includes(lease.id)) this.book.close(lease, 'not_held')
    }
  }

  /**
   * Whether this server can say that a lease has ended: it owns the shard, and has read its leases. A beat is also sent on to a server
   * that was started again at the address of an owner that died.
   */
  answersFor(lease: string): boolean {
    try {
      this.#checkOwner({ lease })
      return true
    } catch (error) {
      if (isError(error, 'HDL_NOT_OWNER')) return false
      throw error
    }
  }

  /** L12: a server that is not sure of the shard says so, and the worker asks again. */
  #checkOwner({ lease }: Pick<LeaseCall, 'lease'>): void {
    const work = lease.slice(0, lease.lastIndexOf('.'))
    if (work.startsWith('j-')) this.#jobs?.checkOwner(work)
    else this.#campaigns?.checkOwner(work)
  }

  #findWork(id: string): Work | undefined {
    return this.#jobs?.find(id) ?? this.#campaigns?.get(id)
  }

  #onClosed(lease: Lease, why: CloseReason): void {
    const { work, worker } = lease
    if (why === 'stale') this.#lost?.add(lease)
    if (why === 'invalid_report' && isCampaign(work)) {
      this.#failedIn(work, lease)
      if (lease.done === 0) work.failedToStart(worker, 'its report was invalid')
    }
    if (why === 'finished' && isJobs(work)) worker.failures.clear()
    if (worker.isLeaving && worker.leases.size === 0) this.#forget(worker)
    this.#freePlace(worker)
  }

  /** W5, P11. */
  #failedIn({ id, spec }: Campaign, { worker, done }: Lease): void {
    worker.failedIn(id, spec.owner)
    worker.rest(id, this.now(), done > 0)
  }

  /** W10: a lease of it has ended, at whichever server. */
  #freePlace(worker: FleetWorker): void {
    if (worker.description.full === undefined) return
    worker.freed++
    worker.claims.wake()
  }

  /** W1: forgets a worker that has nothing here, in the order of first contact; a few are looked at with each that comes. */
  #forgetIdle(added: FleetWorker): void {
    for (let left = lookedAtOnce; left > 0 && this.#workers.size > this.#mostWorkers; left--) {
      const { done, value: worker } = this.#looked.next()
      if (done === true) this.#looked = this.#workers.values()
      else if (worker !== added && worker.isIdle) this.#forget(worker)
    }
  }

  #forget(worker: FleetWorker): void {
    this.#workers.delete(worker.id)
    this.groups.remove(worker)
    if (this.#names.get(nameKey(worker)) === worker) this.#names.delete(nameKey(worker))
  }
}

/** Workers that are looked at for one that may be forgotten: those that come cost the same, however many are busy. */
const lookedAtOnce = 4

function nameKey({ name, identity }: FleetWorker): string {
  return `${identity.owner} ${name}`
}

export function isCampaign(work: Work): work is Campaign {
  return 'spec' in work
}

function isJobs(work: Work): work is JobShard {
  return 'isJobs' in work
}

function suspect({ failures }: FleetWorker): Refusal {
  const message = `this worker failed in ${failures.size} campaigns of different owners; repair it, or ask an operator to clear it`
  return { reason: 'blocked', message, isPersonal: true }
}

/** The campaign of a lease. @throws `HDL_UNKNOWN_CAMPAIGN` for the lease of a job. */
export function campaignOf(lease: Lease): Campaign {
  if (isCampaign(lease.work)) return lease.work
  throw new HeddleError('HDL_UNKNOWN_CAMPAIGN', { campaign: lease.work.id })
}
