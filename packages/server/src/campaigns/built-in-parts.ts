import type { CampaignParts } from './campaign-state.ts'
import type { CampaignSpec } from './campaign-spec.ts'
import { countReducer, quotaRule, unitReducer } from './parts.ts'
import { spsaProposer } from './spsa-proposer.ts'
import { sprtRule } from './sprt-rule.ts'

/** The parts of a campaign that its specification names. */
export function builtInParts(spec: CampaignSpec): CampaignParts {
  const { outcomes, rule, proposal, name } = spec
  return {
    reducer: outcomes.length > 0 ? countReducer(outcomes) : unitReducer,
    rule: (state) => (rule.kind === 'sprt' ? sprtRule(rule, state) : quotaRule),
    proposer: (state) => (proposal === undefined ? undefined : spsaProposer(name, proposal, state)),
  }
}
