/**
 * Functions in the place of their calls.
 *
 * Programs seldom have a check, the suspension after it and the act in one function: the check is in a helper,
 * the act in a setter, the wait in between. Rules ask about ways in one graph. So a copy of the graph of
 * a small function is put behind the call of it, and what rules ask about one function they ask about all
 * that it consists of.
 *
 * It is done in two steps. Before summaries are made, blocks are cut behind calls that may be replaced, which
 * changes nothing about the order of events. Once it is known who suspends, copies of those that do not are put in
 * between. What suspends is not copied: its summary says so to its callers.
 *
 * I1. Events of the function itself stay where they are, and are the same objects. Copies are new objects
 *     that belong to the function they are written in.
 * I2. An insertion is a copy of a graph without copies in it, so the order of functions does not matter.
 * I3. `unsplice` gives back the graph as lowering has made it.
 */
import { Block, noBlocks } from './graph.ts'
import type { Access, Branch, Check, Event, Graph } from './graph.ts'
import type { Location } from './locations.ts'
import { kindOf } from './assignments.ts'
import { isOwnVariable } from './own-variable.ts'
import type { CallSite, FunctionUnit, Suspension } from './program.ts'
import { combine, unknown } from './values.ts'
import type { Value } from './values.ts'

/** A larger function is not a helper, and has windows of its own. */
const maxBlocks = 40
const maxEvents = 100
const maxSetterBlocks = 6
/** Copies in one graph, in blocks. */
const maxCopied = 400
/** Calls between a function and the code copied into it. */
const maxDepth = 3

/** A call behind which its block was cut, with the block it is the last event of. */
interface Cut {
  readonly site: CallSite
  readonly block: Block
}

/** The cuts in one function. */
interface Plan {
  readonly cuts: readonly Cut[]
  /** All blocks of its own, including those behind cuts. */
  readonly own: readonly Block[]
  /** Where blocks went on before a copy was put behind them. */
  readonly next: Map<Block, readonly Block[]>
}

interface Saved {
  readonly blocks: readonly Block[]
  readonly states: ReadonlyMap<Block, BlockState>
  readonly sites: readonly CallSite[]
}

type BlockState = Pick<Block, 'events' | 'next' | 'branch' | 'isThrowing' | 'handsOver'> & {
  readonly branchBlocks: readonly Block[]
}

/** Graphs that were changed, as they were. Kept files outlive the program that has changed them. */
const changed = new WeakMap<Graph, Saved>()

/** For copied events: the call at which they were inserted. */
const splicedAt = new WeakMap<Event, CallSite>()
const originals = new WeakMap<Event, Event>()
/** For blocks that were cut: their earlier successors. */
const nextBefore = new WeakMap<Block, readonly Block[]>()

/** The successor of a block in the source: the part that was cut off counts, copies do not. */
export function nextOf(block: Block): readonly Block[] {
  return nextBefore.get(block) ?? block.next
}

/** Copies of getters and setters: their effects count as effects of their callers. */
const transparent = new WeakSet()

/** The place of an event in the text of the function whose graph it is in: a copy is at its call. */
export function placeIn(event: Event): Event {
  return splicedAt.get(event) ?? event
}

/** It belongs to a function that is called, and was put behind the call. */
export function isCopy(event: Event): boolean {
  return splicedAt.has(event)
}

/** It belongs to a function that is called, and that is neither a getter nor a setter. */
export function isOfCopy(place: object): boolean {
  const site = splicedAt.get(place as Event)
  return site !== undefined && !transparent.has(place)
}

/** The original event, in the function that contains it. */
export function originalOf<E extends Event>(event: E): E {
  return (originals.get(event) as E | undefined) ?? event
}

/** Both are copies of one function that were put behind the same call. */
export function areOfOneCopy(a: object, b: object): boolean {
  const site = splicedAt.get(a as Event)
  return site !== undefined && site === splicedAt.get(b as Event)
}

/** The function that runs an event, among those that are written in one graph. */
export function ownerIn(event: Event): FunctionUnit {
  return placeIn(event).owner
}

/**
 * Cuts blocks behind calls that may be replaced: all of them in functions that may suspend, and those of
 * setters everywhere.
 */
