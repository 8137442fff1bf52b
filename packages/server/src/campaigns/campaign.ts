/**
 * One campaign on its owner: its open units, its counts, and the rows it must write. Rules P1 to P8, and L3,
 * L5, L9 to L11 for its leases: docs/design/fleet.md.
 *
 * A unit is in one place at a time:
 *
 *     open ──offer──▶ in an offer ──accept──▶ in a lease ──report──▶ counted
 *       ▲                 │                       │                     │
 *       └── not accepted ─┘◀── the rest, durable ─┘◀──── excluded ──────┘
 */
import type { Kernel, TableRow } from '@heddle/core/lowlevel'
import { isError } from '@heddle/core'
import type { FleetWorker, Refusal } from '../fleet/fleet-worker.ts'
import { readHolder } from '../fleet/job-records.ts'
import {
  Lease,
  leaseId,
  type ClosedLease,
  type CloseReason,
  type LeaseTimes,
  type Report,
  type ReportOutcome,
  type Work,
} from '../fleet/lease.ts'
import { CampaignDue } from './campaign-due.ts'
import { refusalOf } from './campaign-refusal.ts'
import type { CampaignSpec } from './campaign-spec.ts'
import {
  readSpec,
  type CampaignEnd,
  type CampaignParts,
  type CampaignPhase,
  type CampaignState,
  type CodeTrouble,
} from './campaign-state.ts'
import { CampaignTotals } from './campaign-totals.ts'
import type { DecisionRule, Proposer, Reducer } from './campaign-parts.ts'
import {
  campaignEnded,
  campaignSaved,
  leaseSaved,
  type CampaignRecord,
  type LeaseRecord,
} from './records.ts'
import { SaveLoop } from './save-loop.ts'
import { Throughput } from './throughput.ts'
import { UnitRanges, type UnitRange } from './unit-ranges.ts'

export interface CampaignHost {
  readonly kernel: Kernel
  /** @throws `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`. */
  write(rows: readonly TableRow[]): Promise<void>
  /** Units became open, or the campaign ended. */
  changed(campaign: Campaign): void
  /** The leases of a campaign that has ended are closed. */
  closeLeases(campaign: Campaign): void
  closedLease(id: string): Promise<LeaseRecord | undefined>
}

/** P6. */
const mostStartFailures = 5
const fewStartFailures = 3

export class Campaign implements Work {
  readonly id: string
  readonly spec: CampaignSpec
  readonly epoch: number
  readonly createdAt: number
  readonly times: LeaseTimes
  readonly #record: CampaignRecord
  readonly #host: CampaignHost
  readonly #reducer: Reducer
  readonly #rule: DecisionRule
  readonly #proposer: Proposer | undefined
  readonly #trouble: CodeTrouble | undefined
  readonly #ranges: UnitRanges
  readonly #saves: SaveLoop
  #phase: CampaignPhase
  #end: CampaignEnd | undefined
  #lastLease: number
  readonly #totals: CampaignTotals
  readonly #throughput: Throughput
  /** Leases that the store does not have yet: in the saved row their units count as returned. */
  readonly #unsaved = new Set<Lease>()
  #due = new CampaignDue()
  #isEndSaved = false
  readonly #startFailures = new Map<string, string>()
  /** Numbers of leases that were taken out since this server has the campaign: people do that, so they are few. */
  readonly #excluded = new Set<number>()
  readonly #watches = new Set<ClosedResult[]>()
  #workers = 0
  #threads = 0
  #speed: number | undefined

