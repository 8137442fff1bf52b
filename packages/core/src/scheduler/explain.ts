import type { Lanes } from '../capacity/lanes.ts'
import { describeCluster, type ClusterShortage, type Shortage } from '../capacity/shortage.ts'
import { urgentPriority } from '../kernel/rank.ts'
import type { NodeAttempt } from './node-attempt.ts'
import type { Dependencies } from './dependencies.ts'
import type { RunState } from './events.ts'
import { ready, retrying, running, suspended, waiting, type Node, type NodeState } from './node.ts'
import type { Timeline } from './timeline.ts'

/** Why a node does not run, for people (`text`) and for programs (the rest). */
export type Explanation = {
  readonly name: string
  readonly state: NodeState
  readonly text: string
} & (
  | { readonly why: 'ended'; readonly blockedBy?: string }
  | { readonly why: 'running'; readonly ms: number }
  /** It has its permits, and its place has no room for it: no worker of the fleet, for instance. */
  | { readonly why: 'place'; readonly ms: number }
  | {
      readonly why: 'dependencies'
      /** The dependencies it waits for, at most a hundred. */
      readonly on: readonly {
        readonly name: string
        readonly state: NodeState
        readonly ms?: number
      }[]
      /** How many there are. */
      readonly total: number
    }
  | {
      readonly why: 'suspended'
      /** A signal, or a time, or a signal until a time; absent while it waits for its own steps or elements. */
      readonly waitsFor?: SuspendedFor
    }
  | { readonly why: 'back-off'; readonly ms: number; readonly attempt: number }
  | { readonly why: 'run-state'; readonly run: RunState }
  | {
      readonly why: 'permits'
      /** `concurrency`, a place, or a name in `resources`. */
      readonly resource: string
      /** The key, for a limit for each key. */
      readonly key?: string
      readonly capacity: number
      readonly used: number
      /** Permits that only priority 0 may take: on top of `capacity`, for a node of priority 0 among them. */
      readonly reserved?: number
      /** Nodes of this run that hold some of it. */
      readonly holders: readonly string[]
      /** With a limit of all servers (`scope: 'cluster'`): `capacity` is the share of this server. */
      readonly cluster?: ClusterShortage
    }
  | {
      /** Its `needs` function has not answered yet. */
      readonly why: 'needs'
      readonly ms: number
    }
  | { readonly why: 'rate'; readonly resource: string; readonly ms: number }
  | { readonly why: 'turn'; readonly ahead: number }
)

interface View {
  readonly now: number
  readonly state: RunState
  readonly attempts: Iterable<NodeAttempt>
  readonly lanes: Lanes<Node>
  readonly graph: Dependencies
  readonly timeline: Timeline
  readonly retryAt: number | undefined
  /** Since when its `needs` function has not answered. */
  readonly askedAt: number | undefined
  /** The reason of its suspension. */
  readonly suspendedFor: Suspension | undefined
}

/** A sleep or a wait of a job. `until` is in milliseconds since 1970. */
interface SuspendedFor {
  readonly signal?: string
  readonly until?: number
}

/** How a suspended node answers, for people and for programs. */
export interface Suspension {
  readonly text: () => string
  readonly waitsFor?: (() => SuspendedFor | undefined) | undefined
}

/** Dependencies and holders named in the text; the rest is counted. */
const named = 3
/** Dependencies in an answer. */
const listed = 100
/** Dependencies that are read: a node may have 200,000, and a live view asks on the loop. */
const lookedAt = 2_000

export function explainNode(node: Node, view: View): Explanation {
  const base = { name: node.name, state: node.stateName }
  if (node.state === running) {
    const ms = view.now - view.timeline.startedAt(node.index)
    const waitsFor = node.current?.waitsFor
    if (waitsFor !== undefined) return { ...base, why: 'place', ms, text: waitsFor() }
    return { ...base, why: 'running', ms, text: `has been running for ${seconds(ms)}` }
  }
  if (node.state === waiting) return { ...base, ...explainDependencies(node, view) }
  if (node.state === retrying) {
    const ms = Math.max(0, view.retryAt! - view.now)
    // People count from 1.
    const text = `attempt ${node.attempt + 1} starts in ${seconds(ms)}`
    return { ...base, why: 'back-off', ms, attempt: node.attempt, text }
  }
  if (node.state === suspended) {
    const isResuming = node.current?.suspension?.waiter !== undefined
    const text = isResuming
      ? 'is suspended and waits for its permits'
      : (view.suspendedFor?.text() ?? 'is suspended')
    const waitsFor = isResuming ? undefined : view.suspendedFor?.waitsFor?.()
    return { ...base, why: 'suspended', text, ...(waitsFor !== undefined && { waitsFor }) }
  }
  if (node.state === ready) return { ...base, ...explainReady(node, view) }
  const by = node.blockedBy?.name
  if (by === undefined) return { ...base, why: 'ended', text: node.stateName }
  return { ...base, why: 'ended', blockedBy: by, text: `blocked by "${by}"` }
}

