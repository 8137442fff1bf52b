/** What is in a graph, sorted by what rules ask for. */
import type { Access, Block, Check, Event, Graph, GuardEvent } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import type { Position } from '../summaries/paths.ts'
import { withRoomFor } from '../summaries/room.ts'
import { Group } from './group.ts'
import type { Indirect } from './indirect.ts'

/** An event with where it is. */
export interface At<E extends Event> extends Position {
  readonly event: E
}

/** Everything in the order of the graph; groups in that of their first accesses. */
export interface Sorted {
  /**
   * Grouped by canonical location; a check through a function counts as a read of what that
   * function checks.
   */
  readonly groups: readonly Group[]
  readonly calls: readonly At<CallSite>[]
  /** The functions of the program. */
  readonly linked: readonly At<CallSite>[]
  readonly awaited: readonly At<CallSite>[]
  readonly suspensions: readonly At<Suspension>[]
  readonly guards: readonly At<GuardEvent>[]
}

export function sortEvents(unit: FunctionUnit, graph: Graph, indirect: Indirect): Sorted {
  const grouping = new Grouping(unit, graph)
  const calls: At<CallSite>[] = []
  const linked: At<CallSite>[] = []
  const awaited: At<CallSite>[] = []
  const suspensions: At<Suspension>[] = []
  const guards: At<GuardEvent>[] = []
  for (const block of graph.blocks) {
    const { events } = block
    for (let index = 0; index < events.length; index++) {
      const event = events[index]!
      switch (event.op) {
        case 'suspend':
          suspensions.push({ block, index, event })
          continue
        case 'acquire':
        case 'release':
          guards.push({ block, index, event })
          continue
        case 'call': {
          const call = { block, index, event }
          calls.push(call)
          if (event.targets.length > 0) linked.push(call)
          if (event.isAwaited) awaited.push(call)
          break
        }
        case 'read':
        case 'write':
          grouping.add(block, index, event)
      }
      if (event.checks.length > 0)
        for (const location of indirect.lookedAtBy(event))
          grouping.add(block, index, checkOf(event, location))
    }
  }
  return { groups: grouping.groups, calls, linked, awaited, suspensions, guards }
}

/**
 * Indexed by the number of a location: the position of its group in the list that is being made. An
 * entry of another host does not match its location, so the array is never cleared.
 */
let places = new Int32Array(1_024)

class Grouping {
  readonly groups: Group[] = []
  readonly #unit: FunctionUnit
  readonly #graph: Graph

  constructor(unit: FunctionUnit, graph: Graph) {
    this.#unit = unit
    this.#graph = graph
  }

  add(block: Block, index: number, access: Access): void {
    const location = access.location.canonical
    const located = { access, host: this.#unit, graph: this.#graph, block, index }
    if (location.id >= places.length) places = withRoomFor(location.id, places)
    const known = this.groups[places[location.id]!]
    if (known?.location === location) known.add(located)
    else places[location.id] = this.groups.push(new Group(location, located)) - 1
  }
}

/** A check through a function or a getter is a check of the locations that it checks. */
function checkOf(event: CallSite | Access, location: Location): Access {
  const { owner, start, end } = event
  const checks = event.op === 'call' && mayAnswerNo(event) ? event.checks.map(open) : event.checks
  return {
    op: 'read',
    location,
    owner,
    start,
    end,
    kind: undefined,
    value: undefined,
    checks,
    isInitial: false,
    use: undefined,
    isAsserted: false,
  }
}

/** A check whose outcome does not say whether the location is there. */
const open = (check: Check): Check => ({ ...check, whenPresent: undefined, whenAbsent: undefined })

/**
 * `hasExpired()` says yes when nothing is there, `isOpen()` when something is. A function that negates or
 * compares may be of either kind.
 */
function mayAnswerNo({ targets }: CallSite): boolean {
  return targets.some(({ file, start, end }) =>
    /![^=]|[=!]==?\s*(?:undefined|null|false)\b|(?<!=)[<>]=?\s|\belse\b/.test(
      file.parsed.text.slice(start, Math.min(end, start + 2_000)),
    ),
  )
}
