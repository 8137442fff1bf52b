/**
 * What a function does to shared locations, in order: before its first suspension, and after it.
 *
 * Summaries are computed callees first and contain those of the callees, so a caller never looks
 * deeper than one call. Inside a component of mutual recursion they are computed twice, which is
 * enough for what is direct, and bounds the time.
 *
 * I1. `before` happens in the region of the caller. Nothing in `after` does.
 * I2. Sizes are bounded: what is beyond is dropped, so a summary may miss effects but not invent them.
 */
import type { Access, Block, Event, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { Effects } from './effects.ts'
import { bottomUp, targetsOf } from './order.ts'

export interface Summary {
  readonly suspends: 'never' | 'maybe' | 'always'
  readonly before: ReadonlyMap<Location, Effects>
  readonly after: ReadonlyMap<Location, Effects>
  /** Calling it gives a promise (or it takes a callback): there is something to wait for. */
  readonly isAsync: boolean
  /** What is in the text of it, whether or not it is reached: bits of `content`. */
  readonly contains: number
}

/** So that nobody has to walk a graph again to find out that it has nothing of the kind. */
export const content = { write: 1, guard: 2, assertion: 4 } as const

const nothing: ReadonlyMap<Location, Effects> = new Map()

const emptySummary: Summary = {
  suspends: 'never',
  before: nothing,
  after: nothing,
  isAsync: false,
  contains: 0,
}

const maxLocations = 160

export type Summaries = (unit: FunctionUnit) => Summary

export function summarise(units: readonly FunctionUnit[]): Summaries {
  const known = new Map<FunctionUnit, Summary>()
  const lookUp: Summaries = (unit) => known.get(unit) ?? emptySummary
  const hosts = units.filter((unit) => unit.graph !== undefined)
  const before = new Phase()
  const after = new Phase()
  bottomUp(hosts, (component) => {
    const rounds = component.length > 1 ? 2 : 1
    for (let round = 0; round < rounds; round++)
      for (const unit of component)
        known.set(unit, summaryOf(unit, unit.graph!, lookUp, before, after))
  })
  return lookUp
}

/** Bits of a block: reached before any suspension, reached after one. */
const early = 1
const late = 2

let phases = new Uint8Array(1_024)
const waiting: Block[] = []

/**
 * Which blocks are reached in which phase. A suspending block passes on as late.
 * The answer is valid until the next question: nearly every host is asked about, and only once.
 */
export function phasesOf(graph: Graph): Uint8Array {
  const count = graph.blocks.length
  if (phases.length < count) phases = new Uint8Array(count * 2)
  else phases.fill(0, 0, count)
  phases[graph.entry.id] = early
  waiting.push(graph.entry)
  for (let block = waiting.pop(); block !== undefined; block = waiting.pop()) {
    const passes = lastOf(block)?.op === 'suspend' ? late : phases[block.id]!
    for (const next of block.next) {
      if ((phases[next.id]! & passes) === passes) continue
      phases[next.id]! |= passes
      waiting.push(next)
    }
  }
  return phases
}

function lastOf({ events }: Block): Event | undefined {
  return events.length === 0 ? undefined : events[events.length - 1]
}

/**
 * `return f()` waits for f only if f waits: what has turned out to be synchronous is no suspension.
 */
function settleReturns(unit: FunctionUnit, graph: Graph, summaries: Summaries): void {
  for (const block of graph.blocks) {
    const last = lastOf(block)
    if (last?.op !== 'suspend' || last.kind !== 'call') continue
    const waits = last.joins.some((site) =>
      targetsOf(site).some((target) => target === unit || summaries(target).suspends !== 'never'),
    )
    if (waits) {
      graph.suspends = true
      continue
    }
    block.events.pop()
    const { suspensions } = last.owner
    suspensions.splice(suspensions.indexOf(last), 1)
  }
}

function summaryOf(
  unit: FunctionUnit,
  graph: Graph,
  summaries: Summaries,
  before: Phase,
  after: Phase,
): Summary {
  settleReturns(unit, graph, summaries)
  const reached = phasesOf(graph)
  let endsEarly = false
  let callsLate = false
  let contains = 0
  for (const block of graph.blocks) {
    for (const event of block.events) contains |= contentOf(event)
    const phase = reached[block.id]!
    if (phase === 0) continue
    const isEarly = (phase & early) !== 0
    const isLate = (phase & late) !== 0
    if (isEarly && block.next.length === 0 && lastOf(block)?.op !== 'suspend') endsEarly = true
    for (const event of block.events) {
      if (event.op === 'read' || event.op === 'write') {
        if (isEarly) before.note(event)
        if (isLate) after.note(event)
      } else if (event.op === 'call') {
        for (const target of targetsOf(event)) {
          const inner = summaries(target)
          if (inner.after.size > 0 || inner.suspends !== 'never') callsLate = true
          if (isEarly) before.include(inner.before)
          if (isLate) after.include(inner.before)
          after.include(inner.after)
        }
      }
    }
  }
  const suspends = graph.suspends ? (endsEarly ? 'maybe' : 'always') : 'never'
  return {
    suspends,
    before: before.end(),
    after: after.end(),
    isAsync: unit.isAsync || ((suspends !== 'never' || callsLate) && returnsPromise(unit)),
    contains,
  }
}

function contentOf(event: Event): number {
  switch (event.op) {
    case 'read':
      return event.isAsserted ? content.assertion : 0
    case 'write':
      return content.write
    case 'acquire':
    case 'release':
      return content.guard
    case 'call':
    case 'suspend':
      return 0
  }
}

/** It hands a promise back: `return f()`, `return p.then(…)`, or an expression body that is a call. */
function returnsPromise(unit: FunctionUnit): boolean {
  return unit.calls.some((site) => site.isReturned)
}

/** Callees that are remembered: a function that calls more of them includes some of them twice. */
const maxIncluded = 32

/**
 * The effects of one phase of one function after the other, as they are met. Most functions have none
 * in one of the two, and nothing is made for that.
 */
class Phase {
  #effects: Map<Location, Effects> | undefined
  #included: ReadonlyMap<Location, Effects>[] = []

  /** What was met; the next function begins. */
  end(): ReadonlyMap<Location, Effects> {
    const effects = this.#effects
    this.#effects = undefined
    if (this.#included.length > 0) this.#included = []
    return effects ?? nothing
  }

  /** An access of the function itself. */
  note(access: Access): void {
    const location = access.location.canonical
    if (location.scope === 'parameter') return
    const effects = (this.#effects ??= new Map())
    const known = effects.get(location)
    if (known === undefined) {
      if (effects.size < maxLocations) effects.set(location, Effects.of(access))
    } else if (!known.covers(access)) {
      effects.set(location, known.and(Effects.of(access)))
    }
  }

  /** What a function that is called does. The second call of the same one adds nothing. */
  include(inner: ReadonlyMap<Location, Effects>): void {
    if (inner.size === 0 || this.#included.includes(inner)) return
    if (this.#included.length < maxIncluded) this.#included.push(inner)
    const effects = (this.#effects ??= new Map())
    for (const [location, one] of inner) {
      const seen = one.farther()
      if (seen === undefined) continue
      const known = effects.get(location)
      if (known === undefined) {
        if (effects.size < maxLocations) effects.set(location, seen)
        continue
      }
      const both = known.and(seen)
      if (both !== known) effects.set(location, both)
    }
  }
}
