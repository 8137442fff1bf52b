import type { Permits } from '../kernel/permits.ts'
import { urgentPriority } from '../kernel/rank.ts'
import type { Entry, Lane } from './lane.ts'
import type { Claim } from './view.ts'

/** Why an entry does not start. */
export type Shortage =
  | {
      readonly kind: 'permits'
      readonly resource: string
      readonly key: string | undefined
      /** How many it wants. */
      readonly count: number
      readonly capacity: number
      readonly used: number
      /** Permits on top that only priority 0 may take; for one of priority 0, how many of `capacity` are such. */
      readonly reserved: number
      /** Whether it is the limit of the process, and not of the run, that is reached. */
      readonly isShared: boolean
    }
  | { readonly kind: 'rate'; readonly resource: string; readonly ms: number }

/** What keeps the entries of a lane from starting; undefined when it is only their turn. `total` is `concurrency`. */
export function shortageOf<T extends Entry<T>>(
  lane: Lane<T>,
  total: Permits | undefined,
): Shortage | undefined {
  if (total !== undefined && lane.total > 0 && !total.hasRoom(lane.total, false)) {
    const { capacity, used } = total
    return {
      kind: 'permits',
      resource: 'concurrency',
      key: undefined,
      count: lane.total,
      capacity,
      used,
      reserved: 0,
      isShared: false,
    }
  }
  const parked = lane.waitsAt
  const claims =
    parked === undefined || parked === lane.gate
      ? lane.claims
      : [lane.claimOn(parked), ...lane.claims]
  for (const claim of claims) {
    const shortage = shortageAt(lane, claim)
    if (shortage !== undefined) return shortage
  }
  return undefined
}

function shortageAt<T extends Entry<T>>(lane: Lane<T>, claim: Claim<T>): Shortage | undefined {
  const { view, count } = claim
  const { own, shared, name } = view
  const urgent = lane.priority === urgentPriority
  const isHeldBack = view.aheadOf(lane) !== undefined && !view.isGate
  if (own !== undefined && (isHeldBack || !own.hasRoom(count, urgent))) {
    if (own.isTimed) return { kind: 'rate', resource: name, ms: own.opensIn(count) }
    return permitShortage(claim, own as Permits, { unit: 1, urgent, isShared: false })
  }
  if (shared === undefined || count === 0) return undefined
  if (!isHeldBack && shared.meter.hasRoom(claim.sharedCount, urgent)) return undefined
  const { meter, unit } = shared
  if (meter.isTimed) return { kind: 'rate', resource: name, ms: meter.opensIn(count) }
  return permitShortage(claim, meter as Permits, { unit, urgent, isShared: true })
}

/** For priority 0 both kinds of permits count. */
function permitShortage<T extends Entry<T>>(
  { view, count }: Claim<T>,
  { capacity, reserved, used, usedReserved }: Permits,
  how: { readonly unit: number; readonly urgent: boolean; readonly isShared: boolean },
): Shortage {
  const { unit, urgent, isShared } = how
  return {
    kind: 'permits',
    resource: view.name,
    key: view.key,
    count,
    capacity: (capacity + (urgent ? reserved : 0)) / unit,
    used: Math.ceil((used + (urgent ? usedReserved : 0)) / unit),
    reserved: reserved / unit,
    isShared,
  }
}
