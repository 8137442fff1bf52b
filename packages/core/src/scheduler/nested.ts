/**
 * Sub-graphs in what ran (insight.ts). A node that built a graph becomes two items: its head, which is the node
 * without the time of its nodes, and its end, which takes no time.
 *
 *   head ──▶ nodes of the graph, with the dependencies among them ──▶ end ──▶ what depends on the node
 *
 * So a chain through a sub-graph goes through its nodes, and each stretch of time is counted once.
 */
import type { Slices } from '../kernel/slices.ts'
import type { Ran } from './insight.ts'

/** What ran, before sub-graphs are looked into. */
export interface FlatRan extends Omit<Ran, 'isEnd'> {
  /** The node that built the graph this one is in; -1 for none, and for one that did not run. */
  parentOf(node: number): number
  /** When its first attempt was queued, and when it started; NaN where that is not known. */
  readyAt(node: number): number
  startedAt(node: number): number
  endedAt(node: number): number
}

/** What ran with its sub-graphs. */
export interface NestedRan extends Ran {
  isEnd(item: number): boolean
  /** The number of the node that an item is, or is the end of. */
  nodeOf(item: number): number
}

const none = -1

/** Looks into sub-graphs. *Cancellation*: none; the work is bounded by the number of nodes and yields to I/O. */
export async function lookInside(ran: FlatRan, slices: Slices): Promise<NestedRan> {
  const inner = await findInner(ran, slices)
  if (inner.builders.length === 0) {
    return { ...ran, isEnd: () => false, nodeOf: (item) => item }
  }
  const { count } = ran
  const { builders, endOf, firstOf, nextOf } = inner
  const lastOf = (node: number): number => (endOf[node] === none ? node : endOf[node]!)
  /** Indexed by item: first the nodes, then the ends. */
  const dependenciesOf = (item: number): number[] => {
    if (item < count) {
      const dependencies = ran.dependenciesOf(item).map(lastOf)
      const parent = ran.parentOf(item)
      if (parent !== none) dependencies.push(parent)
      return dependencies
    }
    const builder = builders[item - count]!
    const dependencies = [builder]
    for (let node = firstOf[builder]!; node !== none; node = nextOf[node]!) {
      dependencies.push(lastOf(node))
    }
    return dependencies
  }
  const { items, numbers } = await putInOrder(count + builders.length, dependenciesOf, slices)
  const isEnd = (number: number): boolean => items[number]! >= count
  const nodeOf = (number: number): number => {
    const item = items[number]!
    return item < count ? item : builders[item - count]!
  }
  return {
    count: items.length,
    isEnd,
    nodeOf,
    nameOf: (number) => ran.nameOf(nodeOf(number)),
    find: (name) => {
      const node = ran.find(name)
      return node === undefined ? undefined : numbers[node]
    },
    durationOf: (number) => {
      if (isEnd(number)) return 0
      const node = nodeOf(number)
      const whole = ran.durationOf(node)
      return endOf[node] === none ? whole : Math.max(0, whole - inner.timeOf(node))
    },
    dependenciesOf: (number) => dependenciesOf(items[number]!).map((item) => numbers[item]!),
    ...(ran.depthOf !== undefined && { depthOf: (number) => ran.depthOf!(nodeOf(number)) }),
  }
}

interface Inner {
  /** Nodes with nodes of their own that ran. The end of the first of them is the item after the last node. */
  readonly builders: readonly number[]
  /** The item that is the end of a node; -1 for those that are not builders. */
  readonly endOf: Int32Array
  /** The nodes of a builder, as a list: the first one, and by node the next one. */
  readonly firstOf: Int32Array
  readonly nextOf: Int32Array
  /** Milliseconds from when the first of its nodes was ready to when the last had ended. */
  timeOf(builder: number): number
}

async function findInner(ran: FlatRan, slices: Slices): Promise<Inner> {
  const { count } = ran
  const builders: number[] = []
  const endOf = new Int32Array(count).fill(none)
  const firstOf = new Int32Array(count).fill(none)
  const nextOf = new Int32Array(count).fill(none)
  const from = new Float64Array(count).fill(Infinity)
  const to = new Float64Array(count)
  for (let node = count - 1; node >= 0; node--) {
    if (slices.due) await slices.next()
    const parent = ran.parentOf(node)
    if (parent === none) continue
    if (endOf[parent] === none) {
      endOf[parent] = count + builders.length
      builders.push(parent)
    }
    nextOf[node] = firstOf[parent]!
    firstOf[parent] = node
    // Work of an earlier process is not a part of the time of a builder that was called again.
    if (!(ran.readyAt(node) >= ran.startedAt(parent))) continue
    from[parent] = Math.min(from[parent]!, ran.readyAt(node))
    to[parent] = Math.max(to[parent]!, ran.endedAt(node))
  }
  return {
    builders,
    endOf,
    firstOf,
    nextOf,
    timeOf: (node) => Math.max(0, to[node]! - from[node]!),
  }
}

/** Gives numbers to items, each a larger one than to those it depends on, and else in their own order. */
async function putInOrder(
  count: number,
  dependenciesOf: (item: number) => readonly number[],
  slices: Slices,
): Promise<{ items: Int32Array; numbers: Int32Array }> {
  const items = new Int32Array(count)
  const numbers = new Int32Array(count).fill(none)
  const isSeen = new Uint8Array(count)
  let placed = 0
  const path: { readonly item: number; readonly left: number[] }[] = []
  const enter = (item: number): void => {
    if (isSeen[item] === 1) return
    isSeen[item] = 1
    path.push({ item, left: dependenciesOf(item).slice() })
  }
  for (let item = 0; item < count; item++) {
    enter(item)
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.left.pop()
      if (next !== undefined) enter(next)
      else {
        path.pop()
        numbers[top.item] = placed
        items[placed++] = top.item
      }
      if (slices.due) await slices.next()
    }
  }
  return { items, numbers }
}
