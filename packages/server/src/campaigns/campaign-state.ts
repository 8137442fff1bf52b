/** The stored form of a campaign that has not ended, as JSON. */
import type { CampaignSpec } from './campaign-spec.ts'
import type { DecisionRule, Proposer, Reducer } from './campaign-parts.ts'
import type { UnitRange } from './unit-ranges.ts'

export type CampaignPhase = 'running' | 'paused' | 'ended'

/** The state of a campaign, from which a take-over continues. */
export interface CampaignState {
  readonly phase: CampaignPhase
  /** Why and how it ended. */
  readonly ended?: CampaignEnd
  readonly quota: number
  readonly next: number
  readonly returned: readonly UnitRange[]
  readonly lastLease: number
  /** Totals and units of closed leases. */
  readonly total: unknown
  readonly done: number
  readonly excluded: number
  readonly rule: unknown
  readonly proposal: unknown
}

export interface CampaignEnd {
  readonly why: 'quota' | 'decided' | 'stopped' | 'cannot_start'
  /** The verdict of the rule, or the reason that was given. */
  readonly detail: string
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface CampaignParts {
  readonly reducer: Reducer
  readonly rule: (state: unknown) => DecisionRule
  readonly proposer: (state: unknown) => Proposer | undefined
  /** Only for a campaign with code of the user: set when it throws. */
  readonly trouble?: CodeTrouble
}

export interface CodeTrouble {
  text: string | undefined
}

/** The state of a campaign that has just been created. */
export function firstState(spec: CampaignSpec, { reducer }: CampaignParts): CampaignState {
  return {
    phase: 'running',
    quota: spec.units,
    next: 0,
    returned: [],
    lastLease: 0,
    total: reducer.initial,
    done: 0,
    excluded: 0,
    rule: null,
    proposal: null,
  }
}

/** JSON has no Infinity: an upper limit that was not set comes back as null. */
export function readSpec(text: string): CampaignSpec {
  const spec = JSON.parse(text) as CampaignSpec
  const maxThreads = spec.needs.maxThreads ?? Infinity
  return { ...spec, needs: { ...spec.needs, maxThreads } }
}
