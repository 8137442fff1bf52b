/** Small questions that several rules ask. */
import type { Access, Block, Event, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit, Suspension } from '../ir/program.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer, Position } from '../summaries/paths.ts'
import { isStore } from '../summaries/effects.ts'
import type { At } from './host.ts'
import { isAnswer } from './shared.ts'

export function* eventsOf(graph: Graph): Generator<At<Event>> {
  for (const block of graph.blocks)
    for (const [index, event] of block.events.entries()) yield { block, index, event }
}

/**
 * A way from a position over at least one suspension to an event that `isEnd` accepts.
 * `isBroken` gives a way up: it sees events with whether a suspension was passed. `isWait` says which
 * suspensions count.
 */
export function overSuspension(
  graph: Graph,
  from: Position,
  isEnd: (event: Event, block: Block) => boolean,
  isBroken: (event: Event, isAfter: boolean) => boolean = () => false,
  isWait: (suspension: Suspension) => boolean = () => true,
): Answer | undefined {
  return ask(graph, from, {
    states: 2,
    start: 0,
    step(event, state, block) {
      if (state === 1 && isEnd(event, block)) return found
      if (isBroken(event, state === 1)) return stop
      return event.op === 'suspend' && isWait(event) ? 1 : state
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
  return (
    event.op === 'read' &&
    event.checks.some((check) => check.isIdentity) &&
    !isAnswer(event.location.canonical)
  )
}

/** State is checked, or a function is called, and the answer decides. The result of a call is not state. */
export function isLook(event: Event): boolean {
  if (event.op === 'call') return event.checks.length > 0
  return event.op === 'read' && event.checks.length > 0 && !isAnswer(event.location.canonical)
}

/** Stores something, at this location or at an entry of it. */
export function isStoreTo(event: Event, location: Location): event is Access {
  return event.op === 'write' && isStore(event) && isPartOf(event.location.canonical, location)
}

export function isPartOf(location: Location, whole: Location): boolean {
  return location === whole || location.parent?.canonical === whole
}

/** The component that state belongs to: its class, its module, the function that makes it, a parameter. */
export function baseOf(location: Location): unknown {
  let at = location
  while (at.parent !== undefined) at = at.parent
  if (at.class !== undefined) return at.class
  if (at.scope === 'module') return at.file
  return at.scope === 'closure' ? at.unit : at
}

/** The function itself, or one that is written inside it. */
export function isWithin(inner: FunctionUnit, outer: FunctionUnit): boolean {
  for (let at: FunctionUnit | undefined = inner; at !== undefined; at = at.parent)
    if (at === outer) return true
  return false
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

const inTurn =
  /^(?:next|return|_read|_write|_writev|_transform|_flush|_final|_destroy|_construct|pull)$/

/** Streams and iterators are called again only when the last call has ended. */
export function isCalledInTurn(unit: FunctionUnit): boolean {
  return inTurn.test(lastName(unit))
}

/** `new Promise((resolve, reject) => …)`. */
export function isExecutor({ start, file }: FunctionUnit): boolean {
  const before = file.parsed.text.slice(Math.max(0, start - 60), start)
  return /\bnew\s+[\w$.]*Promise\s*(?:<[^()]*>)?\s*\(\s*$/.test(before)
}
