/**
 * The effects of a function on shared locations, in order: before its first suspension, and after it.
 *
 * Summaries are computed callees first and contain those of the callees, so a caller never looks
 * deeper than one call. Inside a component of mutual recursion they are computed twice, which is
 * enough for direct effects, and bounds the time.
 *
 * I1. `before` happens in the region of the caller. Nothing in `after` does.
 * I2. Sizes are bounded: effects beyond are dropped, so a summary may miss effects but not invent them.
 * I3. The effects of a callee are made before those of its callers. A function without callers is seldom
 * needed, so its effects are made on request; its callees are ready by then. This needs that
 *     every target of a call has the call among its callers (I2 of the program).
 */
import type { Block, Graph } from '../ir/graph.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { cutAtCalls } from '../ir/splice.ts'
import type { Spliced } from '../ir/splice.ts'
import { Content, content } from './content.ts'
import { nothing } from './effects-by-location.ts'
import type { EffectsByLocation } from './effects-by-location.ts'
import { bottomUp, targetsOf, unseenTargetsOf } from './call-order.ts'
import { Phase } from './phase.ts'
import { early, lastOf, late, phasesOf } from './reached.ts'
import { Uses } from './uses.ts'

export interface Summary {
  readonly suspends: 'never' | 'maybe' | 'always'
  readonly before: EffectsByLocation
  readonly after: EffectsByLocation
  /** Calling it gives a promise (or it takes a callback): there is something to wait for. */
  readonly isAsync: boolean
  /** Bits of `content`. */
  readonly contains: number
}

const emptySummary: Summary = {
  suspends: 'never',
  before: nothing,
  after: nothing,
  isAsync: false,
  contains: 0,
}

export interface Summaries {
  (unit: FunctionUnit): Summary
  /** The users of locations, in all that was summarised. */
  readonly uses: Uses
}

/**
 * Summarises all functions, and then puts copies of small ones behind the calls of them (`splice.ts`).
 *
 * @param units All of a program, in its order.
 */
export function summarise(units: readonly FunctionUnit[]): Summaries {
  const splices = cutAtCalls(units)
  const maker = new SummaryMaker(units)
  const hosts = units.filter((unit) => unit.graph !== undefined)
  bottomUp(hosts, (component) => maker.add(component))
  maker.note(
    splices.apply((unit) => isPredicate(maker.of(unit))),
    (unit) => splices.isSetter(unit),
  )
  return Object.assign((unit: FunctionUnit) => maker.of(unit), { uses: maker.uses })
}

class HostSummary implements Summary {
  readonly suspends: Summary['suspends']
  readonly isAsync: boolean
  contains: number
  readonly #graph: Graph
  readonly #maker: SummaryMaker
  #before: EffectsByLocation | undefined
  #after: EffectsByLocation = nothing

  constructor(
    suspends: Summary['suspends'],
    isAsync: boolean,
    contains: number,
    graph: Graph,
    maker: SummaryMaker,
  ) {
    this.suspends = suspends
    this.isAsync = isAsync
    this.contains = contains
    this.#graph = graph
    this.#maker = maker
  }

