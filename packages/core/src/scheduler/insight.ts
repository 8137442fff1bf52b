import type { Clock } from '../kernel/clock.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { Slices } from '../kernel/slices.ts'
import type { Dependencies } from './dependencies.ts'
import type { Resource } from './lanes.ts'
import { failed, succeeded, type Node } from './node.ts'
import type { Timeline } from './timeline.ts'

/*
 * What a finished run says about itself. All of it is computed from recorded durations; time spent
 * in back-off counts as time the node took.
 */

export interface CriticalPath {
  /** Milliseconds: no number of slots makes the run shorter than this. */
  readonly length: number
  /** From first to last. */
  readonly path: readonly { readonly name: string; readonly ms: number }[]
  /** Milliseconds a node could take longer without making the critical path longer. */
  slackOf(name: string): number | undefined
}

export interface WhatIfOptions {
  readonly concurrency?: number
  readonly resources?: Readonly<Record<string, number>>
}

export interface Forecast {
  /** Milliseconds from the first start to the last end. */
  readonly duration: number
}

/** What ran, wherever it is recorded. */
export interface Ran<N> {
  /** Each after its dependencies, in the order in which they became ready. */
  readonly nodes: readonly N[]
  nameOf(node: N): string
  /** Milliseconds. */
  durationOf(node: N): number
  dependenciesOf(node: N): readonly N[]
}

/** The nodes of a scheduler that ran. A node becomes ready after its dependencies. */
function ranIn(graph: Dependencies, timeline: Timeline): Ran<Node> {
  const nodes = graph.nodes
    .filter(
      (node) =>
        (node.state === succeeded || node.state === failed) && timeline.hasStarted(node.index),
    )
    .toSorted((a, b) => a.readyOrder - b.readyOrder)
  return {
    nodes,
    nameOf: ({ name }) => name,
    durationOf: ({ index }) => timeline.endedAt(index) - timeline.startedAt(index),
    dependenciesOf: (node) => graph.of(node),
  }
}

export function criticalPath(
  graph: Dependencies,
  timeline: Timeline,
  clock: Clock,
): Promise<CriticalPath> {
  return longestPath(ranIn(graph, timeline), clock)
}

/** The chain of dependencies that took longest. */
export async function longestPath<N>(ran: Ran<N>, clock: Clock): Promise<CriticalPath> {
  const slices = new Slices(clock)
  /** Longest chain that ends with the node, itself included. */
  const before = new Map<N, number>()
  const previous = new Map<N, N>()
  let last: N | undefined
  for (const node of ran.nodes) {
    let longest = 0
    for (const dependency of ran.dependenciesOf(node)) {
      const length = before.get(dependency)
      if (length !== undefined && length >= longest) {
        longest = length
        previous.set(node, dependency)
      }
    }
    const length = longest + ran.durationOf(node)
    before.set(node, length)
    if (last === undefined || length > before.get(last)!) last = node
    if (slices.due) await slices.next()
  }
  /** Longest chain that starts after the node. */
  const after = new Map<N, number>()
  for (const node of ran.nodes.toReversed()) {
    const length = ran.durationOf(node) + (after.get(node) ?? 0)
    for (const dependency of ran.dependenciesOf(node)) {
      if (length > (after.get(dependency) ?? 0)) after.set(dependency, length)
    }
    if (slices.due) await slices.next()
  }

  const length = last === undefined ? 0 : before.get(last)!
  const path: { name: string; ms: number }[] = []
  for (let node = last; node !== undefined; node = previous.get(node)) {
    path.push({ name: ran.nameOf(node), ms: ran.durationOf(node) })
  }
  const byName = new Map(ran.nodes.map((node) => [ran.nameOf(node), node]))
  return {
    length,
    path: path.reverse(),
    slackOf: (name) => {
      const node = byName.get(name)
      return node === undefined ? undefined : length - before.get(node)! - (after.get(node) ?? 0)
    },
  }
}

