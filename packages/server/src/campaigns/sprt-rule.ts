import type { CampaignView, DecisionRule } from './campaign-parts.ts'
import { estimateElo } from './statistics/elo.ts'
import { logLikelihoodRatio } from './statistics/likelihood.ts'
import {
  estimateSprt,
  noOvershoot,
  observeOvershoot,
  sprtBounds,
  sprtState,
  type OvershootState,
  type SprtOptions,
} from './statistics/sprt.ts'

interface RuleState {
  /** Absent after results were taken out: the test continues without the correction. */
  readonly overshoot?: OvershootState
}

/** Ends a campaign when its sequential test is decided. */
export function sprtRule(options: SprtOptions, kept: unknown): DecisionRule {
  const bounds = sprtBounds(options)
  const { elo0, elo1, model = 'normalized' } = options
  let overshoot = kept === null ? noOvershoot : (kept as RuleState).overshoot
  /** The saved state may be older than the counts: the first observation then starts the collection again. */
  let batch = kept === null ? Infinity : 0
  return {
    observe: ({ total, done }) => {
      if (done === 0) return undefined
      const llr = logLikelihoodRatio(total as number[], elo0, elo1, model)
      overshoot &&= observeOvershoot(overshoot, llr, done, batch)
      batch = Infinity
      const state = sprtState(llr, bounds, overshoot)
      return state === 'running' ? undefined : state
    },
    state: () => (overshoot === undefined ? {} : { overshoot }) satisfies RuleState,
    describe: ({ total, done }: CampaignView) => {
      const counts = total as number[]
      if (done === 0) return { kind: 'sprt', ...options, ...bounds, llr: 0 }
      const { llr, elo, interval, los } = estimateSprt(counts, options)
      const { elo: plain, error } = estimateElo(counts)
      return {
        kind: 'sprt',
        ...options,
        ...bounds,
        llr,
        elo,
        interval,
        los,
        estimate: { elo: plain, error },
      }
    },
  }
}