  constructor(record: CampaignRecord, epoch: number, parts: CampaignParts, host: CampaignHost) {
    const state = JSON.parse(record.state) as CampaignState
    this.#record = record
    this.id = record.id
    this.spec = readSpec(record.spec)
    this.epoch = epoch
    this.createdAt = record.createdAt
    this.#host = host
    const { beat, stale, idleBeats } = this.spec
    this.times = { beat, stale, idleBeats }
    this.#reducer = parts.reducer
    this.#rule = parts.rule(state.rule)
    this.#proposer = parts.proposer(state.proposal)
    this.#trouble = parts.trouble
    this.#ranges = new UnitRanges(state.quota, state.next, state.returned)
    this.#phase = state.phase
    this.#end = state.ended
    this.#isEndSaved = record.ended
    this.#lastLease = state.lastLease
    this.#totals = new CampaignTotals(parts.reducer, state)
    this.#throughput = new Throughput(host.kernel.clock)
    this.#saves = new SaveLoop({
      kernel: host.kernel,
      write: () => this.#writeDue(),
      isDue: () => !this.#due.isEmpty,
    })
  }

  // ── What it is ────────────────────────────────────────────────────────────────────────────────

  get phase(): CampaignPhase {
    return this.#phase
  }

  get ended(): CampaignEnd | undefined {
    return this.#end
  }

  /** Units that are counted. */
  get done(): number {
    return this.#totals.done
  }

  get quota(): number {
    return this.#ranges.quota
  }

  get openUnits(): number {
    return this.#ranges.open
  }

  get total(): unknown {
    return this.#totals.total
  }

  get workers(): number {
    return this.#workers
  }

  /** Threads of the workers that hold its leases. */
  get threads(): number {
    return this.#threads
  }

  get leases(): number {
    return this.#lastLease
  }

  get excluded(): number {
    return this.#totals.excluded
  }

  get isSaved(): boolean {
    return this.#saves.isIdle
  }

  /** Units per second, averaged over about a minute. */
  get throughput(): number {
    return this.#throughput.perSecond
  }

  /** Milliseconds until the quota is reached at the present rate; undefined when nothing moves. */
  get timeLeft(): number | undefined {
    const { throughput } = this
    return throughput > 0 ? ((this.quota - this.done) / throughput) * 1_000 : undefined
  }

  get view(): { total: unknown; done: number; quota: number } {
    return { total: this.total, done: this.done, quota: this.quota }
  }

  describeRule(): object {
    return this.#rule.describe(this.view)
  }

  describeProposal(): object | undefined {
    return this.#proposer?.describe()
  }

  // ── Handing out ───────────────────────────────────────────────────────────────────────────────

  /** Why this worker cannot have a lease of it; undefined when it can. */
  refusal(worker: FleetWorker): Refusal | undefined {
    if (this.#phase !== 'running' || this.openUnits < 1) return noWork
    return refusalOf(this.spec, worker) ?? this.#restOf(worker)
  }

  /** P11. */
  #restOf(worker: FleetWorker): Refusal | undefined {
    const retryAfter = worker.restOf(this.id, this.#host.kernel.clock.now())
    if (retryAfter === 0) return undefined
    const message = `campaign ${this.spec.name} failed on this worker, which gets it again in ${Math.ceil(retryAfter / 1_000)} s`
    return { reason: 'no_work', message, retryAfter, isPersonal: true }
  }

  /** Takes units for a lease of this worker; undefined when none is open. */
  take(worker: FleetWorker): UnitRange | undefined {
    const range = this.#ranges.take(this.leaseSize(worker))
    if (range === undefined) return undefined
    this.#workers++
    this.#threads += worker.threads
    return range
  }

  /** P1. */
  leaseSize(worker: FleetWorker): number {
    const { batch, leaseTime } = this.spec
    const speed = worker.speeds.get(this.id) ?? this.#speed
    const wanted = speed === undefined ? 1 : (speed * worker.threads * leaseTime) / 1_000
    const fair = Math.ceil(this.openUnits / (this.#workers + 1))
    const batches = Math.floor(Math.min(wanted, fair) / batch)
    return Math.max(1, batches) * batch
  }

  // ── Work: calls of the lease book ────────────────────────────────────────────────────────────

  nextLease(): number {
    return ++this.#lastLease
  }

  describe(lease: Lease): object {
    const { spec } = this
    return {
      campaign: this.id,
      job: spec.job,
      version: spec.version,
      input: spec.input,
      start: lease.start,
      size: lease.size,
      // O2: one call of the job, and one report.
      batch: spec.definition === '' ? spec.batch : lease.size,
      outcomes: spec.outcomes,
      parameters: this.#proposer !== undefined,
    }
  }

  /** The units of an offer are out, but in no row. */
  offered(lease: Lease): void {
    this.#unsaved.add(lease)
  }

  grant(lease: Lease): Promise<void> {
    this.#due.leases.add(lease)
    return this.#saves.save()
  }

  /** P8: parameters for the next report of a lease. */
  propose(lease: Lease): unknown {
    const parameters = this.#proposer?.propose(lease.number, lease.start + lease.done)
    this.#endInTrouble()
    return parameters
  }

  report(lease: Lease, given: Report): ReportOutcome {
    const report = given.result === undefined ? { ...given, result: null } : given
    const problem = this.#problemWith(lease, report)
    if (problem !== undefined) return { kind: 'closed', why: 'invalid_report', problem }
    this.#measure(lease, report)
    this.#learn(lease, report)
    this.#totals.report(lease, report)
    lease.sequence = report.sequence
    lease.done = report.done
    lease.result = report.result
    this.#due.leases.add(lease)
    if (this.#endInTrouble()) return { kind: 'closed', why: 'campaign_ended' }
    if (this.canSubtract && this.#decide()) return { kind: 'closed', why: 'campaign_ended' }
    if (lease.done === lease.size) return { kind: 'closed', why: 'finished' }
    return { kind: 'counted' }
  }

  saved(): Promise<void> {
    return this.#saves.save()
  }

  release(lease: Lease, why: CloseReason, wasOffer: boolean): void {
    this.#workers--
    this.#threads -= lease.threads
    if (wasOffer && !this.#due.leases.has(lease)) {
      // L1: at no cost.
      this.#unsaved.delete(lease)
      this.#giveBack({ start: lease.start, size: lease.size })
      return
    }
    const rest = { start: lease.start + lease.done, size: lease.size - lease.done }
    if (why === 'campaign_ended') {
      this.#ranges.giveBack(rest)
      this.#due.left.push(lease)
    } else {
      this.#due.closing.push({ lease, rest })
      this.#due.leases.add(lease)
    }
    this.#totals.close(lease)
    for (const watch of this.#watches) watch.push(closedResult(lease))
    this.#due.hasState = true
    if (why === 'finished') {
      lease.worker.lastWork = this.id
      lease.worker.hasFinished(this.id)
      this.#startFailures.clear()
    }
    if (this.#phase !== 'ended' && !this.#endInTrouble()) {
      if (!this.canSubtract) this.#decide()
      if (this.done >= this.quota) this.end('quota', `all ${this.quota} units are counted`)
    }
    this.#saves.saveSoon()
  }

  seen(leases: readonly Lease[]): void {
    for (const lease of leases) this.#due.leases.add(lease)
    this.#saves.saveSoon()
  }

  async closedLease(number: number): Promise<ClosedLease | undefined> {
    const record = await this.#host.closedLease(leaseId(this.id, number))
    if (record === undefined) return undefined
    const { closed, sequence, worker, holder, epoch } = record
    const { owner } = readHolder(holder).identity
    return { why: closed, sequence, worker, owner, epoch }
  }

  // ── Steering ──────────────────────────────────────────────────────────────────────────────────

  /** P6: a worker could not start its lease. Ends the campaign when that is not the workers' fault. */
  failedToStart(worker: FleetWorker, reason: string): void {
    if (this.done > 0 || this.#phase === 'ended') return
    // Keyed by name, because a machine that starts its worker again is one machine; names are
    // unique for each owner (W6).
    const { owner } = worker.identity
    this.#startFailures.set(`${owner} ${worker.name}`, owner)
    const failures = this.#startFailures.size
    const owners = new Set(this.#startFailures.values()).size
    if (failures < mostStartFailures && !(failures >= fewStartFailures && owners >= 2)) return
    const last = `${worker.name} at ${worker.identity.address}`
    this.end(
      'cannot_start',
      `${failures} workers could not start it, the last one (${last}): ${reason}`,
    )
  }

  /** False when it has ended already. */
  end(why: CampaignEnd['why'], detail: string): boolean {
    if (this.#phase === 'ended') return false
    this.#phase = 'ended'
    this.#end = { why, detail, at: this.#host.kernel.clock.wallTime() }
    this.#due.hasState = true
    this.#host.closeLeases(this)
    this.#saves.saveSoon()
    this.#host.changed(this)
    return true
  }

  pause(): boolean {
    return this.#setPhase('running', 'paused')
  }

  resume(): boolean {
    return this.#setPhase('paused', 'running')
  }

  setQuota(quota: number): void {
    this.#ranges.setQuota(quota)
    this.#due.hasState = true
    this.#saves.saveSoon()
    this.#host.changed(this)
  }

  /**
   * P5: takes the result of a closed lease out. `others` are all closed leases that count, read by the caller, and are
   * needed only where results cannot be subtracted. False when the lease was taken out before: the record that the caller
   * read may be older than that.
   */
  exclude(record: LeaseRecord, why: string, others: readonly ClosedResult[] = []): boolean {
    if (record.excluded !== '' || this.#excluded.has(record.number)) return false
    this.#excluded.add(record.number)
    const counted = new Map(others.map((each) => [each.number, each]))
    for (const number of this.#excluded) counted.delete(number)
    this.#totals.exclude(record, [...counted.values()])
    this.#due.hasState = true
    const rest = { start: record.start, size: record.done }
    this.#due.excluding.push({ record: { ...record, excluded: why }, rest })
    this.#endInTrouble()
    this.#saves.saveSoon()
    return true
  }

  /**
   * Collects the results of leases that are closed from now on. A reader of all closed leases, which takes several turns, needs
   * these too. stop() ends it.
   */
  watchClosed(): { readonly results: readonly ClosedResult[]; readonly stop: () => void } {
    const results: ClosedResult[] = []
    this.#watches.add(results)
    return { results, stop: () => void this.#watches.delete(results) }
  }

  /** Whether the results of single leases can be taken out without reading the others. */
  get canSubtract(): boolean {
    return this.#totals.canSubtract
  }

  /** A lease that was read from the store. */
  restore(record: LeaseRecord, worker: FleetWorker): Lease {
    const { number, epoch, start, size } = record
    const lease = new Lease({ work: this, number, epoch, worker, start, size })
    lease.sequence = record.sequence
    lease.savedSequence = record.sequence
    lease.isGrantSaved = true
    lease.grantedAt = record.grantedAt
    lease.done = record.done
    if (record.sequence > 0) lease.result = JSON.parse(record.result)
    this.#ranges.remove({ start, size })
    this.#lastLease = Math.max(this.#lastLease, number)
    this.#totals.restore(lease)
    this.#workers++
    this.#threads += worker.threads
    return lease
  }

  /** Another server owns it now, or this one stops. */
  stop(reason: Error): void {
    this.#saves.stop(reason)
  }

  // ── Inside ────────────────────────────────────────────────────────────────────────────────────

  #problemWith(lease: Lease, { done, result }: Report): string | undefined {
    const { batch } = this.spec
    if (done < lease.done) return `${done} units are fewer than the ${lease.done} reported before`
    if (done > lease.size) return `${done} units are more than the lease has (${lease.size})`
    if (done % batch !== 0 && done !== lease.size)
      return `${done} units are not a multiple of ${batch}`
    if (this.#proposer !== undefined && done === lease.done) return 'a step without progress'
    return this.#reducer.check(result, done)
  }

  #decide(): boolean {
    const verdict = this.#rule.observe(this.view)
    if (verdict === undefined) return this.#endInTrouble()
    return this.end('decided', verdict)
  }

  /** O3. */
  #endInTrouble(): boolean {
    const text = this.#trouble?.text
    return text !== undefined && this.end('stopped', text)
  }

  #learn(lease: Lease, report: Report): void {
    if (this.#proposer === undefined) return
    const fresh = this.#totals.fresh(lease, report)
    this.#proposer.learn(lease.number, lease.start + lease.done, fresh)
    this.#due.hasState = true
  }

  #measure(lease: Lease, report: Report): void {
    const now = this.#host.kernel.clock.now()
    const units = report.done - lease.done
    const passed = Math.max(1, now - lease.reportedAt)
    lease.reportedAt = now
    if (units === 0) return
    const speed = (units / passed / lease.worker.threads) * 1_000
    lease.worker.measured(this.id, speed)
    this.#speed = this.#speed === undefined ? speed : this.#speed * 0.9 + speed * 0.1
    this.#throughput.add(units, passed)
  }

  #setPhase(from: CampaignPhase, to: CampaignPhase): boolean {
    if (this.#phase !== from) return false
    this.#phase = to
    this.#due.hasState = true
    this.#saves.saveSoon()
    this.#host.changed(this)
    return true
  }

  #giveBack(range: UnitRange): void {
    this.#ranges.giveBack(range)
    this.#host.changed(this)
  }

  /** One batch: everything that is due. What it contains rests only on itself and on earlier ones. */
  async #writeDue(): Promise<void> {
    const isEnd = this.#phase === 'ended' && !this.#isEndSaved
    const { now, later } = this.#due.split(this.#isEndSaved)
    const leases = [...now.leases]
    const sequences = leases.map(({ sequence }) => sequence)
    const rows: TableRow[] = leases.flatMap((lease) => leaseSaved(this.#leaseRecord(lease)))
    for (const { record } of now.excluding) rows.push(...leaseSaved(record))
    if (now.hasState) rows.push(...this.#stateRows())
    // Later decisions belong to the next batch.
    this.#due = later
    try {
      await this.#host.write(rows)
    } catch (error) {
      this.#due = now.joined(this.#due)
      if (isError(error, 'HDL_OWNERSHIP_LOST')) this.stop(error)
      throw error
    }
    if (isEnd) this.#isEndSaved = true
    for (const [index, lease] of leases.entries()) {
      lease.isGrantSaved = true
      lease.savedSequence = Math.max(lease.savedSequence, sequences[index]!)
      this.#unsaved.delete(lease)
    }
    for (const { rest } of now.closing) this.#giveBack(rest)
    for (const { rest } of now.excluding) this.#giveBack(rest)
    if (this.#due.left.length > 0) this.#saves.saveSoon()
  }

  #stateRows(): TableRow[] {
    const state = JSON.stringify(this.#state())
    if (this.#phase !== 'ended') return [campaignSaved(this.id, state)]
    return campaignEnded({ ...this.#record, state })
  }

  #leaseRecord(lease: Lease): LeaseRecord {
    const { id, number, epoch, worker, start, size, sequence, done } = lease
    const now = this.#host.kernel.clock.wallTime()
    lease.grantedAt ??= now
    const { description, identity } = worker
    return {
      id,
      campaign: this.id,
      number,
      epoch,
      worker: worker.id,
      holder: JSON.stringify({ description: { ...description, jobs: [] }, identity }),
      start,
      size,
      sequence,
      done,
      result: sequence === 0 ? '' : JSON.stringify(lease.result),
      closed: lease.closedWhy ?? '',
      excluded: '',
      grantedAt: lease.grantedAt,
      seenAt: now,
    }
  }

  /** The state to save. Units whose lease has no row in the store yet count as returned. */
  #state(): CampaignState {
    const returned = new UnitRanges(0, 0, this.#ranges.returned)
    for (const { start, size } of this.#unsaved) returned.giveBack({ start, size })
    for (const { rest, lease } of this.#due.closing)
      if (!this.#unsaved.has(lease)) returned.giveBack(rest)
    for (const { rest } of this.#due.excluding) returned.giveBack(rest)
    return {
      phase: this.#phase,
      ...(this.#end === undefined ? {} : { ended: this.#end }),
      quota: this.quota,
      next: this.#ranges.next,
      returned: [...returned.returned],
      lastLease: this.#lastLease,
      ...this.#totals.closed,
      rule: this.#rule.state(),
      proposal: this.#proposer?.state() ?? null,
    }
  }
}

/** The fields in the row of a closed lease. */
export type ClosedResult = Pick<LeaseRecord, 'number' | 'sequence' | 'result'>

function closedResult({ number, sequence, result }: Lease): ClosedResult {
  return { number, sequence, result: sequence === 0 ? '' : JSON.stringify(result) }
}

const noWork: Refusal = { reason: 'no_work', message: 'no units are open' }
