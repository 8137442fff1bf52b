import type { Lane } from '../capacity/lane.ts'
import type { Lanes } from '../capacity/lanes.ts'
import { concurrencyNames, type Concurrency } from '../capacity/resources.ts'
import { HeddleError } from '../errors.ts'
import { checkCount, checkOptions, checkRecord, type OptionNames } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { IndexedHeap, type HeapItem } from '../kernel/heap.ts'
import { Slices } from '../kernel/slices.ts'
import type { Dependencies } from './dependencies.ts'
import { lookInside, type FlatRan } from './nested.ts'
import { failed, succeeded, type Node } from './node.ts'
import type { Timeline } from './timeline.ts'

/*
 * Insight into a finished run. All of it is computed from recorded durations; time spent
 * in back-off counts as time the node took.
 *
 * All of it is cut into slices (law 2). So nothing here sorts, and nothing that has an entry per node is
 * a Map or a Set: a large one stops the loop for 50 ms each time it grows.
 */

export interface CriticalPath {
  /** Milliseconds: no number of slots makes the run shorter than this. */
  readonly length: number
  /** The path from first to last. */
  readonly path: readonly { readonly name: string; readonly ms: number }[]
  /** Milliseconds a node could take longer without making the critical path longer. */
  slackOf(name: string): number | undefined
}

export interface WhatIfOptions {
  readonly concurrency?: Concurrency
  readonly resources?: Readonly<Record<string, number>>
}

const whatIfOptionNames = { concurrency: 1, resources: 1 } satisfies OptionNames<WhatIfOptions>

export interface Forecast {
  /** Milliseconds from the first start to the last end. */
  readonly duration: number
}

/**
 * What ran, wherever it is recorded. A node is a number: its place in the order in which they became ready. A node that built
 * a graph has two, see nested.ts.
 */
export interface Ran {
  readonly count: number
  nameOf(node: number): string
  /** Undefined when no node of that name ran. */
  find(name: string): number | undefined
  /** Milliseconds. */
  durationOf(node: number): number
  /** The dependencies of a node that ran: smaller numbers. */
  dependenciesOf(node: number): readonly number[]
  /** Longest path from a root. Computed from the nodes that ran when absent. */
  depthOf?(node: number): number
  /** Whether it is only the end of a node that built a graph. */
  isEnd(node: number): boolean
}

/** A scheduler, as far as its past is concerned. */
export interface Past {
  readonly graph: Dependencies
  readonly timeline: Timeline
  /** Keyed by nodes that built graphs: the indexes of the nodes in these graphs. */
  readonly built: ReadonlyMap<Node, Iterable<number>>
}

const didNotRun = -1

interface RanInScheduler extends FlatRan {
  nodeAt(node: number): Node
}

/** The nodes of a scheduler that ran. A node becomes ready after its dependencies. */
async function ranIn({ graph, timeline, built }: Past, slices: Slices): Promise<RanInScheduler> {
  const hasRun = (node: Node): boolean =>
    (node.state === succeeded || node.state === failed) && timeline.hasStarted(node.index)
  let orders = 0
  for (const node of graph.nodes.values()) {
    if (hasRun(node)) orders = Math.max(orders, node.readyOrder + 1)
    if (slices.due) await slices.next()
  }
  /**
   * Indexed by the order of becoming ready; nodes that were tried again or did not run are missing.
   */
  const indexes = new Int32Array(orders).fill(didNotRun)
  for (const node of graph.nodes.values()) {
    if (hasRun(node)) indexes[node.readyOrder] = node.index
    if (slices.due) await slices.next()
  }
  const numbers = new Int32Array(graph.nodes.size).fill(didNotRun)
  let count = 0
  for (const index of indexes) {
    if (index !== didNotRun) {
      numbers[index] = count
      indexes[count++] = index
    }
    if (slices.due) await slices.next()
  }
  const nodeAt = (node: number): Node => graph.nodes.at(indexes[node]!)!
  const numberOf = (node: Node): number => numbers[node.index] ?? didNotRun
  const parents = new Int32Array(built.size === 0 ? 0 : count).fill(didNotRun)
  for (const [builder, nodes] of built) {
    for (const index of nodes) {
      const node = numbers[index] ?? didNotRun
      if (node !== didNotRun) parents[node] = numberOf(builder)
      if (slices.due) await slices.next()
    }
  }
  const indexOf = (node: number): number => indexes[node]!
  return {
    count,
    parentOf: (node) => parents[node] ?? didNotRun,
    readyAt: (node) => timeline.readyAt(indexOf(node)),
    startedAt: (node) => timeline.startedAt(indexOf(node)),
    endedAt: (node) => timeline.endedAt(indexOf(node)),
    nodeAt,
    depthOf: (node) => nodeAt(node).depth,
    nameOf: (node) => nodeAt(node).name,
    find: (name) => {
      const node = graph.nodes.get(name)
      const number = node === undefined ? didNotRun : numberOf(node)
      return number === didNotRun ? undefined : number
    },
    durationOf: (node) => {
      const { index } = nodeAt(node)
      return timeline.endedAt(index) - timeline.startedAt(index)
    },
    dependenciesOf: (node) =>
      graph
        .of(nodeAt(node))
        .map(numberOf)
        .filter((number) => number !== didNotRun),
  }
}

