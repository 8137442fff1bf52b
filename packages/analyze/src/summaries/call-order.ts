/**
 * Callees before callers.
 *
 * Tarjan's strongly connected components over hosts, without recursion: programs have call chains
 * that are deeper than the stack. Functions that call each other are in one component.
 *
 * What is known of a host is kept by its number, in two arrays for all of them: most hosts are met once,
 * call no function that is not known yet, and leave nothing behind.
 */
import type { Block } from '../ir/graph.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'

/**
 * Calls `found` with the components of hosts, callees first. It does so as soon as a component is known:
 * its graphs have been walked just now, and for most programs memory is what costs the time.
 *
 * @param hosts All of a program, in its order.
 */
export function bottomUp(
  hosts: readonly FunctionUnit[],
  found: (component: readonly FunctionUnit[]) => void,
): void {
  const search = new Search(hosts, found)
  for (const host of hosts) search.from(host)
}

/** A host whose calls are being followed, and how far. Used again by the next one at its depth. */
class Visit {
  unit: FunctionUnit
  slot = 0
  blocks: readonly Block[] = []
  block = 0
  event = 0
  target = 0

  constructor(unit: FunctionUnit) {
    this.unit = unit
  }

  begin(unit: FunctionUnit, slot: number): void {
    this.unit = unit
    this.slot = slot
    this.blocks = unit.graph?.blocks ?? []
    this.block = 0
    this.event = 0
    this.target = 0
  }
}

const unmet = 0
const finished = -1

class Search {
  readonly #found: (component: readonly FunctionUnit[]) => void
  readonly #first: number
  /** Tarjan's index, by slot: from 1 on while it is on the stack. */
  readonly #index: Int32Array
  readonly #low: Int32Array
  readonly #stack: FunctionUnit[] = []
  readonly #visits: Visit[] = []
  #depth = 0
  #met = 0

  constructor(hosts: readonly FunctionUnit[], found: (component: readonly FunctionUnit[]) => void) {
    this.#found = found
    this.#first = hosts[0]?.id ?? 0
    const slots = (hosts.at(-1)?.id ?? 0) - this.#first + 1
    this.#index = new Int32Array(slots)
    this.#low = new Int32Array(slots)
  }

  from(root: FunctionUnit): void {
    if (this.#index[root.id - this.#first] !== unmet) return
    this.#enter(root)
    while (this.#depth > 0) {
      const visit = this.#visits[this.#depth - 1]!
      const callee = this.#nextUnmet(visit)
      if (callee === undefined) this.#leave(visit)
      else this.#enter(callee)
    }
  }

  #enter(unit: FunctionUnit): void {
    const slot = unit.id - this.#first
    this.#index[slot] = this.#low[slot] = ++this.#met
    this.#stack.push(unit)
    if (this.#depth === this.#visits.length) this.#visits.push(new Visit(unit))
    this.#visits[this.#depth++]!.begin(unit, slot)
  }

  #leave({ unit, slot }: Visit): void {
    this.#depth--
    const low = this.#low[slot]!
    if (this.#depth > 0) this.#lower(this.#visits[this.#depth - 1]!.slot, low)
    if (low === this.#index[slot]) this.#found(this.#component(unit))
  }

  #lower(slot: number, low: number): void {
    if (low < this.#low[slot]!) this.#low[slot] = low
  }

  #component(root: FunctionUnit): FunctionUnit[] {
    // Most functions are alone; a list that is made with its member takes no more room than that.
    const component = [this.#pop()]
    for (let last = component[0]; last !== root; component.push(last)) last = this.#pop()
    return component
  }

  #pop(): FunctionUnit {
    const unit = this.#stack.pop()!
    this.#index[unit.id - this.#first] = finished
    return unit
  }

  /** The next host that is called and has not been met; those on the stack are noted on the way. */
  #nextUnmet(visit: Visit): FunctionUnit | undefined {
    const { blocks } = visit
    for (; visit.block < blocks.length; visit.block++, visit.event = 0) {
      const { events } = blocks[visit.block]!
      for (; visit.event < events.length; visit.event++, visit.target = 0) {
        const event = events[visit.event]!
        if (event.op !== 'call') continue
        const { targets } = event
        while (visit.target < targets.length) {
          const { host } = targets[visit.target++]!
          const index = this.#index[host.id - this.#first]!
          if (index === unmet) return host
          if (index !== finished) this.#lower(visit.slot, index)
        }
      }
    }
    return undefined
  }
}

const none: readonly FunctionUnit[] = []

/** The hosts a call runs whose effects are not seen behind it in the graph. */
export function unseenTargetsOf(site: CallSite): readonly FunctionUnit[] {
  return site.isSpliced ? none : targetsOf(site)
}

/** The hosts a call runs; a callback that is called by name runs where it is written. */
export function targetsOf(site: CallSite): readonly FunctionUnit[] {
  const { targets } = site
  if (targets.length === 0) return none
  for (const target of targets) if (target.host !== target) return targets.map((one) => one.host)
  return targets
}
