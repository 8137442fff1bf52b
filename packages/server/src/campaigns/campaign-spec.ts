import type { SprtOptions } from './statistics/sprt.ts'
import type { SpsaOptions } from './statistics/spsa.ts'

/** The requirements for a worker to get leases of a campaign. */
export interface CampaignNeeds {
  /** All of these. */
  readonly capabilities: readonly string[]
  /** All of these. */
  readonly tags: readonly string[]
  /** Megabytes. */
  readonly memory: number
  readonly minThreads: number
  readonly maxThreads: number
  /** A pattern with `*` and `?`, alternatives separated by `|`; matched in linear time, unlike a regular expression. */
  readonly system: string
}

/** A campaign as it was created: complete, checked, never changed. */
export interface CampaignSpec {
  readonly name: string
  /** The user or token that created it. */
  readonly owner: string
  readonly tenant: string
  /** The job that workers run, and its version. */
  readonly job: string
  readonly version: string
  readonly input: unknown
  /** How many units there are: games, frames, samples. */
  readonly units: number
  /** Reports and leases are multiples of it. */
  readonly batch: number
  /**
   * Names of the counts, for campaigns that add up counts: losses, draws, wins. A report then has one number
   * for each.
   */
  readonly outcomes: readonly string[]
  /** Name of a campaign definition of the server's module; empty for built-in ones. */
  readonly definition: string
  readonly rule: { readonly kind: 'quota' } | ({ readonly kind: 'sprt' } & SprtOptions)
  readonly proposal: ({ readonly kind: 'spsa' } & SpsaOptions) | undefined
  /** Higher is first. */
  readonly priority: number
  /** Its share among campaigns of the same priority. */
  readonly weight: number
  readonly needs: CampaignNeeds
  /** Milliseconds of work in one lease. */
  readonly leaseTime: number
  readonly beat: number
  readonly stale: number
  readonly idleBeats: number
}

export const anyWorker: CampaignNeeds = {
  capabilities: [],
  tags: [],
  memory: 0,
  minThreads: 1,
  maxThreads: Infinity,
  system: '*',
}

type Given = Partial<CampaignSpec> & Pick<CampaignSpec, 'name' | 'job' | 'units'>

/** Fills in missing fields. */
export function campaignSpec(given: Given): CampaignSpec {
  const rule = given.rule ?? { kind: 'quota' }
  return {
    name: given.name,
    owner: given.owner ?? 'anonymous',
    tenant: given.tenant ?? 'default',
    job: given.job,
    version: given.version ?? '1',
    input: given.input ?? null,
    units: given.units,
    batch: given.batch ?? 1,
    outcomes: given.outcomes ?? (rule.kind === 'sprt' ? pentanomial : []),
    definition: given.definition ?? '',
    rule,
    proposal: given.proposal,
    priority: given.priority ?? 0,
    weight: given.weight ?? 1,
    needs: given.needs ?? anyWorker,
    leaseTime: given.leaseTime ?? 1_800_000,
    beat: given.beat ?? 120_000,
    stale: given.stale ?? 3 * (given.beat ?? 120_000),
    idleBeats: given.idleBeats ?? 30,
  }
}

/** Results of pairs of games. */
const pentanomial: readonly string[] = ['LL', 'LD', 'DD', 'WD', 'WW']
