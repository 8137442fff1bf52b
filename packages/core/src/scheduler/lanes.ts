import { HeddleError } from '../errors.ts'
import type { Needs } from '../graph/job.ts'
import { checkCount } from '../kernel/check.ts'
import { LinkedList } from '../kernel/linked-list.ts'
import { suggest } from '../kernel/suggest.ts'
import { checkPriority } from '../sync/priority.ts'
import type { Node } from './node.ts'

/** Permits of one kind: `slot` (its capacity is `concurrency`) and whatever the user names. */
export interface Resource {
  readonly name: string
  capacity: number
  /** Not the free ones: of infinitely many, used ones could not be subtracted. */
  used: number
}

interface Claim {
  readonly resource: Resource
  readonly count: number
}

/** Ready nodes with the same needs and the same priority, first come first served. */
export class Lane extends LinkedList<Node> {
  readonly priority: number
  readonly claims: readonly Claim[]

  constructor(priority: number, claims: readonly Claim[]) {
    super()
    this.priority = priority
    this.claims = claims
  }

  // Counted loops: these three are asked for every node, and most lanes have one claim.

  /** The first resource that has too few permits left. */
  get missing(): Resource | undefined {
    for (let index = 0; index < this.claims.length; index++) {
      const { resource, count } = this.claims[index]!
      if (resource.capacity - resource.used < count) return resource
    }
    return undefined
  }

  take(): void {
    for (let index = 0; index < this.claims.length; index++) {
      const { resource, count } = this.claims[index]!
      resource.used += count
    }
  }

  giveBack(): void {
    for (let index = 0; index < this.claims.length; index++) {
      const { resource, count } = this.claims[index]!
      resource.used -= count
    }
  }
}

export interface LanesOptions {
  readonly concurrency: number
  readonly resources: Readonly<Record<string, number>>
  /** Milliseconds of waiting that raise a node by one priority. */
  readonly aging: number
}

/**
 * What is ready to start, and which of it is next.
 *
 * A lane is a FIFO of nodes with equal needs and equal priority, so the node to start next is always
 * at the head of a lane and looking at the heads is exact, aging included. There are as many lanes
 * as combinations in use: one in most programs, a handful in a release.
 *
 * I1  The permits taken are those of the nodes that run: `take` on start, `giveBack` on end.
 * I2  A lane that lacks a resource holds back younger lanes that want the same resource, and only
 *     those: waiting for something scarce never keeps others from running (S38), and a heavy node is
 *     not starved by light ones.
 * I3  Among lanes that can start: lower (priority - waited / aging) first, then the older head.
 *
 * Known limit: a node that needs two contended resources may wait long, because only the one it lacks is
 * held back for it. Holding back all it needs would leave slots idle.
 */
export class Lanes {
  readonly #lanes: Lane[] = []
  readonly #byKey = new Map<string, Lane>()
  readonly #resources = new Map<string, Resource>()
  readonly #aging: number
  readonly #default: Lane
  #order = 0
  #size = 0

  constructor(options: LanesOptions) {
    this.#aging = options.aging
    this.#addResource('slot', checkCount('concurrency', options.concurrency, 1, true))
    for (const [name, capacity] of Object.entries(options.resources)) {
      if (name === 'slot') {
        throw new HeddleError('HDL_BAD_OPTION', {
          option: 'resources.slot',
          value: capacity,
          expected: 'to be set by `concurrency`',
        })
      }
      this.#addResource(name, checkCount(`resources.${name}`, capacity, 1, true))
    }
    this.#default = this.laneFor(undefined, undefined)
  }

  get size(): number {
    return this.#size
  }

  /** Whether it is worth calling pick(): false when all slots are taken and there is nothing else. */
  get mayStart(): boolean {
    return this.#size > 0 && (this.#lanes.length > 1 || this.#default.missing === undefined)
  }

  get resources(): ReadonlyMap<string, Resource> {
    return this.#resources
  }

