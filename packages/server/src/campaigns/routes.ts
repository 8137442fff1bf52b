import { HeddleError } from '@heddle/core'
import type { ArtifactStore, Tables } from '@heddle/core/lowlevel'
import type { Static } from 'typebox'
import {
  calculate,
  campaignStats,
  createCampaign,
  excludeLease,
  listCampaigns,
  pauseCampaign,
  removeCampaign,
  resumeCampaign,
  showCampaign,
  stopCampaign,
  type CampaignBody,
} from '../client/contract/campaigns.ts'
import type { Caller } from '../http/caller.ts'
import type { Room } from '../http/room.ts'
import { checkNesting } from '../http/nesting.ts'
import { route } from '../http/route.ts'
import { maySee, tenantsOf } from '../http/tenancy.ts'
import { anyWorker, campaignSpec, type CampaignSpec } from './campaign-spec.ts'
import type { CampaignParts, CampaignState } from './campaign-state.ts'
import type { Campaign, ClosedResult } from './campaign.ts'
import type { Campaigns } from './campaigns.ts'
import {
  readCampaign,
  readCampaigns,
  readClosedLeases,
  readLease,
  type CampaignRecord,
  type LeaseRecord,
} from './records.ts'
import { estimateBayesSprt } from './statistics/bayes-elo.ts'
import { estimateElo } from './statistics/elo.ts'
import { estimateSprt, sprtState } from './statistics/sprt.ts'

/** Its owner has the newest state, and is the only one that changes it. */
const ownedBy = ({ params }: { readonly params: { readonly id: string } }): string => params.id

