/** The insight of insight.ts for runs that are over: from their records in a journal. */
import { checkCount } from '../kernel/check.ts'
import { systemClock, type Clock } from '../kernel/clock.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { Slices } from '../kernel/slices.ts'
import { lookInside, type FlatRan } from './nested.ts'
import {
  longestPath,
  simulate,
  type Claiming,
  type CriticalPath,
  type Forecast,
  type Limit,
} from './insight.ts'

/** When a node ran. */
export interface TimedNode {
  readonly name: string
  readonly after: readonly string[]
  /** Milliseconds. A node without both did not run to an end, and does not count. */
  readonly startedAt?: number | undefined
  readonly endedAt?: number | undefined
  /** Milliseconds that it is to take longer than it did, for a forecast. */
  readonly longerBy?: number | undefined
  /** When its first attempt was queued. Its start when absent. */
  readonly readyAt?: number | undefined
  /** The node that built the graph it is in. */
  readonly parent?: string | undefined
}

type RanNode = TimedNode & { readonly startedAt: number; readonly endedAt: number }

function hasRun(node: TimedNode): node is RanNode {
  return node.startedAt !== undefined && node.endedAt !== undefined
}

/** A node that ran, on its way into the order. */
class Placing implements HeapItem {
  heapIndex = -1
  readonly node: RanNode
  /** Place among the given ones: decides between nodes that started together. */
  readonly given: number
  readonly dependencies: Placing[] = []
  readonly dependents: Placing[] = []
  remaining = 0
  /** The position in the order. */
  number = -1

  constructor(node: RanNode, given: number) {
    this.node = node
    this.given = given
  }
}

/**
 * The nodes that ran, by start, but each after its dependencies. Times of a journal are whole
 * milliseconds and may jump: they alone do not give the order. For nodes that started together, the
 * given order decides.
 */
async function ranOf(all: readonly TimedNode[], slices: Slices): Promise<FlatRan> {
  const byName = new Map<string, Placing>()
  for (const node of all) {
    if (hasRun(node)) byName.set(node.name, new Placing(node, byName.size))
    if (slices.due) await slices.next()
  }
  const free = new IndexedHeap<Placing>(
    (a, b) =>
      a.node.startedAt < b.node.startedAt ||
      (a.node.startedAt === b.node.startedAt && a.given < b.given),
  )
  for (const item of byName.values()) {
    for (const name of item.node.after) {
      const dependency = byName.get(name)
      if (dependency === undefined) continue
      item.dependencies.push(dependency)
      dependency.dependents.push(item)
      item.remaining++
    }
    if (item.remaining === 0) free.push(item)
    if (slices.due) await slices.next()
  }
  const placed: Placing[] = []
  for (let item = free.pop(); item !== undefined; item = free.pop()) {
    item.number = placed.length
    placed.push(item)
    for (const dependent of item.dependents) if (--dependent.remaining === 0) free.push(dependent)
    if (slices.due) await slices.next()
  }
  return {
    count: placed.length,
    nameOf: (node) => placed[node]!.node.name,
    find: (name) => byName.get(name)?.number,
    durationOf: (node) => {
      const { startedAt, endedAt, longerBy = 0 } = placed[node]!.node
      return Math.max(0, Math.max(0, endedAt - startedAt) + longerBy)
    },
    dependenciesOf: (node) => placed[node]!.dependencies.map(({ number }) => number),
    parentOf: (node) => {
      const { parent } = placed[node]!.node
      return (parent === undefined ? undefined : byName.get(parent)?.number) ?? -1
    },
    readyAt: (node) => {
      const { readyAt, startedAt } = placed[node]!.node
      return readyAt ?? startedAt
    },
    startedAt: (node) => placed[node]!.node.startedAt,
    endedAt: (node) => placed[node]!.node.endedAt,
  }
}

/**
 * The chain of dependencies that took longest, as {@link Scheduler.criticalPath} gives it for a run of this
 * process.
 *
 * *Cancellation*: none; the work is bounded by the number of nodes and yields to I/O.
 * @example
 * const { path } = await criticalPathOf([
 *   { name: 'a', after: [], startedAt: 0, endedAt: 10 },
 *   { name: 'b', after: ['a'], startedAt: 10, endedAt: 30 },
 * ])
 * path // => [{ name: 'a', ms: 10 }, { name: 'b', ms: 20 }]
 */
export async function criticalPathOf(
  nodes: readonly TimedNode[],
  clock: Clock = systemClock,
): Promise<CriticalPath> {
  const slices = new Slices(clock)
  return longestPath(await lookInside(await ranOf(nodes, slices), slices), slices)
}

/**
 * How long these nodes take with this many at once, in the order in which they started.
 *
 * *Cancellation*: none; the work is bounded by the number of nodes and yields to I/O.
 */
export async function forecastOf(
  nodes: readonly TimedNode[],
  { concurrency }: { readonly concurrency: number },
  clock: Clock = systemClock,
): Promise<Forecast> {
  checkCount('concurrency', concurrency, 1, true)
  const total: Limit = { name: 'concurrency' }
  const lane: Claiming = { claims: [{ resource: total, count: 1 }] }
  const slices = new Slices(clock)
  const ran = await lookInside(await ranOf(nodes, slices), slices)
  return simulate(ran, () => lane, new Map([[total, concurrency]]), slices)
}
