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
import type { Access, Block, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { bottomUp, targetsOf } from './order.ts'

export interface Effect {
  readonly access: Access
  /** Calls that lead to it, outermost first. */
  readonly via: readonly CallSite[]
}

/** What happens to one location in one phase. */
export interface Effects {
  read: Effect | undefined
  /** A read that decides a branch. */
  check: Effect | undefined
  /** A write that stores something. */
  store: Effect | undefined
  /** A write that empties, nulls or removes. */
  clear: Effect | undefined
}

export interface Summary {
  readonly suspends: 'never' | 'maybe' | 'always'
  readonly before: ReadonlyMap<Location, Effects>
  readonly after: ReadonlyMap<Location, Effects>
  /** Calling it gives a promise (or it takes a callback): there is something to wait for. */
  readonly isAsync: boolean
}

const emptySummary: Summary = {
  suspends: 'never',
  before: new Map(),
  after: new Map(),
  isAsync: false,
}

const maxLocations = 160
const maxVia = 5

export type Summaries = (unit: FunctionUnit) => Summary

export function summarise(units: readonly FunctionUnit[]): Summaries {
  const known = new Map<FunctionUnit, Summary>()
  const lookUp: Summaries = (unit) => known.get(unit) ?? emptySummary
  const hosts = units.filter((unit) => unit.graph !== undefined)
  for (const component of bottomUp(hosts)) {
    const rounds = component.length > 1 ? 2 : 1
    for (let round = 0; round < rounds; round++)
      for (const unit of component) known.set(unit, summaryOf(unit, unit.graph!, lookUp))
  }
  return lookUp
}

/** Bits of a block: reached before any suspension, reached after one. */
const early = 1
const late = 2

/** Which blocks are reached in which phase. A suspending block passes on as late. */
export function phasesOf(graph: Graph): Uint8Array {
  const phases = new Uint8Array(graph.blocks.length)
  const stack: Block[] = [graph.entry]
  phases[graph.entry.id] = early
  while (stack.length > 0) {
    const block = stack.pop()!
    const phase = phases[block.id]!
    const passes = block.events.at(-1)?.op === 'suspend' ? late : phase
    for (const next of block.next) {
      if ((phases[next.id]! & passes) === passes) continue
      phases[next.id]! |= passes
      stack.push(next)
    }
  }
  return phases
}

/**
 * `return f()` waits for f only if f waits: what has turned out to be synchronous is no suspension.
 */
function settleReturns(unit: FunctionUnit, graph: Graph, summaries: Summaries): void {
  for (const block of graph.blocks) {
    const last = block.events.at(-1)
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

function summaryOf(unit: FunctionUnit, graph: Graph, summaries: Summaries): Summary {
  settleReturns(unit, graph, summaries)
  const before = new Map<Location, Effects>()
  const after = new Map<Location, Effects>()
  const phases = phasesOf(graph)
  let endsEarly = false
  let callsLate = false
  for (const block of graph.blocks) {
    const phase = phases[block.id]!
    if (phase === 0) continue
    if (block.next.length === 0 && (phase & early) !== 0 && block.events.at(-1)?.op !== 'suspend')
      endsEarly = true
    for (const event of block.events) {
      if (event.op === 'read' || event.op === 'write') {
        if (event.location.canonical.scope === 'parameter') continue
        if ((phase & early) !== 0) note(before, event.location.canonical, event, [])
        if ((phase & late) !== 0) note(after, event.location.canonical, event, [])
      } else if (event.op === 'call') {
        for (const target of targetsOf(event)) {
          const inner = summaries(target)
          if (inner.after.size > 0 || inner.suspends !== 'never') callsLate = true
          if ((phase & early) !== 0) include(before, inner.before, event)
          if ((phase & late) !== 0) include(after, inner.before, event)
          include(after, inner.after, event)
        }
      }
    }
  }
  const suspends = graph.suspends ? (endsEarly ? 'maybe' : 'always') : 'never'
  return {
    suspends,
    before,
    after,
    isAsync:
      unit.isAsync ||
      (suspends !== 'never' && returnsPromise(unit)) ||
      (callsLate && returnsPromise(unit)),
  }
}

/** It hands a promise back: `return f()`, `return p.then(…)`, or an expression body that is a call. */
function returnsPromise(unit: FunctionUnit): boolean {
  return unit.calls.some((site) => site.isReturned)
}

function note(
  map: Map<Location, Effects>,
  location: Location,
  access: Access,
  via: readonly CallSite[],
): void {
  let effects = map.get(location)
  if (effects === undefined) {
    if (map.size >= maxLocations) return
    map.set(
      location,
      (effects = { read: undefined, check: undefined, store: undefined, clear: undefined }),
    )
  }
  if (access.op === 'read') {
    effects.read ??= { access, via }
    if (access.checks.length > 0) effects.check ??= { access, via }
    return
  }
  if (access.isInitial) return
  if (isStore(access)) effects.store ??= { access, via }
  else effects.clear ??= { access, via }
}

function include(
  map: Map<Location, Effects>,
  inner: ReadonlyMap<Location, Effects>,
  site: CallSite,
): void {
  for (const [location, effects] of inner) {
    for (const effect of [effects.check, effects.read, effects.store, effects.clear]) {
      if (effect === undefined || effect.via.length >= maxVia) continue
      note(map, location, effect.access, [site, ...effect.via])
    }
  }
}

export function isStore(access: Access): boolean {
  return (
    access.kind === 'set' ||
    access.kind === 'fill' ||
    access.kind === 'rmw' ||
    access.kind === 'append'
  )
}