  get before(): EffectsByLocation {
    if (this.#before === undefined) this.makeEffects()
    return this.#before!
  }

  get after(): EffectsByLocation {
    if (this.#before === undefined) this.makeEffects()
    return this.#after
  }

  makeEffects(): void {
    const { before, after } = this.#maker
    this.#maker.meetEffects(this.#graph)
    this.#before = before.end()
    this.#after = after.end()
  }
}

class SummaryMaker {
  readonly uses = new Uses()
  /** Where effects are met, of one function after the other. */
  readonly before = new Phase()
  readonly after = new Phase()
  /**
   * Indexed by number, counted from the first of the program: a map of objects is several times
   * slower.
   */
  readonly #first: number
  readonly #known: (Summary | undefined)[]
  readonly #isCalled: Uint8Array
  readonly #content = new Content()

  constructor(units: readonly FunctionUnit[]) {
    this.#first = units[0]?.id ?? 0
    this.#known = Array.from({ length: units.length }, () => undefined)
    this.#isCalled = new Uint8Array(units.length)
    for (const { callers, host } of units)
      if (callers.length > 0) this.#isCalled[host.id - this.#first] = 1
  }

  of(unit: FunctionUnit): Summary {
    return this.#known[unit.id - this.#first] ?? emptySummary
  }

  add(component: readonly FunctionUnit[]): void {
    const isRecursive = component.length > 1
    for (const unit of component) this.#add(unit, unit.graph!, true, isRecursive)
    if (isRecursive) for (const unit of component) this.#add(unit, unit.graph!, false, true)
  }

  #add(unit: FunctionUnit, graph: Graph, isFirst: boolean, isRecursive: boolean): void {
    // The effects of the other functions in a component are not known yet.
    const contains = this.#look(unit, graph, isFirst) | (isRecursive ? content.lateCall : 0)
    const suspends = !graph.suspends ? 'never' : canEndEarly(graph) ? 'maybe' : 'always'
    const isAsync =
      unit.isAsync ||
      ((suspends !== 'never' || ((contains & content.lateCall) !== 0 && this.#callsLate(graph))) &&
        returnsPromise(unit))
    const summary = new HostSummary(suspends, isAsync, contains, graph, this)
    const slot = unit.id - this.#first
    if (this.#isCalled[slot] === 1) summary.makeEffects()
    this.#known[slot] = summary
  }

  /**
   * Functions inserted into graphs are part of their content. A setter's value is written by its
   * callers, with their arguments; where all of them are known, it writes nothing itself.
   */
  note(all: readonly Spliced[], isSetter: (unit: FunctionUnit) => boolean): void {
    for (const { unit, callees, blocks } of all) {
      const summary = this.#known[unit.id - this.#first]
      let contains = 0
      for (const callee of callees) {
        contains |= this.of(callee).contains
        if (isSetter(callee) && callee.callers.every((site) => site.isSpliced))
          this.uses.hide(callee)
      }
      if (summary instanceof HostSummary) summary.contains |= contains
      for (const block of blocks)
        for (const [index, event] of block.events.entries())
          if (event.op === 'write' && isSetter(event.owner.host))
            this.uses.note(event, unit, unit.graph!, block, index)
    }
  }

  /** Settles its waits, and records its content. */
  #look(unit: FunctionUnit, graph: Graph, isFirst: boolean): number {
    const found = this.#content
    found.begin()
    for (const block of graph.blocks) {
      if (block.events.length === 0) continue
      this.#settleReturn(unit, graph, block)
      const { events } = block
      for (let index = 0; index < events.length; index++) {
        const event = events[index]!
        switch (event.op) {
          case 'read':
          case 'write':
            found.note(event)
            if (isFirst) this.uses.note(event, unit, graph, block, index)
            break
          case 'call':
            if ((found.bits & content.lateCall) === 0 && this.#isLate(event))
              found.bits |= content.lateCall
            break
          case 'acquire':
          case 'release':
            found.bits |= content.guard
            break
          case 'suspend':
        }
      }
    }
    return found.bits
  }

  /** `return f()` waits for f only if f waits: a function found to be synchronous is not a suspension. */
  #settleReturn(unit: FunctionUnit, graph: Graph, block: Block): void {
    const last = lastOf(block)
    if (last?.op !== 'suspend' || last.kind !== 'call') return
    const waits = last.joins.some((site) =>
      targetsOf(site).some((target) =>
        // A function that only calls itself waits for nothing.
        target === unit ? unit.isAsync || graph.suspends : this.of(target).suspends !== 'never',
      ),
    )
    if (waits) {
      graph.suspends = true
      return
    }
    block.dropLast()
    const { suspensions } = last.owner
    suspensions.splice(suspensions.indexOf(last), 1)
  }

  /** Something of it happens after a suspension. */
  #isLate(site: CallSite): boolean {
    for (const target of targetsOf(site)) {
      const { suspends, after } = this.of(target)
      if (suspends !== 'never' || after.size > 0) return true
    }
    return false
  }

  /** A call that is late, in a place that is reached. */
  #callsLate(graph: Graph): boolean {
    const reached = phasesOf(graph)
    return graph.blocks.some(
      ({ id, events }) =>
        reached[id] !== 0 && events.some((event) => event.op === 'call' && this.#isLate(event)),
    )
  }

  /** The effects of a graph, in their phases. */
  meetEffects(graph: Graph): void {
    const { before, after } = this
    const reached = phasesOf(graph)
    for (const block of graph.blocks) {
      const phase = reached[block.id]!
      if (phase === 0) continue
      const isEarly = (phase & early) !== 0
      const isLate = (phase & late) !== 0
      for (const event of block.events) {
        if (event.op === 'read' || event.op === 'write') {
          if (isEarly) before.note(event)
          if (isLate) after.note(event)
        } else if (event.op === 'call') {
          for (const target of unseenTargetsOf(event)) {
            const inner = this.of(target)
            if (isEarly) before.include(inner.before)
            if (isLate) after.include(inner.before)
            after.include(inner.after)
          }
        }
      }
    }
  }
}

/** It changes nothing and does not wait: it is called for its answer. */
export function isPredicate({ suspends, before }: Summary): boolean {
  return (
    suspends === 'never' &&
    before.effects.every(({ store, clear }) => store === undefined && clear === undefined)
  )
}

/** Whether it can end without a suspension. */
function canEndEarly(graph: Graph): boolean {
  const reached = phasesOf(graph)
  return graph.blocks.some(
    (block) =>
      (reached[block.id]! & early) !== 0 &&
      block.next.length === 0 &&
      lastOf(block)?.op !== 'suspend',
  )
}

/** It hands a promise back: `return f()`, `return p.then(…)`, or an expression body that is a call. */
function returnsPromise(unit: FunctionUnit): boolean {
  return unit.calls.some((site) => site.isReturned)
}