export function cutAtCalls(units: readonly FunctionUnit[]): Splices {
  const plans = new Map<FunctionUnit, Plan>()
  const setters = new Setters()
  for (const unit of units) {
    const { graph } = unit
    if (graph === undefined || graph.isTruncated) continue
    const { cuts } = new Cutter(unit, graph, maySuspend(graph) ? undefined : setters)
    if (cuts.length > 0) plans.set(unit, { cuts, own: graph.blocks, next: new Map() })
  }
  return new Splices(plans, setters)
}

/** Functions that store an argument: their writes count as writes of their callers. */
class Setters {
  readonly #known = new Map<FunctionUnit, boolean>()

  has(unit: FunctionUnit): boolean {
    let answer = this.#known.get(unit)
    if (answer === undefined) this.#known.set(unit, (answer = isSetter(unit)))
    return answer
  }
}

/** It does nothing else: a function that calls something has effects of its own. */
function isSetter(unit: FunctionUnit): boolean {
  const { graph } = unit
  if (graph === undefined || graph.blocks.length > maxSetterBlocks) return false
  const events = graph.blocks.flatMap((block) => block.events)
  return (
    events.every(({ op }) => op === 'read' || op === 'write') &&
    events.some(
      (event) =>
        event.op === 'write' &&
        event.value?.location?.scope === 'parameter' &&
        event.value.location.depth === 0 &&
        event.value.location.unit === unit,
    )
  )
}

/** Gives the graph back as it was before `cutAtCalls`. */
export function unsplice(graph: Graph): void {
  const saved = changed.get(graph)
  if (saved === undefined) return
  changed.delete(graph)
  graph.blocks = saved.blocks
  for (const site of saved.sites) site.isSpliced = false
  // Last first: two blocks may belong to one branch.
  for (const [block, { branchBlocks, ...state }] of [...saved.states].reverse()) {
    Object.assign(block, state)
    nextBefore.delete(block)
    for (const to of state.handsOver) to.handedOverBy = block
    if (state.branch !== undefined) state.branch.blocks = branchBlocks
  }
}

function maySuspend({ suspends, blocks }: Graph): boolean {
  return suspends || blocks.some(({ events }) => events.at(-1)?.op === 'suspend')
}

function isReplaceable(site: CallSite, host: FunctionUnit): boolean {
  const [target, other] = site.targets
  if (target === undefined || other !== undefined || site.isNew || site.isGuess) return false
  if (target.host !== target || target === host || target.isGenerator) return false
  if (target.kind !== 'function' && target.kind !== 'method') return false
  if (site.callee.kind === 'member' && !isLasting(site.callee.receiver.location)) return false
  return target.graph !== undefined && isSmall(target.graph)
}

/** Objects that are made in a function belong to one run of it: their fields are not shared. */
function isLasting(location: Location | undefined): boolean {
  const scope = location?.canonical.scope
  return scope === 'instance' || scope === 'module'
}

/** It returns the value of one location: calling it is a check of that location. */
function isGetter({ returned, graph }: FunctionUnit): boolean {
  const [kept] = returned
  if (kept === undefined || returned.length > 1 || graph === undefined) return false
  const events = graph.blocks.flatMap((block) => block.events)
  const last = events.at(-1)
  return (
    last?.op === 'read' && last.location === kept && events.every((event) => event.op === 'read')
  )
}

function isSmall(graph: Graph): boolean {
  if (graph.isTruncated || graph.blocks.length > maxBlocks) return false
  let events = 0
  for (const block of graph.blocks) events += block.events.length
  return events <= maxEvents
}

class Cutter {
  readonly cuts: Cut[] = []
  readonly #only: Setters | undefined
  readonly #blocks: Block[]
  readonly #states = new Map<Block, BlockState>()

