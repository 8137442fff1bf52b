/** Words for campaigns. */
import type { CampaignView } from '../../api/fleet.ts'

/** The mark of a state and the word beside it. */
export function markOf({ phase, ended }: Pick<CampaignView, 'phase' | 'ended'>): {
  readonly mark: string
  readonly word: string
} {
  if (phase !== 'ended') return { mark: phase, word: phase }
  if (ended?.why === 'decided') {
    return { mark: ended.detail === 'rejected' ? 'failed' : 'succeeded', word: ended.detail }
  }
  if (ended?.why === 'stopped') return { mark: 'cancelled', word: 'stopped' }
  return { mark: 'succeeded', word: ended?.why.replaceAll('_', ' ') ?? 'ended' }
}

/** `+3.2 ± 1.8`. */
export function formatElo(elo: number, error?: number): string {
  const value = `${elo >= 0 ? '+' : '−'}${Math.abs(elo).toFixed(1)}`
  return error === undefined || !Number.isFinite(error) ? value : `${value} ± ${error.toFixed(1)}`
}

/** Residuals of at least this many standard deviations are marked. */
export const suspicious = 3
