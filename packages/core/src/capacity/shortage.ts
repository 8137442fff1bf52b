import type { Permits } from '../kernel/permits.ts'
import { urgentPriority } from '../kernel/rank.ts'
import { ClusterPermits } from './cluster-permits.ts'
import type { Entry, Lane } from './lane.ts'
import type { Claim } from './capacity-view.ts'

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
      /** With `scope: 'cluster'`: `capacity` is the share of this server. */
      readonly cluster?: ClusterShortage
    }
  | { readonly kind: 'rate'; readonly resource: string; readonly ms: number }

/** Why a share of a limit of all servers is not larger. */
export interface ClusterShortage {
  /** Limit of all servers together. */
  readonly limit: number
  /** Permits that other servers have, in use or not. */
  readonly elsewhere: number
  /** How many other servers there are. */
  readonly servers: number
  /** Whether the store has confirmed the share; nothing starts when it has not. */
  readonly isSure: boolean
}

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
  permits: Permits,
  how: { readonly unit: number; readonly urgent: boolean; readonly isShared: boolean },
): Shortage {
  const { unit, urgent, isShared } = how
  const { reserved, used, usedReserved } = permits
  const capacity = permits instanceof ClusterPermits ? permits.share : permits.capacity
  return {
    kind: 'permits',
    resource: view.name,
    key: view.key,
    count,
    capacity: (capacity + (urgent ? reserved : 0)) / unit,
    used: Math.ceil((used + (urgent ? usedReserved : 0)) / unit),
    reserved: reserved / unit,
    isShared,
    ...(permits instanceof ClusterPermits && { cluster: clusterShortage(permits) }),
  }
}

function clusterShortage(permits: ClusterPermits): ClusterShortage {
  const { limit, elsewhere } = permits
  const { servers, permits: theirs } = elsewhere
  return { limit, elsewhere: theirs, servers, isSure: permits.isTrusted() }
}

/** The wait of an entry, in words. */
export function describeShortage(shortage: Shortage): string {
  if (shortage.kind === 'rate') {
    return `the rate of ${shortage.resource}: next in ${Math.ceil(shortage.ms)} ms`
  }
  const { resource, key, count, capacity, used, cluster } = shortage
  const name = key === undefined ? resource : `${resource} ${key}`
  const what = count > 1 ? `${count} permits of ${name}` : `a permit of ${name}`
  const inUse = `${used} of ${capacity} are in use`
  if (cluster === undefined) return `${what}: ${inUse}`
  const share = describeCluster(cluster, capacity)
  return used === 0 ? `${what}: ${share}` : `${what}: ${inUse}; ${share}`
}

/** Says what holds a limit of the cluster up: `this server has 2 of the cluster's 4, 1 other server has 2`. */
export function describeCluster(
  { limit, elsewhere, servers, isSure }: ClusterShortage,
  share: number,
): string {
  if (!isSure) return `the store has not confirmed this server's share of the cluster's ${limit}`
  const others = `${servers} other ${servers === 1 ? 'server has' : 'servers have'} ${elsewhere}`
  return `this server has ${share} of the cluster's ${limit}, ${others}`
}