  /** @param only Functions whose calls are cut; all of them when it is not given. */
  constructor(host: FunctionUnit, graph: Graph, only: Setters | undefined) {
    const { blocks } = graph
    this.#only = only
    this.#blocks = [...blocks]
    for (const block of blocks) this.#cut(host, block)
    if (this.cuts.length === 0) return
    changed.set(graph, { blocks, states: this.#states, sites: this.cuts.map(({ site }) => site) })
    graph.blocks = this.#blocks
  }

  #cut(host: FunctionUnit, whole: Block): void {
    let block = whole
    for (let index = 0; index < block.events.length; index++) {
      const event = block.events[index]!
      if (event.op !== 'call' || !isReplaceable(event, host)) continue
      if (this.#only?.has(event.targets[0]!) === false) continue
      if (block === whole) {
        this.#states.set(whole, stateOf(whole))
        nextBefore.set(whole, whole.next)
      }
      const rest = this.#cutBehind(block, index)
      this.cuts.push({ site: event, block })
      block = rest
      index = -1
    }
  }

  #cutBehind(block: Block, index: number): Block {
    const rest = new Block(this.#blocks.length, block.cleanup, block.isLoopBody)
    this.#blocks.push(rest)
    rest.events = block.events.slice(index + 1)
    block.events = block.events.slice(0, index + 1)
    rest.next = block.next
    block.next = [rest]
    rest.isThrowing = block.isThrowing
    rest.handsOver = block.handsOver
    block.handsOver = noBlocks
    for (const to of rest.handsOver) to.handedOverBy = rest
    const { branch } = block
    if (branch !== undefined) {
      block.branch = undefined
      rest.branch = branch
      branch.blocks = branch.blocks.map((one) => (one === block ? rest : one))
    }
    return rest
  }
}

function stateOf({ events, next, branch, isThrowing, handsOver }: Block): BlockState {
  return { events, next, branch, isThrowing, handsOver, branchBlocks: branch?.blocks ?? noBlocks }
}

/** The copies inserted into the graph of one function. */
export interface Spliced {
  readonly unit: FunctionUnit
  readonly callees: ReadonlySet<FunctionUnit>
  readonly blocks: readonly Block[]
}

export class Splices {
  readonly #plans: ReadonlyMap<FunctionUnit, Plan>
  readonly #setters: Setters

  constructor(plans: ReadonlyMap<FunctionUnit, Plan>, setters: Setters) {
    this.#plans = plans
    this.#setters = setters
  }

  isSetter(unit: FunctionUnit): boolean {
    return this.#setters.has(unit)
  }

  /**
   * Inserts copies behind the calls. Summaries have been made: it is known which functions suspend.
   *
   * @param isPredicate Whether a function only checks something: a call that decides a branch is a check of it.
   */
  apply(isPredicate: (unit: FunctionUnit) => boolean): Spliced[] {
    const all: Spliced[] = []
    for (const [unit, { cuts, next }] of this.#plans) {
      const graph = unit.graph!
      const splicing = new Splicing(this.#plans, graph.blocks.length, isPredicate)
      for (const { site, block } of cuts) {
        if (!graph.suspends && !this.#setters.has(site.targets[0]!)) continue
        const before = block.next
        if (splicing.put(site, block, [unit])) next.set(block, before)
      }
      const { added: blocks, callees } = splicing
      if (blocks.length === 0) continue
      graph.blocks = [...graph.blocks, ...blocks]
      all.push({ unit, callees, blocks })
    }
    return all
  }
}

/** The insertions into one graph. */
class Splicing {
  readonly added: Block[] = []
  readonly callees = new Set<FunctionUnit>()
  readonly #plans: ReadonlyMap<FunctionUnit, Plan>
  readonly #first: number
  readonly #isPredicate: (unit: FunctionUnit) => boolean

  constructor(
    plans: ReadonlyMap<FunctionUnit, Plan>,
    first: number,
    isPredicate: (unit: FunctionUnit) => boolean,
  ) {
    this.#plans = plans
    this.#first = first
    this.#isPredicate = isPredicate
  }

  /** Puts a copy behind a call that is the last event of a block, if the callee answers at once. */
  put(site: CallSite, block: Block, callers: readonly FunctionUnit[]): boolean {
    const target = site.targets[0]!
    if (target.graph!.suspends || target.isAsync) return false
    if (site.checks.length > 0 && this.#isPredicate(target) && !isGetter(target)) return false
    const copy = this.#copyOf(site, callers, block.next)
    if (copy === undefined) return false
    block.next = [copy]
    site.isSpliced = true
    return true
  }

  /** The first block of a copy; undefined when there is no room for it. */
  #copyOf(
    site: CallSite,
    callers: readonly FunctionUnit[],
    after: readonly Block[],
  ): Block | undefined {
    const callee = site.targets[0]!
    if (callers.includes(callee)) return undefined
    const graph = callee.graph!
    const plan = this.#plans.get(callee)
    const own = plan?.own ?? graph.blocks
    if (this.added.length + own.length > maxCopied) return undefined
    this.callees.add(callee)
    const copy = new Copy(callee, site, rootOf(site))
    for (const block of own) this.added.push(copy.begin(block, this.#first + this.added.length))
    if (site.checks.length > 0 && isGetter(callee)) copy.decides(graph.entry, site.checks)
    const nextIn = (block: Block): readonly Block[] => plan?.next.get(block) ?? block.next
    for (const block of own) {
      const next = nextIn(block)
      const isEnd = next.length === 0 && !block.isThrowing
      copy.fill(block, isEnd ? after : next.map((one) => copy.blockOf(one)))
    }
    if (callers.length < maxDepth)
      for (const cut of plan?.cuts ?? []) {
        const inner = copy.siteOf(cut.site)
        if (inner !== undefined) this.put(inner, copy.blockOf(cut.block), [...callers, callee])
      }
    return copy.blockOf(graph.entry)
  }
}

function rootOf(site: CallSite): CallSite {
  return splicedAt.get(site) ?? site
}

/** One function as it is run by one call. */
class Copy {
  readonly #callee: FunctionUnit
  readonly #site: CallSite
  readonly #root: CallSite
  readonly #isSetter: boolean
  readonly #blocks = new Map<Block, Block>()
  readonly #events = new Map<Event, Event>()
  readonly #branches = new Map<Branch, Branch>()
  readonly #values = new Map<Value, Value>()

  constructor(callee: FunctionUnit, site: CallSite, root: CallSite) {
    this.#callee = callee
    this.#site = site
    this.#root = root
    this.#isSetter = isSetter(callee)
  }

  /** Makes room for a block. References to it can be copied once all blocks have begun. */
  begin(block: Block, id: number): Block {
    const made = new Block(id, block.cleanup, block.isLoopBody)
    made.isThrowing = block.isThrowing
    this.#blocks.set(block, made)
    return made
  }

  blockOf(block: Block): Block {
    return this.#blocks.get(block)!
  }

  siteOf(site: CallSite): CallSite | undefined {
    return this.#events.get(site) as CallSite | undefined
  }

  /** The last read of a getter decides the same branch as its answer. */
  decides({ events }: Block, checks: readonly Check[]): void {
    const read = events.at(-1)
    if (read?.op !== 'read') return
    const made = this.#eventOf(read)
    transparent.add(made)
    // The call is a check at this place.
    const { owner, start, end } = this.#site
    Object.assign(made, { owner, start, end })
    made.checks = checks.map((check) => ({
      ...check,
      whenPresent: check.whenPresent ?? check.whenTrue,
      whenAbsent: check.whenAbsent ?? check.whenFalse,
    }))
  }

  fill(block: Block, next: readonly Block[]): void {
    const made = this.blockOf(block)
    made.next = next
    made.events = block.events
      .filter((event) => this.#isSeen(event))
      .map((event) => this.#eventOf(event))
    if (block.branch !== undefined) made.branch = this.#branchOf(block.branch)
    if (block.handedOverBy !== undefined) made.handedOverBy = this.#blocks.get(block.handedOverBy)
    made.handsOver = block.handsOver.map((one) => this.blockOf(one))
  }

  /** Every call has variables of its own, and keys that are made of them. */
  #isSeen(event: Event): boolean {
    if (event.op !== 'read' && event.op !== 'write') return true
    const { canonical } = event.location
    if (isOwnVariable(canonical, this.#callee)) return false
    for (let at: Location | undefined = canonical; at !== undefined; at = at.parent) {
      if (at.scope === 'entry' && at.entryKey !== undefined && /\bb\d/.test(at.entryKey))
        return false
      if (at.parent === undefined && at.scope === 'parameter' && !at.isCommon) return false
    }
    return true
  }

  #eventOf<E extends Event>(event: E): E {
    const known = this.#events.get(event)
    if (known !== undefined) return known as E
    const made = { ...event }
    this.#events.set(event, made)
    splicedAt.set(made, this.#root)
    if (this.#isSetter) transparent.add(made)
    originals.set(made, originalOf(event))
    this.#complete(made)
    return made
  }

  #complete(made: Event): void {
    switch (made.op) {
      case 'read':
      case 'write': {
        const access = made as { -readonly [K in keyof Access]: Access[K] }
        access.checks = access.checks.map((check) => this.#checkOf(check))
        const { value } = access
        if (value !== undefined) {
          access.value = this.#valueOf(value)
          if (access.kind === 'set' && access.value !== value) access.kind = kindOf(access.value)
        }
        if (access.use !== undefined) access.use = this.#eventOf(access.use)
        break
      }
      case 'call': {
        const site = made as { -readonly [K in keyof CallSite]: CallSite[K] }
        site.checks = site.checks.map((check) => this.#checkOf(check))
        site.args = site.args.map((value) => this.#valueOf(value))
        const { callee } = site
        if (callee.kind === 'member')
          site.callee = { ...callee, receiver: this.#valueOf(callee.receiver) }
        break
      }
      case 'suspend': {
        const suspension = made as { -readonly [K in keyof Suspension]: Suspension[K] }
        suspension.joins = suspension.joins.map((site) => this.#eventOf(site))
        suspension.awaited = suspension.awaited.map((access) => this.#eventOf(access))
        break
      }
      case 'acquire':
      case 'release':
    }
  }

  #checkOf(check: Check): Check {
    return {
      ...check,
      branch: this.#branchOf(check.branch),
      whenPresent: check.whenPresent && this.#blocks.get(check.whenPresent),
      whenAbsent: check.whenAbsent && this.#blocks.get(check.whenAbsent),
      ...(check.whenTrue && { whenTrue: this.blockOf(check.whenTrue) }),
      ...(check.whenFalse && { whenFalse: this.blockOf(check.whenFalse) }),
    }
  }

  #branchOf(branch: Branch): Branch {
    let made = this.#branches.get(branch)
    if (made === undefined) {
      made = {
        ...branch,
        whenTrue: this.blockOf(branch.whenTrue),
        whenFalse: this.blockOf(branch.whenFalse),
        blocks: branch.blocks.map((one) => this.blockOf(one)),
      }
      this.#branches.set(branch, made)
    }
    return made
  }

  /** Replaces parameters by the arguments of the call. */
  #valueOf(value: Value): Value {
    if (value === unknown || value.literal !== undefined) return value
    const given = this.#argumentOf(value.location)
    if (given !== undefined) return given
    const { reads, calls, from, within, parts, given: params } = value
    if (!reads && !calls && !from && !within && !parts && !params) return value
    let made = this.#values.get(value)
    if (made === undefined) {
      made = {
        ...value,
        ...(reads && { reads: reads.map((one) => this.#eventOf(one)) }),
        ...(calls && { calls: calls.map((one) => this.#eventOf(one)) }),
        ...(from && { from: from.map((one) => this.#eventOf(one)) }),
        ...(within && { within: within.map((one) => this.#eventOf(one)) }),
        ...(parts && { parts: parts.map((one) => this.#valueOf(one)) }),
      }
      for (const param of params ?? [])
        made = { ...made, ...computedFrom(made, this.#argumentOf(param)) }
      this.#values.set(value, made)
    }
    return made
  }

  #argumentOf(location: Location | undefined): Value | undefined {
    if (location?.scope !== 'parameter' || location.depth > 0 || location.unit !== this.#callee)
      return undefined
    const index = this.#callee.params.indexOf(location.field)
    return index === -1 ? undefined : (this.#site.args[index] ?? unknown)
  }
}

/** A value computed from an argument depends on the origin of that argument. */
function computedFrom(value: Value, argument: Value | undefined): Value {
  return argument === undefined ? unknown : combine(value, argument)
}