export async function criticalPath(past: Past, clock: Clock): Promise<CriticalPath> {
  const slices = new Slices(clock)
  return longestPath(await lookInside(await ranIn(past, slices), slices), slices)
}

/** The chain of dependencies that took longest. */
export async function longestPath(ran: Ran, slices: Slices): Promise<CriticalPath> {
  /** Longest chain that ends with the node, itself included. */
  const before = new Float64Array(ran.count)
  const previous = new Int32Array(ran.count).fill(didNotRun)
  let last = didNotRun
  for (let node = 0; node < ran.count; node++) {
    let longest = 0
    for (const dependency of ran.dependenciesOf(node)) {
      const length = before[dependency]!
      if (length >= longest) {
        longest = length
        previous[node] = dependency
      }
    }
    before[node] = longest + ran.durationOf(node)
    if (last === didNotRun || before[node]! > before[last]!) last = node
    if (slices.due) await slices.next()
  }
  /** Longest chain that starts after the node. */
  const after = new Float64Array(ran.count)
  for (let node = ran.count - 1; node >= 0; node--) {
    const length = ran.durationOf(node) + after[node]!
    for (const dependency of ran.dependenciesOf(node)) {
      after[dependency] = Math.max(after[dependency]!, length)
    }
    if (slices.due) await slices.next()
  }

  const length = last === didNotRun ? 0 : before[last]!
  const path: { name: string; ms: number }[] = []
  for (let node = last; node !== didNotRun; node = previous[node]!) {
    if (!ran.isEnd(node)) path.push({ name: ran.nameOf(node), ms: ran.durationOf(node) })
    if (slices.due) await slices.next()
  }
  return {
    length,
    path: path.reverse(),
    slackOf: (name) => {
      const node = ran.find(name)
      return node === undefined ? undefined : length - before[node]! - after[node]!
    },
  }
}

/** A node that runs in the simulation until `endsAt`. */
class Simulated implements HeapItem {
  heapIndex = -1
  readonly node: number
  readonly endsAt: number
  readonly order: number

  constructor(node: number, endsAt: number, order: number) {
    this.node = node
    this.endsAt = endsAt
    this.order = order
  }
}

/** A node that is ready in the simulation. */
class Ready implements HeapItem {
  heapIndex = -1
  readonly node: number
  readonly depth: number
  readonly order: number

  constructor(node: number, depth: number, order: number) {
    this.node = node
    this.depth = depth
    this.order = order
  }
}

/** The scheduler's order inside a priority: deeper first, then first come. */
function goesBefore(a: Ready, b: Ready): boolean {
  return a.depth > b.depth || (a.depth === b.depth && a.order < b.order)
}

/** Ready nodes of one lane in the simulation. */
interface Waiting {
  readonly lane: Claiming
  readonly nodes: IndexedHeap<Ready>
}

/** A limit in the simulation. Limits are compared as objects: those of two keys may have the same name. */
export interface Limit {
  readonly name: string
}

/** A lane, as far as the simulation needs one: nodes that take the same permits. */
export interface Claiming {
  readonly claims: readonly { readonly resource: Limit; readonly count: number }[]
}

/**
 * Plays the run again with other limits: same durations, same order of service, no waiting for real. Rates and
 * the limits of the process are left out.
 */
export async function whatIf(
  past: Past,
  lanes: Lanes<Node>,
  limits: WhatIfOptions,
  clock: Clock,
): Promise<Forecast> {
  checkWhatIf(limits)
  const permits = new Map<Limit, number>()
  const claiming = new Map<Lane<Node>, Claiming>()
  const known = new Map<object, Limit>()
  const limitFor = (meter: object, name: string, capacity: number): Limit => {
    let limit = known.get(meter)
    if (limit === undefined) {
      known.set(meter, (limit = { name }))
      const option = isPlaceLimit(name) ? 'concurrency' : `resources.${name}`
      permits.set(limit, checkCount(option, wantedOf(limits, name) ?? capacity, 1, true))
    }
    return limit
  }
  const laneOf = ({ lane }: Node): Claiming => {
    let found = claiming.get(lane)
    if (found === undefined) {
      const claims = lanes.permitsOf(lane).map(({ permits: meter, name, count }) => ({
        resource: limitFor(meter, name, meter.capacity),
        count,
      }))
      claiming.set(lane, (found = { claims }))
    }
    return found
  }
  const slices = new Slices(clock)
  const flat = await ranIn(past, slices)
  const ran = await lookInside(flat, slices)
  const claimsOf = (node: number): Claiming => laneOf(flat.nodeAt(ran.nodeOf(node)))
  return simulate(ran, claimsOf, permits, slices)
}

/** The end of a node that built a graph takes no permit. */
const noClaims: Claiming = { claims: [] }

function isPlaceLimit(name: string): boolean {
  return name === 'concurrency' || name === 'loop' || name === 'thread' || name === 'fleet'
}

