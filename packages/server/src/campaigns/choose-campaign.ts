import type { Random } from '@heddle/core/lowlevel'
import type { FleetWorker, Refusal } from '../fleet/fleet-worker.ts'
import type { Campaign } from './campaign.ts'

/** Factor of its fair share: above this a worker leaves its campaign (P7). */
const tooMuch = 1.25
/** Below this a campaign draws workers of others. */
const tooLittle = 0.75

/** Refusals from the one that says most: a worker that lacks a version is nearer to work than one without any. */
const order: Record<Refusal['reason'], number> = {
  version: 5,
  capability: 4,
  blocked: 3,
  limit: 2,
  busy: 1,
  no_work: 0,
}

/**
 * P7: which campaign a worker gets a lease of, or why none. One pass over the campaigns that are running: its cost
 * does not depend on units, leases or workers.
 */
export function chooseCampaign(
  campaigns: Iterable<Campaign>,
  worker: FleetWorker,
  random: Random,
): Campaign | Refusal {
  let refusal: Refusal = { reason: 'no_work', message: 'no job and no unit of a campaign waits' }
  let candidates: Campaign[] = []
  let priority = -Infinity
  /** Milliseconds until the first campaign that failed on this worker is for it again (P11). */
  let rest = Infinity
  for (const campaign of campaigns) {
    if (!worker.serves(campaign.spec.tenant)) continue
    const refused = campaign.refusal(worker)
    if (refused !== undefined) {
      if (order[refused.reason] > order[refusal.reason]) refusal = refused
      if (refused.isPersonal !== true || refused.retryAfter! >= rest) continue
      rest = refused.retryAfter!
      if (refused.reason === refusal.reason) refusal = refused
    } else if (campaign.spec.priority > priority) {
      candidates = [campaign]
      priority = campaign.spec.priority
    } else if (campaign.spec.priority === priority) candidates.push(campaign)
  }
  if (candidates.length > 0) return neediest(candidates, worker, random)
  return rest === Infinity ? refusal : { ...refusal, isPersonal: true, retryAfter: rest }
}

function neediest(candidates: readonly Campaign[], worker: FleetWorker, random: Random): Campaign {
  if (candidates.length === 1) return candidates[0]!
  const threads = candidates.reduce((sum, each) => sum + each.threads, 0)
  const weights = candidates.reduce((sum, each) => sum + each.spec.weight, 0)
  const last = candidates.find(({ id }) => id === worker.lastWork)
  if (last !== undefined && mayStay(last, candidates, worker, threads, weights)) return last
  let best: Campaign | undefined
  let bestNeed = Infinity
  let ties = 0
  for (const campaign of candidates) {
    // Campaigns without a worker come first: their need is below that of all others.
    const used = campaign.threads === 0 ? -1 : campaign.threads + worker.threads / 2
    const need = used / campaign.spec.weight
    if (need < bestNeed) {
      best = campaign
      bestNeed = need
      ties = campaign.spec.weight
    } else if (need === bestNeed) {
      ties += campaign.spec.weight
      if (random.next() * ties < campaign.spec.weight) best = campaign
    }
  }
  return best!
}

/** Staying costs nothing; changing may cost a build or a download. */
function mayStay(
  last: Campaign,
  candidates: readonly Campaign[],
  worker: FleetWorker,
  threads: number,
  weights: number,
): boolean {
  const all = threads + worker.threads
  const shareOf = (campaign: Campaign, used: number): number =>
    used / ((all * campaign.spec.weight) / weights)
  if (shareOf(last, last.threads + worker.threads) > tooMuch) return false
  return candidates.every((each) => each === last || shareOf(each, each.threads) >= tooLittle)
}
