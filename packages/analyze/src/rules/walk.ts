/** Small questions that several rules ask. */
import type { Access, Block, Event, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer, Position } from '../summaries/paths.ts'
import { isStore } from '../summaries/effects.ts'
import type { At } from './host.ts'

export function* eventsOf(graph: Graph): Generator<At<Event>> {
  for (const block of graph.blocks)
    for (const [index, event] of block.events.entries()) yield { block, index, event }
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
  return unit.namedAs.slice(unit.namedAs.lastIndexOf('.') + 1)
}

/** A function that takes things down. */
export function isTeardown(unit: FunctionUnit): boolean {
  return teardownName.test(lastName(unit))
}
