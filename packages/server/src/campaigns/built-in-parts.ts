import { HeddleError } from '@heddle/core'
import type { CampaignParts } from './campaign-state.ts'
import type { CampaignSpec } from './campaign-spec.ts'
import { ownParts, type OwnCampaigns } from './own-campaign.ts'
import { countReducer, quotaRule, unitReducer } from './campaign-parts.ts'
import { spsaProposer } from './spsa-proposer.ts'
import { sprtRule } from './sprt-rule.ts'

/** The parts of a campaign that its specification names. */
function builtInParts(spec: CampaignSpec): CampaignParts {
  const { outcomes, rule, proposal, name } = spec
  return {
    reducer: outcomes.length > 0 ? countReducer(outcomes) : unitReducer,
    rule: (state) => (rule.kind === 'sprt' ? sprtRule(rule, state) : quotaRule),
    proposer: (state) => (proposal === undefined ? undefined : spsaProposer(name, proposal, state)),
  }
}

/**
 * The parts of a campaign: of the module where the campaign names a definition of it, else built in.
 * @throws `HDL_BAD_INPUT` for a definition that the module does not have.
 */
export function partsAmong(own: OwnCampaigns): (spec: CampaignSpec) => CampaignParts {
  return (spec) => {
    if (spec.definition === '') return builtInParts(spec)
    const found = own.get(spec.definition)
    if (found !== undefined) return ownParts(found)
    const known = [...own.keys()].join(', ') || 'none'
    throw new HeddleError('HDL_BAD_INPUT', {
      what: 'definition',
      problem: `the served module has no campaign ${spec.definition}; it has: ${known}`,
    })
  }
}
