/**
 * A function with a graph of its own, and its events, sorted.
 *
 * It is sorted when a rule asks: most functions contain nothing that any rule searches for.
 */
import type { Event, Graph, GuardEvent } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { content } from '../summaries/content.ts'
import type { Located } from '../summaries/uses.ts'
import type { Group } from './group.ts'
import type { Indirect } from './indirect.ts'
import { sortEvents } from './sort-events.ts'
import type { At, Sorted } from './sort-events.ts'

export type { At, Located }

const noGroups: readonly Group[] = []
const noAccesses: readonly Located[] = []

export class Host {
  readonly unit: FunctionUnit
  readonly graph: Graph
  /** Bits of `content`. */
  readonly #contains: number
  readonly #indirect: Indirect
  #known: Sorted | undefined
  #byLocation: ReadonlyMap<Location, Group> | undefined
  #checked: readonly Group[] | undefined
  #written: readonly Group[] | undefined
  #continuations: ReadonlyMap<number, At<Suspension>> | undefined

  constructor(unit: FunctionUnit, graph: Graph, contains: number, indirect: Indirect) {
    this.unit = unit
    this.graph = graph
    this.#contains = contains
    this.#indirect = indirect
  }

  get isWriting(): boolean {
    return (this.#contains & content.write) !== 0
  }

  /** It calls something that may continue after its own suspension. */
  get callsLate(): boolean {
    return (this.#contains & content.lateCall) !== 0
  }

  get #sorted(): Sorted {
    return (this.#known ??= sortEvents(this.unit, this.graph, this.#indirect))
  }

  /** Its effects on each location. */
  get groups(): readonly Group[] {
    return this.#sorted.groups
  }

  /** The groups with a read that decides a branch. */
  get checked(): readonly Group[] {
    return (this.#checked ??= this.groups.filter((group) => group.isChecked))
  }

  /** The groups with a write. */
  get written(): readonly Group[] {
    if (!this.isWriting) return noGroups
    return (this.#written ??= this.groups.filter((group) => group.isWritten))
  }

  accessesOf(location: Location): readonly Located[] {
    this.#byLocation ??= new Map(this.groups.map((group) => [group.location, group]))
    return this.#byLocation.get(location)?.accesses ?? noAccesses
  }

  get calls(): readonly At<CallSite>[] {
    return this.#sorted.calls
  }

  /** Calls of functions of the program. */
  get linked(): readonly At<CallSite>[] {
    return this.#sorted.linked
  }

  get awaited(): readonly At<CallSite>[] {
    return this.#sorted.awaited
  }

  get suspensions(): readonly At<Suspension>[] {
    return this.#sorted.suspensions
  }

  /** Where a callback of this host begins that a call has been given to run it later. */
  beginOf(callback: FunctionUnit, givenTo: CallSite): At<Suspension> | undefined {
    this.#continuations ??= new Map(
      this.suspensions
        .filter(({ event }) => event.kind === 'continuation')
        .map((one) => [one.event.end, one]),
    )
    const use = givenTo.callbacks.find(({ unit }) => unit === callback)
    return this.#continuations.get(use?.at ?? Math.min(givenTo.end, callback.start))
  }

  get guards(): readonly At<GuardEvent>[] {
    return (this.#contains & content.guard) === 0 ? [] : this.#sorted.guards
  }
}

/** Events of a kind, in the order of the text. */
export function eventsIn<E extends Event>(
  graph: Graph,
  isWanted: (event: Event) => event is E,
): At<E>[] {
  const found: At<E>[] = []
  for (const block of graph.blocks) {
    const { events } = block
    for (let index = 0; index < events.length; index++) {
      const event = events[index]!
      if (isWanted(event)) found.push({ block, index, event })
    }
  }
  return found
}

/** Whether it decides a branch. */
export function isCheck({ access }: Located): boolean {
  return access.op === 'read' && access.checks.length > 0
}

export function pushTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