function checkWhatIf(options: WhatIfOptions): void {
  checkOptions(options, whatIfOptionNames)
  const { concurrency, resources } = options
  if (resources !== undefined) checkRecord('resources', resources, 'an object: { db: 4 }')
  if (concurrency === undefined) return
  if (typeof concurrency === 'object') checkOptions(concurrency, concurrencyNames, 'concurrency')
  const limits = typeof concurrency === 'object' ? Object.values(concurrency) : [concurrency]
  for (const limit of limits) checkCount('concurrency', limit, 1, true)
}

/** One number replaces limits of places, and the other way round. Undefined: as it was. */
function wantedOf({ concurrency, resources }: WhatIfOptions, name: string): number | undefined {
  if (!isPlaceLimit(name)) return resources?.[name]
  if (concurrency === undefined) return undefined
  const isTotal = name === 'concurrency'
  if (typeof concurrency !== 'object') return isTotal ? concurrency : Infinity
  return isTotal ? Infinity : (concurrency[name as 'loop' | 'thread' | 'fleet'] ?? Infinity)
}

/** Plays what ran with these permits. */
export async function simulate(
  ran: Ran,
  claimsOf: (node: number) => Claiming,
  permits: ReadonlyMap<Limit, number>,
  slices: Slices,
): Promise<Forecast> {
  const laneOf = (node: number): Claiming => (ran.isEnd(node) ? noClaims : claimsOf(node))
  /** In use. Limits become known with the first lane that claims them. */
  const used = new Map<Limit, number>()
  const freeOf = (limit: Limit): number => permits.get(limit)! - (used.get(limit) ?? 0)
  const remaining = new Int32Array(ran.count)
  const dependents: (number[] | undefined)[] = []
  const lanes = new Map<Claiming, Waiting>()
  const depths = new Int32Array(ran.count)
  let readied = 0
  const becomeReady = (node: number): void => {
    const lane = laneOf(node)
    let waiting = lanes.get(lane)
    if (waiting === undefined) {
      lanes.set(lane, (waiting = { lane, nodes: new IndexedHeap(goesBefore) }))
    }
    waiting.nodes.push(new Ready(node, depths[node]!, readied++))
  }
  for (let node = 0; node < ran.count; node++) {
    const dependencies = ran.dependenciesOf(node)
    remaining[node] = dependencies.length
    depths[node] = ran.depthOf?.(node) ?? 1 + deepest(dependencies, depths)
    dependents.push(undefined)
    if (dependencies.length === 0) becomeReady(node)
    for (const dependency of dependencies) (dependents[dependency] ??= []).push(node)
    if (slices.due) await slices.next()
  }

  const running = new IndexedHeap<Simulated>(
    (a, b) => a.endsAt < b.endsAt || (a.endsAt === b.endsAt && a.order < b.order),
  )
  let started = 0
  const charge = (lane: Claiming, sign: 1 | -1): void => {
    for (const { resource, count } of lane.claims) {
      used.set(resource, (used.get(resource) ?? 0) + sign * count)
    }
  }
  const missing = (lane: Claiming): Claiming['claims'][number] | undefined =>
    lane.claims.find(({ resource, count }) => freeOf(resource) < count)
  for (let now = 0; ;) {
    for (let next = first(lanes.values(), missing); next; next = first(lanes.values(), missing)) {
      const { node } = next.nodes.pop()!
      charge(next.lane, 1)
      running.push(new Simulated(node, now + ran.durationOf(node), started++))
      if (slices.due) await slices.next()
    }
    const ended = running.pop()
    if (ended === undefined) {
      refuseTooFew(lanes.values(), missing, permits)
      return { duration: now }
    }
    now = ended.endsAt
    charge(laneOf(ended.node), -1)
    for (const dependent of dependents[ended.node] ?? []) {
      if (--remaining[dependent]! === 0) becomeReady(dependent)
    }
    if (slices.due) await slices.next()
  }
}

function deepest(nodes: readonly number[], depths: Int32Array): number {
  return nodes.reduce((most, node) => Math.max(most, depths[node]!), -1)
}

/** The lane whose head goes next, among lanes that lack nothing. */
function first(
  lanes: Iterable<Waiting>,
  missing: (lane: Claiming) => unknown,
): Waiting | undefined {
  let best: Waiting | undefined
  for (const waiting of lanes) {
    const head = waiting.nodes.peek()
    if (head === undefined || missing(waiting.lane) !== undefined) continue
    if (best === undefined || goesBefore(head, best.nodes.peek()!)) best = waiting
  }
  return best
}

/** Nothing runs: what still waits needs more permits than there are. */
function refuseTooFew(
  lanes: Iterable<Waiting>,
  missing: (lane: Claiming) => Claiming['claims'][number] | undefined,
  permits: ReadonlyMap<Limit, number>,
): void {
  for (const { lane, nodes } of lanes) {
    const claim = nodes.size > 0 ? missing(lane) : undefined
    if (claim === undefined) continue
    throw new HeddleError('HDL_WOULD_DEADLOCK', {
      what: 'A node',
      needed: claim.count,
      resource: claim.resource.name,
      capacity: permits.get(claim.resource)!,
    })
  }
}