/** What one cause adds to the name and state of a node. */
type Part<W extends Explanation['why']> = W extends unknown
  ? Omit<Extract<Explanation, { why: W }>, 'name' | 'state'>
  : never

function explainDependencies(node: Node, view: View): Part<'dependencies'> {
  const { open, total } = unfinished(node, view.graph)
  const on = open.map((dependency) => ({
    name: dependency.name,
    state: dependency.stateName,
    ...(dependency.state === running && {
      ms: view.now - view.timeline.startedAt(dependency.index),
    }),
  }))
  const first = on
    .slice(0, named)
    .map(({ name, state, ms }) =>
      ms === undefined ? `"${name}" (${state})` : `"${name}" (running ${seconds(ms)})`,
    )
  const list = first.length === 0 ? `${total} others` : shortList(first, total)
  return { why: 'dependencies', on, total, text: `waits for ${list}` }
}

interface Unfinished {
  /** The open dependencies, at most `listed`. */
  readonly open: readonly Node[]
  readonly total: number
}

/** The unfinished dependencies of a node; for a removed node, its own dependencies. */
function unfinished(node: Node, graph: Dependencies): Unfinished {
  const direct = graph.of(node, lookedAt)
  if (direct.length === lookedAt) {
    const open = direct.filter((dependency) => !dependency.ended)
    return { open: open.slice(0, listed), total: graph.remaining(node) }
  }
  const found = new Set<Node>()
  const seen = new Set<Node>()
  const left = [node]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const dependency of graph.of(next)) {
      if (!dependency.ended) found.add(dependency)
      else if (dependency.relays && !seen.has(dependency)) {
        seen.add(dependency)
        left.push(dependency)
      }
    }
  }
  return { open: Iterator.from(found).take(listed).toArray(), total: found.size }
}

function explainReady(
  node: Node,
  view: View,
): Part<'run-state' | 'needs' | 'permits' | 'rate' | 'turn'> {
  if (view.state !== 'running') {
    const text = view.state === 'paused' ? 'the run is paused' : `the run is ${view.state}`
    return { why: 'run-state', run: view.state, text }
  }
  if (view.askedAt !== undefined) {
    const ms = view.now - view.askedAt
    return { why: 'needs', ms, text: `has waited for its needs function for ${seconds(ms)}` }
  }
  const shortage = view.lanes.shortageOf(node)
  if (shortage?.kind === 'rate') {
    const { resource, ms } = shortage
    return {
      why: 'rate',
      resource,
      ms,
      text: `rate ${resource}: next in ${seconds(Math.ceil(ms))}`,
    }
  }
  if (shortage !== undefined) return explainPermits(node, shortage, view)
  const ahead = view.lanes.countBefore(node)
  return { why: 'turn', ahead, text: `is next, ${ahead} before it` }
}

function explainPermits(
  { lane }: Node,
  shortage: Extract<Shortage, { kind: 'permits' }>,
  view: View,
): Part<'permits'> {
  const { resource, key, count, capacity, used, reserved, isShared, cluster } = shortage
  const holders: string[] = []
  for (const { entry, suspension } of view.attempts) {
    if (suspension === undefined && holds(entry, shortage)) holders.push(entry.name)
  }
  const first = holders.slice(0, named).map((name) => `"${name}"`)
  const others = isShared && used > holders.length ? ' and other runs' : ''
  const by =
    holders.length === 0 && isShared ? 'other runs' : shortList(first, holders.length) + others
  const what = key === undefined ? resource : `${resource} ${key}`
  const wanted = count > 1 ? `, needs ${count}` : ''
  const inUse = `${used} of ${capacity} in use by ${by}${wanted}`
  const kept = reserved === 0 ? '' : describeReserved(reserved, lane.priority === urgentPriority)
  return {
    why: 'permits',
    resource,
    ...(key !== undefined && { key }),
    capacity,
    used,
    ...(reserved > 0 && { reserved }),
    holders,
    ...(cluster !== undefined && { cluster }),
    text: `${what}: ${cluster === undefined ? inUse + kept : describeShare(cluster, shortage, inUse)}`,
  }
}

/** Holders are named only where there are some: the share may be 0. */
function describeShare(
  cluster: ClusterShortage,
  { capacity, used }: Extract<Shortage, { kind: 'permits' }>,
  inUse: string,
): string {
  const share = describeCluster(cluster, capacity)
  return used === 0 ? share : `${inUse}; ${share}`
}

function describeReserved(reserved: number, urgent: boolean): string {
  if (urgent) return `; ${reserved} of them reserved for priority 0`
  return `; ${reserved} more ${reserved === 1 ? 'is' : 'are'} reserved for priority 0`
}

function holds(
  { lane }: Node,
  { resource, key }: { resource: string; key: string | undefined },
): boolean {
  if (resource === 'concurrency') return lane.total > 0
  return lane.claims.some(
    ({ view, count }) => count > 0 && view.name === resource && view.key === key,
  )
}

/** The first names of a list of `total`, and how many more there are. */
function shortList(first: readonly string[], total: number): string {
  const more = total - first.length
  const list = first.join(', ') || 'none'
  return more > 0 ? `${list} and ${more} more` : list
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}