/** A node that runs in the simulation until `endsAt`. */
class Simulated<N> implements HeapItem {
  heapIndex = -1
  readonly node: N
  readonly endsAt: number
  readonly order: number

  constructor(node: N, endsAt: number, order: number) {
    this.node = node
    this.endsAt = endsAt
    this.order = order
  }
}

/** Ready nodes of one lane in the simulation. A cursor instead of shift(), which is O(n) on long arrays. */
interface Waiting<N> {
  readonly lane: Claiming
  readonly nodes: N[]
  position: number
}

/** A lane, as far as the simulation needs one: nodes that take the same permits. */
export interface Claiming {
  readonly claims: readonly { readonly resource: Resource; readonly count: number }[]
}

/** Plays the run again with other limits: same durations, same order of service, no waiting for real. */
export function whatIf(
  graph: Dependencies,
  timeline: Timeline,
  resources: ReadonlyMap<string, Resource>,
  limits: WhatIfOptions,
  clock: Clock,
): Promise<Forecast> {
  const free = new Map<Resource, number>()
  for (const resource of resources.values()) {
    const { name, capacity } = resource
    free.set(
      resource,
      (name === 'slot' ? limits.concurrency : limits.resources?.[name]) ?? capacity,
    )
  }
  return simulate(ranIn(graph, timeline), ({ lane }) => lane, free, clock)
}

/** Plays what ran with these permits. `free` is used up on the way. */
export async function simulate<N>(
  ran: Ran<N>,
  laneOf: (node: N) => Claiming,
  free: Map<Resource, number>,
  clock: Clock,
): Promise<Forecast> {
  const slices = new Slices(clock)
  const known = new Set(ran.nodes)
  const remaining = new Map<N, number>()
  const dependents = new Map<N, N[]>()
  const lanes = new Map<Claiming, Waiting<N>>()
  const becomeReady = (node: N): void => {
    const lane = laneOf(node)
    const waiting = lanes.get(lane)
    if (waiting === undefined) lanes.set(lane, { lane, nodes: [node], position: 0 })
    else waiting.nodes.push(node)
  }
  for (const node of ran.nodes) {
    const dependencies = ran.dependenciesOf(node).filter((dependency) => known.has(dependency))
    remaining.set(node, dependencies.length)
    if (dependencies.length === 0) becomeReady(node)
    for (const dependency of dependencies) {
      const list = dependents.get(dependency)
      if (list === undefined) dependents.set(dependency, [node])
      else list.push(node)
    }
    if (slices.due) await slices.next()
  }

  const running = new IndexedHeap<Simulated<N>>(
    (a, b) => a.endsAt < b.endsAt || (a.endsAt === b.endsAt && a.order < b.order),
  )
  let started = 0
  const charge = (lane: Claiming, sign: 1 | -1): void => {
    for (const { resource, count } of lane.claims) {
      free.set(resource, free.get(resource)! - sign * count)
    }
  }
  const fits = (lane: Claiming): boolean =>
    lane.claims.every(({ resource, count }) => free.get(resource)! >= count)
  for (let now = 0; ;) {
    for (const waiting of lanes.values()) {
      const { lane } = waiting
      while (waiting.position < waiting.nodes.length && fits(lane)) {
        const node = waiting.nodes[waiting.position++]!
        charge(lane, 1)
        running.push(new Simulated(node, now + ran.durationOf(node), started++))
        if (slices.due) await slices.next()
      }
    }
    const ended = running.pop()
    if (ended === undefined) return { duration: now }
    now = ended.endsAt
    charge(laneOf(ended.node), -1)
    for (const dependent of dependents.get(ended.node) ?? []) {
      const count = remaining.get(dependent)! - 1
      remaining.set(dependent, count)
      if (count === 0) becomeReady(dependent)
    }
    if (slices.due) await slices.next()
  }
}
