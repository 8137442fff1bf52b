/**
 * How the results of a campaign came about: the test over time, the parameters over time, the results of each worker.
 *
 * The test and the workers are made from the closed leases, so they are the same after a restart and on every server;
 * the parameters are sampled while this server runs the campaign, because only the last ones are kept.
 *
 *  H1  At most `mostLeases` leases are read for an answer, the newest; earlier leases form the first point.
 *  H2  At most `mostPoints` points are kept: of a longer history every second one.
 *  H3  Equal questions within `answerAge` share one answer.
 */
import {
  Life,
  type Clock,
  type ServiceState,
  type StopOptions,
  type Tables,
  type Timer,
} from '@heddle/core/lowlevel'
import type { Campaign } from '../campaigns/campaign.ts'
import type { CampaignState } from '../campaigns/campaign-state.ts'
import type { Campaigns } from '../campaigns/campaigns.ts'
import type { CampaignSpec } from '../campaigns/campaign-spec.ts'
import { readClosedLeases, type LeaseRecord } from '../campaigns/records.ts'
import { logLikelihoodRatio } from '../campaigns/statistics/likelihood.ts'
import { sprtBounds } from '../campaigns/statistics/sprt.ts'
import { residualOf } from './residual.ts'

const mostLeases = 20_000
const pageSize = 1_000
const mostPoints = 200
const mostWorkers = 500
const mostShown = 100
/** Milliseconds. */
const answerAge = 2_000
const sampleEvery = 5_000

interface WorkerHistory {
  /** Its name: processes come and go, a machine keeps its name. */
  readonly worker: string
  readonly leases: number
  readonly done: number
  readonly failed: number
  readonly residual: number | null
}

interface LeaseView {
  readonly lease: string
  readonly worker: string
  readonly units: number
  readonly done: number
  readonly closed: string
  readonly excluded: string
  readonly granted_at: number
  readonly seen_at: number
}

export interface HistoryView {
  /** Columns of equal length. */
  readonly test: {
    readonly at: number[]
    readonly done: number[]
    readonly llr: number[]
    readonly lower: number
    readonly upper: number
  } | null
  readonly parameters: {
    readonly names: string[]
    readonly at: number[]
    /** A list of values for each name. */
    readonly values: number[][]
  } | null
  readonly workers: WorkerHistory[]
  /** Newest first. */
  readonly leases: LeaseView[]
  /** Leases that were not read. */
  readonly left_out: number
}

interface Subject {
  readonly id: string
  readonly spec: CampaignSpec
  readonly lastLease: number
  readonly done: number
  readonly total: unknown
}

export function subjectOf(campaign: Campaign): Subject {
  const { id, spec, leases, done, total } = campaign
  return { id, spec, lastLease: leases, done, total }
}

export function subjectOfState(id: string, spec: CampaignSpec, state: CampaignState): Subject {
  return { id, spec, lastLease: state.lastLease, done: state.done, total: state.total }
}

interface Proposal {
  readonly parameters?: readonly { readonly name: string; readonly value: number }[]
}

export class CampaignHistory {
  readonly #tables: Tables
  readonly #clock: Clock
  readonly #answers = new Map<
    string,
    { readonly at: number; readonly view: Promise<HistoryView> }
  >()
  readonly #parameters = new Map<string, ParameterSamples>()
  readonly #campaigns: Pick<Campaigns, 'offering'>
  #timer: Timer | undefined
  readonly #life: Life