  /** The lane for these needs, made on first use. */
  laneFor(needs: Needs | undefined, priority: number | undefined): Lane {
    if (needs === undefined && priority === undefined && this.#lanes.length > 0)
      return this.#default
    const rank = checkPriority(priority)
    const wanted = Object.entries(needs ?? { slot: 1 }).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const key = `${rank} ${wanted.join(' ')}`
    let lane = this.#byKey.get(key)
    if (lane === undefined) {
      lane = new Lane(
        rank,
        wanted.map(([name, count]) => this.#claim(name, count)),
      )
      this.#byKey.set(key, lane)
      this.#lanes.push(lane)
    }
    return lane
  }

  enqueue(node: Node): void {
    node.readyOrder = this.#order++
    node.lane.push(node)
    this.#size++
  }

  /** Puts a node that has run before in front of those that became ready after it. */
  enqueueFirst(node: Node): void {
    let older: Node | undefined
    for (const other of node.lane) {
      if (other.readyOrder > node.readyOrder) break
      older = other
    }
    node.lane.insertAfter(node, older)
    this.#size++
  }

  /** Takes a ready node out without starting it. */
  remove(node: Node): void {
    if (node.lane.remove(node)) this.#size--
  }

  /** Takes the node that starts next, with its permits, or nothing when none can start. */
  pick(now: number, readySince: (node: Node) => number): Node | undefined {
    if (this.#size === 0) return undefined
    const lane = this.#lanes.length === 1 ? this.#only() : this.#best(now, readySince)
    if (lane === undefined) return undefined
    lane.take()
    this.#size--
    return lane.shift()
  }

  /** Takes this node, with its permits, if they are free. */
  tryPick(node: Node): boolean {
    if (node.lane.missing !== undefined) return false
    node.lane.take()
    this.remove(node)
    return true
  }

  /**
   * Changes how many permits there are. Permits in use stay in use until they come back.
   * @throws `HDL_WOULD_DEADLOCK` when a node needs more.
   */
  resize(name: string, capacity: number): void {
    const resource = this.#resource(name)
    const option = name === 'slot' ? 'concurrency' : `resources.${name}`
    checkCount(option, capacity, 1, true)
    for (const lane of this.#lanes) {
      const claim = lane.claims.find((other) => other.resource === resource)
      if (claim !== undefined) refuseImpossible(claim, capacity)
    }
    resource.capacity = capacity
  }

  /** How many nodes became ready before this one and have not started. */
  countBefore({ readyOrder }: Node): number {
    let before = 0
    for (const lane of this.#lanes) {
      for (const other of lane) {
        if (other.readyOrder >= readyOrder) break
        before++
      }
    }
    return before
  }

  #only(): Lane | undefined {
    const lane = this.#default
    return lane.missing === undefined ? lane : undefined
  }

  #best(now: number, readySince: (node: Node) => number): Lane | undefined {
    const heads: { lane: Lane; rank: number; order: number }[] = []
    for (const lane of this.#lanes) {
      const head = lane.first
      if (head === undefined) continue
      const raised = Math.floor((now - readySince(head)) / this.#aging)
      heads.push({ lane, rank: lane.priority - raised, order: head.readyOrder })
    }
    heads.sort((a, b) => a.rank - b.rank || a.order - b.order)
    const heldBack = new Set<Resource>()
    for (const { lane } of heads) {
      if (lane.claims.some((claim) => heldBack.has(claim.resource))) continue
      const missing = lane.missing
      if (missing === undefined) return lane
      heldBack.add(missing)
    }
    return undefined
  }

  #addResource(name: string, capacity: number): void {
    this.#resources.set(name, { name, capacity, used: 0 })
  }

  #resource(name: string): Resource {
    const resource = this.#resources.get(name)
    if (resource !== undefined) return resource
    const meant = suggest(name, this.#resources.keys())
    throw new HeddleError('HDL_BAD_OPTION', {
      option: `needs.${name}`,
      value: name,
      expected: `one of ${[...this.#resources.keys()].join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    })
  }

  #claim(name: string, count: number): Claim {
    const resource = this.#resource(name)
    checkCount(`needs.${name}`, count, 0)
    const claim = { resource, count }
    refuseImpossible(claim, resource.capacity)
    return claim
  }
}

function refuseImpossible({ resource, count }: Claim, capacity: number): void {
  if (count <= capacity) return
  throw new HeddleError('HDL_WOULD_DEADLOCK', {
    what: `A node that needs "${resource.name}"`,
    needed: count,
    capacity,
  })
}
