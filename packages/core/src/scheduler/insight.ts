import type { Clock } from '../kernel/clock.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { Slices } from '../kernel/slices.ts'
import type { Dependencies } from './dependencies.ts'
import type { Lane, Resource } from './lanes.ts'
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

/** Nodes that ran, each after its dependencies: a node becomes ready after them. */
function ranInOrder({ nodes }: Dependencies, timeline: Timeline): Node[] {
  return nodes
    .filter(
      (node) =>
        (node.state === succeeded || node.state === failed) && timeline.hasStarted(node.index),
    )
    .toSorted((a, b) => a.readyOrder - b.readyOrder)
}

function durationOf(node: Node, timeline: Timeline): number {
  return timeline.endedAt(node.index) - timeline.startedAt(node.index)
}

export async function criticalPath(
  graph: Dependencies,
  timeline: Timeline,
  clock: Clock,
): Promise<CriticalPath> {
  const slices = new Slices(clock)
  const ran = ranInOrder(graph, timeline)
  /** Longest chain that ends with the node, itself included. */
  const before = new Map<Node, number>()
  const previous = new Map<Node, Node>()
  let last: Node | undefined
  for (const node of ran) {
    let longest = 0
    for (const dependency of graph.of(node)) {
      const length = before.get(dependency)
      if (length !== undefined && length >= longest) {
        longest = length
        previous.set(node, dependency)
      }
    }
    const length = longest + durationOf(node, timeline)
    before.set(node, length)
    if (last === undefined || length > before.get(last)!) last = node
    if (slices.due) await slices.next()
  }
  /** Longest chain that starts after the node. */
  const after = new Map<Node, number>()
  for (const node of ran.toReversed()) {
    const length = durationOf(node, timeline) + (after.get(node) ?? 0)
    for (const dependency of graph.of(node)) {
      if (length > (after.get(dependency) ?? 0)) after.set(dependency, length)
    }
    if (slices.due) await slices.next()
  }

  const length = last === undefined ? 0 : before.get(last)!
  const path: { name: string; ms: number }[] = []
  for (let node = last; node !== undefined; node = previous.get(node)) {
    path.push({ name: node.name, ms: durationOf(node, timeline) })
  }
  const byName = new Map(ran.map((node) => [node.name, node]))
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
class Simulated implements HeapItem {
  heapIndex = -1
  readonly node: Node
  readonly endsAt: number
  readonly order: number

  constructor(node: Node, endsAt: number, order: number) {
    this.node = node
    this.endsAt = endsAt
    this.order = order
  }
}

/** Ready nodes of one lane in the simulation. A cursor instead of shift(), which is O(n) on long arrays. */
interface Waiting {
  readonly lane: Lane
  readonly nodes: Node[]
  position: number
}

/** Plays the run again with other limits: same durations, same order of service, no waiting for real. */
export async function whatIf(
  graph: Dependencies,
  timeline: Timeline,
  resources: ReadonlyMap<string, Resource>,
  limits: WhatIfOptions,
  clock: Clock,
): Promise<Forecast> {
  const slices = new Slices(clock)
  const free = new Map<Resource, number>()
  for (const resource of resources.values()) {
    const { name, capacity } = resource
    free.set(
      resource,
      (name === 'slot' ? limits.concurrency : limits.resources?.[name]) ?? capacity,
    )
  }
  const ran = ranInOrder(graph, timeline)
  const known = new Set(ran)
  const remaining = new Map<Node, number>()
  const dependents = new Map<Node, Node[]>()
  const lanes = new Map<Lane, Waiting>()
  const becomeReady = (node: Node): void => {
    const waiting = lanes.get(node.lane)
    if (waiting === undefined) lanes.set(node.lane, { lane: node.lane, nodes: [node], position: 0 })
    else waiting.nodes.push(node)
  }
  for (const node of ran) {
    const dependencies = graph.of(node).filter((dependency) => known.has(dependency))
    remaining.set(node, dependencies.length)
    if (dependencies.length === 0) becomeReady(node)
    for (const dependency of dependencies) {
      const list = dependents.get(dependency)
      if (list === undefined) dependents.set(dependency, [node])
      else list.push(node)
    }
    if (slices.due) await slices.next()
  }

  const running = new IndexedHeap<Simulated>(
    (a, b) => a.endsAt < b.endsAt || (a.endsAt === b.endsAt && a.order < b.order),
  )
  let started = 0
  const charge = (lane: Lane, sign: 1 | -1): void => {
    for (const { resource, count } of lane.claims) {
      free.set(resource, free.get(resource)! - sign * count)
    }
  }
  const fits = (lane: Lane): boolean =>
    lane.claims.every(({ resource, count }) => free.get(resource)! >= count)
  for (let now = 0; ;) {
    for (const waiting of lanes.values()) {
      const { lane } = waiting
      while (waiting.position < waiting.nodes.length && fits(lane)) {
        const node = waiting.nodes[waiting.position++]!
        charge(lane, 1)
        running.push(new Simulated(node, now + durationOf(node, timeline), started++))
        if (slices.due) await slices.next()
      }
    }
    const ended = running.pop()
    if (ended === undefined) return { duration: now }
    now = ended.endsAt
    charge(ended.node.lane, -1)
    for (const dependent of dependents.get(ended.node) ?? []) {
      const count = remaining.get(dependent)! - 1
      remaining.set(dependent, count)
      if (count === 0) becomeReady(dependent)
    }
    if (slices.due) await slices.next()
  }
}