  /** Samples parameters of the campaigns that run here between start() and stop(). */
  constructor(tables: Tables, clock: Clock, campaigns: Pick<Campaigns, 'offering'>) {
    this.#tables = tables
    this.#clock = clock
    this.#campaigns = campaigns
    this.#life = new Life({
      what: 'The history of campaigns',
      clock,
      deadline: 1_000,
      start: () => this.#look(),
      stop: () => this.#timer?.cancel(),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState } {
    return { state: this.#life.state }
  }

  #look(): void {
    for (const campaign of this.#campaigns.offering()) this.sample(campaign)
    this.#timer = this.#clock.setTimer(sampleEvery, () => this.#look())
  }

  sample(campaign: Campaign): void {
    const proposal: Proposal | undefined = campaign.describeProposal()
    if (proposal?.parameters === undefined) return
    let samples = this.#parameters.get(campaign.id)
    if (samples === undefined) this.#parameters.set(campaign.id, (samples = new ParameterSamples()))
    samples.add(this.#clock.wallTime(), proposal.parameters)
    if (this.#parameters.size > 200) this.#parameters.delete(this.#parameters.keys().next().value!)
  }

  /** *Cancellation*: none; it waits for the store. */
  read(subject: Subject): Promise<HistoryView> {
    const now = this.#clock.now()
    const known = this.#answers.get(subject.id)
    if (known !== undefined && now - known.at < answerAge) return known.view
    const view = this.#read(subject)
    this.#answers.delete(subject.id)
    this.#answers.set(subject.id, { at: now, view })
    view.catch(() => this.#answers.delete(subject.id))
    if (this.#answers.size > 50) this.#answers.delete(this.#answers.keys().next().value!)
    return view
  }

  async #read(subject: Subject): Promise<HistoryView> {
    const leftOut = Math.max(0, subject.lastLease - mostLeases)
    const leases: LeaseRecord[] = []
    for (let from = leftOut + 1; ;) {
      const page = await readClosedLeases(this.#tables, subject.id, from, pageSize)
      leases.push(...page)
      if (page.length < pageSize) break
      from = page.at(-1)!.number + 1
    }
    const counted = leases
      .filter((lease) => lease.excluded === '' && lease.sequence > 0)
      .map((lease) => ({ lease, counts: countsOf(lease.result) }))
      .toSorted((a, b) => a.lease.seenAt - b.lease.seenAt)
    return {
      test: testOver(subject, counted, leftOut > 0),
      parameters: this.#parameters.get(subject.id)?.view() ?? null,
      workers: workersOf(leases, totalOf(subject.total)),
      leases: leases.slice(-mostShown).toReversed().map(leaseView),
      left_out: leftOut,
    }
  }
}

interface Counted {
  readonly lease: LeaseRecord
  readonly counts: readonly number[] | undefined
}

function testOver(
  subject: Subject,
  counted: readonly Counted[],
  isCut: boolean,
): HistoryView['test'] {
  const { rule } = subject.spec
  const total = totalOf(subject.total)
  if (rule?.kind !== 'sprt' || total === undefined) return null
  const { elo0, elo1, model = 'normalized' } = rule
  const sum = total.map(() => 0)
  if (isCut) {
    for (const [index, count] of total.entries()) sum[index] = count
    for (const { counts } of counted) counts?.forEach((count, index) => (sum[index]! -= count))
  }
  const at: number[] = []
  const done: number[] = []
  const llr: number[] = []
  const stride = Math.max(1, Math.ceil(counted.length / mostPoints))
  for (const [index, { lease, counts }] of counted.entries()) {
    counts?.forEach((count, place) => (sum[place]! += count))
    if ((index + 1) % stride !== 0 && index < counted.length - 1) continue
    at.push(lease.seenAt)
    done.push(sum.reduce((before, count) => before + count, 0))
    llr.push(logLikelihoodRatio(sum, elo0, elo1, model))
  }
  const { lower, upper } = sprtBounds(rule)
  return { at, done, llr, lower, upper }
}

interface Delivered {
  leases: number
  done: number
  failed: number
  readonly counts: number[]
}

function workersOf(
  leases: readonly LeaseRecord[],
  total: readonly number[] | undefined,
): WorkerHistory[] {
  const found = new Map<string, Delivered>()
  for (const lease of leases) {
    if (lease.excluded !== '') continue
    const { description } = JSON.parse(lease.holder) as { description: { name: string } }
    const known = found.get(description.name) ?? { leases: 0, done: 0, failed: 0, counts: [] }
    found.set(description.name, known)
    known.leases++
    known.done += lease.done
    if (lease.done < lease.size) known.failed++
    countsOf(lease.result)?.forEach((count, index) => {
      known.counts[index] = (known.counts[index] ?? 0) + count
    })
  }
  return [...found]
    .toSorted(([, a], [, b]) => b.done - a.done)
    .slice(0, mostWorkers)
    .map(([worker, { counts, ...figures }]) => ({
      worker,
      ...figures,
      residual: total === undefined ? null : residualOf(counts, total),
    }))
}

function leaseView(lease: LeaseRecord): LeaseView {
  const { description } = JSON.parse(lease.holder) as { description: { name: string } }
  return {
    lease: lease.id,
    worker: description.name,
    units: lease.size,
    done: lease.done,
    closed: lease.closed,
    excluded: lease.excluded,
    granted_at: lease.grantedAt,
    seen_at: lease.seenAt,
  }
}

function countsOf(result: string): readonly number[] | undefined {
  return result === '' ? undefined : totalOf(JSON.parse(result))
}

function totalOf(value: unknown): readonly number[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === 'number') ? value : undefined
}

/** Values of parameters over time, thinned (H2). */
class ParameterSamples {
  #names: string[] = []
  #at: number[] = []
  #rows: number[][] = []
  #stride = 1
  #skipped = 0

  add(at: number, parameters: readonly { readonly name: string; readonly value: number }[]): void {
    this.#names = parameters.map(({ name }) => name)
    if (++this.#skipped < this.#stride && this.#at.length > 0) return
    this.#skipped = 0
    this.#at.push(at)
    this.#rows.push(parameters.map(({ value }) => value))
    if (this.#at.length <= mostPoints) return
    this.#at = this.#at.filter((_, index) => index % 2 === 0)
    this.#rows = this.#rows.filter((_, index) => index % 2 === 0)
    this.#stride *= 2
  }

  view(): NonNullable<HistoryView['parameters']> {
    const names = [...this.#names]
    return {
      names,
      at: [...this.#at],
      values: names.map((_, i) => this.#rows.map((row) => row[i]!)),
    }
  }
}
