/** The insight of insight.ts for runs that are over: from what a journal has kept of them. */
import { systemClock, type Clock } from '../kernel/clock.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import {
  longestPath,
  simulate,
  type Claiming,
  type CriticalPath,
  type Forecast,
  type Ran,
} from './insight.ts'
import type { Resource } from './lanes.ts'

/** When a node ran. */
export interface TimedNode {
  readonly name: string
  readonly after: readonly string[]
  /** Milliseconds. A node without both did not run to an end, and does not count. */
  readonly startedAt?: number | undefined
  readonly endedAt?: number | undefined
}

type RanNode = TimedNode & { readonly startedAt: number; readonly endedAt: number }

function hasRun(node: TimedNode): node is RanNode {
  return node.startedAt !== undefined && node.endedAt !== undefined
}

/** A node that ran, on its way into the order. */
class Placing implements HeapItem {
  heapIndex = -1
  readonly node: RanNode
  readonly order: number
  readonly dependents: Placing[] = []
  remaining = 0

  constructor(node: RanNode, order: number) {
    this.node = node
    this.order = order
  }
}

/**
 * What ran, by start, but each after its dependencies. Times of a journal are whole milliseconds and may
 * jump: they alone do not say who was first. Of nodes that started together, the given order decides.
 */
function ranOf(all: readonly TimedNode[]): Ran<RanNode> {
  const items = all
    .filter(hasRun)
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .map((node, order) => new Placing(node, order))
  const byName = new Map(items.map((item) => [item.node.name, item]))
  const dependenciesOf = ({ after }: RanNode): Placing[] =>
    after.map((name) => byName.get(name)).filter((item) => item !== undefined)
  const free = new IndexedHeap<Placing>((a, b) => a.order < b.order)
  for (const item of items) {
    for (const dependency of dependenciesOf(item.node)) {
      dependency.dependents.push(item)
      item.remaining++
    }
    if (item.remaining === 0) free.push(item)
  }
  const nodes: RanNode[] = []
  for (let item = free.pop(); item !== undefined; item = free.pop()) {
    nodes.push(item.node)
    for (const dependent of item.dependents) if (--dependent.remaining === 0) free.push(dependent)
  }
  return {
    nodes,
    nameOf: ({ name }) => name,
    durationOf: ({ startedAt, endedAt }) => Math.max(0, endedAt - startedAt),
    dependenciesOf: (node) => dependenciesOf(node).map((item) => item.node),
  }
}

/**
 * The chain of dependencies that took longest, as {@link Scheduler.criticalPath} gives it for a run of this
 * process.
 *
 * *Cancellation*: none; the work is bounded by the number of nodes.
 * @example
 * const { path } = await criticalPathOf([
 *   { name: 'a', after: [], startedAt: 0, endedAt: 10 },
 *   { name: 'b', after: ['a'], startedAt: 10, endedAt: 30 },
 * ])
 * path // => [{ name: 'a', ms: 10 }, { name: 'b', ms: 20 }]
 */
export function criticalPathOf(
  nodes: readonly TimedNode[],
  clock: Clock = systemClock,
): Promise<CriticalPath> {
  return longestPath(ranOf(nodes), clock)
}

/**
 * How long these nodes take with so many slots, in the order in which they started.
 *
 * *Cancellation*: none; the work is bounded by the number of nodes.
 */
export function forecastOf(
  nodes: readonly TimedNode[],
  { concurrency }: { readonly concurrency: number },
  clock: Clock = systemClock,
): Promise<Forecast> {
  const slot: Resource = { name: 'slot', capacity: concurrency, free: concurrency }
  const lane: Claiming = { claims: [{ resource: slot, count: 1 }] }
  return simulate(ranOf(nodes), () => lane, new Map([[slot, concurrency]]), clock)
}