export function campaignRoutes(
  campaigns: Campaigns,
  tables: Tables,
  ready: () => Promise<void>,
  partsOf: (spec: CampaignSpec) => CampaignParts,
  artifacts: Pick<ArtifactStore, 'remove'> | undefined,
): Room['routes'] {
  /** A campaign of the caller's tenant that runs here. @throws `HDL_UNKNOWN_CAMPAIGN`. */
  const own = async (id: string, caller: Caller): Promise<Campaign> => {
    await ready()
    const campaign = campaigns.get(id)
    if (campaign === undefined || !maySee(caller, campaign.spec.tenant)) throw unknown(id)
    return campaign
  }
  /** Also one that has ended. */
  const view = async (id: string, caller: Caller): Promise<CampaignView> => {
    await ready()
    const campaign = campaigns.get(id)
    if (campaign !== undefined && maySee(caller, campaign.spec.tenant)) return viewOf(campaign)
    const record = campaign === undefined ? await readCampaign(tables, id) : undefined
    if (record === undefined || !maySee(caller, record.tenant)) throw unknown(id)
    return viewOfRecord(record)
  }
  return [
    route(createCampaign, async ({ body, caller, reply }) => {
      await ready()
      const campaign = await campaigns.create(specOf(body, caller))
      reply.code(201)
      return viewOf(campaign)
    }),
    route(listCampaigns, async ({ query, caller }) => {
      await ready()
      const { before = Infinity, limit = 50 } = query
      const records = await readCampaigns(tables, tenantsOf(caller), before, limit)
      return { campaigns: records.map((record) => viewNow(campaigns, record)) }
    }),
    route(showCampaign, ({ params, caller }) => view(params.id, caller), {
      ownedBy,
      tenancy: 'handler',
    }),
    route(
      campaignStats,
      async ({ params, caller }) => {
        const campaign = await view(params.id, caller)
        const here = campaigns.get(params.id)
        const proposal = here?.describeProposal()
        const rule = here?.describeRule() ?? (await describeEnded(tables, params.id, partsOf))
        return { campaign, rule, ...(proposal === undefined ? {} : { proposal }) }
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(
      stopCampaign,
      async ({ params, caller, body }) => {
        const campaign = await own(params.id, caller)
        campaign.end('stopped', body.reason ?? `by ${caller.name}`)
        await campaign.saved()
        return viewOf(campaign)
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(
      pauseCampaign,
      async ({ params, caller }) => {
        const campaign = await own(params.id, caller)
        campaign.pause()
        await campaign.saved()
        return viewOf(campaign)
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(
      resumeCampaign,
      async ({ params, caller }) => {
        const campaign = await own(params.id, caller)
        campaign.resume()
        await campaign.saved()
        return viewOf(campaign)
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(
      excludeLease,
      async ({ params, caller, body }) => {
        const campaign = await own(params.id, caller)
        await exclude(campaign, tables, body.lease, body.reason)
        return viewOf(campaign)
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(
      removeCampaign,
      async ({ params, caller }) => {
        const { phase } = await view(params.id, caller)
        if (phase !== 'ended') throw badInput('campaign', 'it has not ended: stop it first')
        const bytes = (await artifacts?.remove(params.id)) ?? 0
        return { leases: await campaigns.remove(params.id), artifact_bytes: bytes }
      },
      { ownedBy, tenancy: 'handler' },
    ),
    route(calculate, ({ body }) => {
      const { results, elo0, elo1, model = 'normalized', alpha = 0.05, beta = 0.05 } = body
      if (results.length === 4) {
        throw badInput('results', 'expected 3 counts of games or 5 of pairs')
      }
      if (model === 'bayes' && results.length !== 3) {
        throw badInput('model', 'bayes is for single games: 3 counts')
      }
      const { elo, error, interval, los } = estimateElo(results)
      const plain = { elo, error, interval: [...interval], los }
      if (elo0 === undefined || elo1 === undefined) return plain
      if (elo0 >= elo1) throw badInput('elo1', `expected more than elo0, which is ${elo0}`)
      const options = { elo0, elo1, alpha, beta }
      const sprt =
        model === 'bayes'
          ? estimateBayesSprt(results, options)
          : estimateSprt(results, { ...options, model })
      const state = sprtState(sprt.llr, sprt, undefined)
      return { ...plain, sprt: { ...sprt, interval: [...sprt.interval], state } }
    }),
  ]
}

function badInput(what: string, problem: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what, problem })
}

function unknown(campaign: string): HeddleError {
  return new HeddleError('HDL_UNKNOWN_CAMPAIGN', { campaign })
}

/** P5: only a closed lease can be taken out, and only once. */
async function exclude(campaign: Campaign, tables: Tables, id: string, why: string): Promise<void> {
  const record = await readLease(tables, id)
  if (record?.campaign !== campaign.id || record.closed === '') {
    throw badInput('lease', `${id} is not a closed lease of this campaign`)
  }
  const isNew = campaign.canSubtract
    ? excludeNow(campaign, record, why)
    : await excludeAmong(campaign, tables, record, why)
  if (!isNew) throw badInput('lease', `${id} was excluded before`)
  await campaign.saved()
}

/** Checked in the same turn: the campaign may end while its leases are read, and an ended one hands out no units again. */
function excludeNow(
  campaign: Campaign,
  record: LeaseRecord,
  why: string,
  others?: readonly ClosedResult[],
): boolean {
  if (campaign.phase === 'ended') throw badInput('campaign', 'it has ended')
  return campaign.exclude(record, why, others)
}

/** The total of all other leases: those in the store, and those that end during the read. */
async function excludeAmong(
  campaign: Campaign,
  tables: Tables,
  record: LeaseRecord,
  why: string,
): Promise<boolean> {
  const recent = campaign.watchClosed()
  try {
    await campaign.saved()
    const others = await otherLeases(tables, record)
    return excludeNow(campaign, record, why, [...others, ...recent.results])
  } finally {
    recent.stop()
  }
}

/** All closed leases that count but this one. */
async function otherLeases(tables: Tables, excluded: LeaseRecord): Promise<readonly LeaseRecord[]> {
  const all: LeaseRecord[] = []
  for (let from = 0; ; from = all.at(-1)!.number + 1) {
    const page = await readClosedLeases(tables, excluded.campaign, from, 1_000)
    all.push(...page)
    if (page.length < 1_000) break
  }
  return all.filter((each) => each.id !== excluded.id && each.excluded === '')
}

interface CampaignView {
  id: string
  name: string
  owner: string
  job: string
  version: string
  phase: 'running' | 'paused' | 'ended'
  ended?: { why: string; detail: string; at: number }
  created_at: number
  units: number
  done: number
  open: number
  total: unknown
  outcomes: string[]
  workers: number
  leases: number
  excluded: number
  units_per_second: number
  time_left_ms?: number
}

function viewNow(campaigns: Campaigns, record: CampaignRecord): CampaignView {
  const here = campaigns.get(record.id)
  return here === undefined ? viewOfRecord(record) : viewOf(here)
}

function viewOf(campaign: Campaign): CampaignView {
  const { id, spec, phase, ended, createdAt, quota, done, total, workers, timeLeft } = campaign
  return {
    ...fixed(id, spec, createdAt),
    phase,
    ...(ended === undefined ? {} : { ended }),
    units: quota,
    done,
    open: campaign.openUnits,
    total,
    workers,
    leases: campaign.leases,
    excluded: campaign.excluded,
    units_per_second: campaign.throughput,
    ...(timeLeft === undefined || phase === 'ended' ? {} : { time_left_ms: Math.round(timeLeft) }),
  }
}

function viewOfRecord(record: CampaignRecord): CampaignView {
  const spec = JSON.parse(record.spec) as CampaignSpec
  const state = JSON.parse(record.state) as CampaignState
  return {
    ...fixed(record.id, spec, record.createdAt),
    phase: state.phase,
    ...(state.ended === undefined ? {} : { ended: state.ended }),
    units: state.quota,
    done: state.done,
    open: 0,
    total: state.total,
    workers: 0,
    leases: state.lastLease,
    excluded: state.excluded,
    units_per_second: 0,
  }
}

function fixed(id: string, spec: CampaignSpec, createdAt: number) {
  const { name, owner, job, version, outcomes } = spec
  return { id, name, owner, job, version, created_at: createdAt, outcomes: [...outcomes] }
}

async function describeEnded(
  tables: Tables,
  id: string,
  partsOf: (spec: CampaignSpec) => CampaignParts,
): Promise<object> {
  const record = await readCampaign(tables, id)
  if (record === undefined) throw unknown(id)
  const spec = JSON.parse(record.spec) as CampaignSpec
  const { rule, total, done, quota } = JSON.parse(record.state) as CampaignState
  // The module may have lost the definition since.
  if (spec.definition !== '') return { kind: 'own', definition: spec.definition }
  return partsOf(spec).rule(rule).describe({ total, done, quota })
}

/** @throws `HDL_BAD_INPUT`. */
function specOf(body: Static<typeof CampaignBody>, caller: Caller): CampaignSpec {
  const { rule, proposal, needs = {}, batch = 1, definition = '' } = body
  if (definition !== '' && (rule ?? proposal ?? body.outcomes) !== undefined) {
    throw badInput('definition', 'a campaign has a definition, or a rule, outcomes and a proposal')
  }
  const outcomes = body.outcomes ?? (rule?.kind === 'sprt' ? ['LL', 'LD', 'DD', 'WD', 'WW'] : [])
  if (rule?.kind === 'sprt') {
    if (rule.elo0 >= rule.elo1) throw badInput('rule.elo1', 'expected more than elo0')
    if (outcomes.length !== 3 && outcomes.length !== 5) {
      throw badInput('outcomes', 'a test needs 3 counts of games or 5 of pairs')
    }
  }
  if (new Set(outcomes).size < outcomes.length) throw badInput('outcomes', 'each name stands once')
  if ((needs.min_threads ?? 1) > (needs.max_threads ?? Infinity)) {
    throw badInput('needs.max_threads', 'expected at least min_threads')
  }
  checkNesting('input', body.input)
  if (proposal !== undefined && outcomes.length !== 3 && outcomes.length !== 5) {
    throw badInput('outcomes', 'tuning needs 3 counts of games or 5 of pairs')
  }
  if (body.stale_ms !== undefined && body.stale_ms <= (body.beat_ms ?? 120_000)) {
    throw badInput('stale_ms', 'expected more than the time between two beats')
  }
  return campaignSpec({
    name: body.name,
    owner: caller.id,
    tenant: caller.tenant,
    job: body.job,
    units: body.units,
    batch,
    outcomes,
    definition,
    input: body.input ?? null,
    ...(body.version === undefined ? {} : { version: body.version }),
    ...(rule === undefined ? {} : { rule }),
    ...(proposal === undefined ? {} : { proposal: proposalOf(proposal, body.units) }),
    ...(body.priority === undefined ? {} : { priority: body.priority }),
    ...(body.weight === undefined ? {} : { weight: body.weight }),
    needs: {
      capabilities: needs.capabilities ?? [],
      tags: needs.tags ?? [],
      memory: needs.memory ?? 0,
      minThreads: needs.min_threads ?? 1,
      maxThreads: needs.max_threads ?? anyWorker.maxThreads,
      system: needs.system ?? '*',
    },
    ...(body.lease_ms === undefined ? {} : { leaseTime: body.lease_ms }),
    ...(body.beat_ms === undefined ? {} : { beat: body.beat_ms }),
    ...(body.stale_ms === undefined ? {} : { stale: body.stale_ms }),
    ...(body.idle_beats === undefined ? {} : { idleBeats: body.idle_beats }),
  })
}

type Proposal = NonNullable<Static<typeof CampaignBody>['proposal']>

function proposalOf(proposal: Proposal, steps: number): NonNullable<CampaignSpec['proposal']> {
  const { parameters, stability, alpha, gamma } = proposal
  const names = new Set<string>()
  for (const { name, start, min, max } of parameters) {
    const what = `the parameter ${name}`
    if (names.has(name)) throw badInput(what, 'each name stands once')
    if (!(min <= start && start <= max)) throw badInput(what, 'expected min ≤ start ≤ max')
    names.add(name)
  }
  return {
    kind: 'spsa',
    steps,
    parameters: parameters.map(({ c_end: cEnd, r_end: rEnd, integer, ...rest }) => ({
      ...rest,
      cEnd,
      rEnd,
      ...(integer === undefined ? {} : { integer }),
    })),
    ...(stability === undefined ? {} : { stability }),
    ...(alpha === undefined ? {} : { alpha }),
    ...(gamma === undefined ? {} : { gamma }),
  }
}
