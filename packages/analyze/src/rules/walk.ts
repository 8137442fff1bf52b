/** Small questions that several rules ask. */
import type { Access, Block, Event, Graph, GuardEvent } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer, Position } from '../summaries/paths.ts'
import { isStore } from '../summaries/effects.ts'

export interface At<E extends Event> extends Position {
  readonly event: E
}

export function* eventsOf(graph: Graph): Generator<At<Event>> {
  for (const block of graph.blocks)
    for (const [index, event] of block.events.entries()) yield { block, index, event }
}

interface Sorted {
  readonly calls: At<CallSite>[]
  readonly suspensions: At<Suspension>[]
  readonly guards: At<GuardEvent>[]
}

const sorted = new WeakMap<Graph, Sorted>()

/** Events by kind, found once: nearly every rule asks for them. */
function sortedIn(graph: Graph): Sorted {
  const known = sorted.get(graph)
  if (known !== undefined) return known
  const result: Sorted = { calls: [], suspensions: [], guards: [] }
  for (const block of graph.blocks) {
    for (let index = 0; index < block.events.length; index++) {
      const event = block.events[index]!
      if (event.op === 'call') result.calls.push({ block, index, event })
      else if (event.op === 'suspend') result.suspensions.push({ block, index, event })
      else if (event.op === 'acquire' || event.op === 'release')
        result.guards.push({ block, index, event })
    }
  }
  sorted.set(graph, result)
  return result
}

export function callsIn(graph: Graph): readonly At<CallSite>[] {
  return sortedIn(graph).calls
}

export function suspensionsIn(graph: Graph): readonly At<Suspension>[] {
  return sortedIn(graph).suspensions
}

export function guardsIn(graph: Graph): readonly At<GuardEvent>[] {
  return sortedIn(graph).guards
}

/**
 * A way from a position over at least one suspension to an event that `isEnd` accepts.
 * `isBroken` gives a way up: it sees events with whether a suspension was passed.
 */
export function overSuspension(
  graph: Graph,
  from: Position,
  isEnd: (event: Event, block: Block) => boolean,
  isBroken: (event: Event, isAfter: boolean) => boolean = () => false,
): Answer | undefined {
  return ask(graph, from, {
    states: 2,
    start: 0,
    step(event, state, block) {
      if (state === 1 && isEnd(event, block)) return found
      if (isBroken(event, state === 1)) return stop
      return event.op === 'suspend' ? 1 : state
    },
  })
}

/** A way from a position to an event without a suspension between them. */
export function inSameRegion(
  graph: Graph,
  from: Position,
  isEnd: (event: Event) => boolean,
  isBroken: (event: Event) => boolean = () => false,
): Answer | undefined {
  return ask(graph, from, {
    states: 1,
    start: 0,
    step: (event) => (isEnd(event) ? found : event.op === 'suspend' || isBroken(event) ? stop : 0),
  })
}

export function isIdentityCheck(event: Event): boolean {
  return event.op === 'read' && event.checks.some((check) => check.isIdentity)
}

/** Stores something, at this location or at an entry of it. */
export function isStoreTo(event: Event, location: Location): event is Access {
  return event.op === 'write' && isStore(event) && isPartOf(event.location.canonical, location)
}

export function isPartOf(location: Location, whole: Location): boolean {
  return location === whole || location.parent?.canonical === whole
}

/** The object that a field belongs to: the class, the parameter, the module's variable. */
export function baseOf(location: Location): unknown {
  let at = location
  while (at.parent !== undefined) at = at.parent
  return at.class ?? at
}

const teardownName =
  /^#?_*(?:close|stop|destroy|dispose|shut_?down|end|terminate|disconnect|clean_?up|tear_?down|kill|abort|quit|unmount|detach|cancel|remove|drain|\[Symbol\.(?:async)?dispose\])/i

export function lastName(unit: FunctionUnit): string {
  const parts = unit.namedAs.split('.')
  return parts.at(-1) ?? ''
}

/** A function that takes things down. */
export function isTeardown(unit: FunctionUnit): boolean {
  return teardownName.test(lastName(unit))
}
