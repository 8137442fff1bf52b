/**
 * A function with a graph of its own, and what is in it, sorted.
 *
 * It is sorted when a rule asks: most functions are about nothing that any rule looks for.
 */
import type { Access, Block, Event, Graph, GuardEvent } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { content } from '../summaries/content.ts'
import type { Position } from '../summaries/paths.ts'
import type { Located } from '../summaries/uses.ts'
import type { Indirect } from './indirect.ts'

/** An event with where it is. */
export interface At<E extends Event> extends Position {
  readonly event: E
}

export type { Located }

type ByLocation = ReadonlyMap<Location, readonly Located[]>

const nothing: ByLocation = new Map()

interface Sorted {
  readonly accesses: Map<Location, Located[]>
  readonly calls: At<CallSite>[]
  readonly suspensions: At<Suspension>[]
  readonly guards: At<GuardEvent>[]
}

export class Host {
  readonly unit: FunctionUnit
  readonly graph: Graph
  /** Bits of `content`. */
  readonly #contains: number
  readonly #indirect: Indirect
  #sorted: Sorted | undefined
  #written: ByLocation | undefined

  constructor(unit: FunctionUnit, graph: Graph, contains: number, indirect: Indirect) {
    this.unit = unit
    this.graph = graph
    this.#contains = contains
    this.#indirect = indirect
  }

  get isWriting(): boolean {
    return (this.#contains & content.write) !== 0
  }

  /** It calls something that may go on after its own suspension. */
  get callsLate(): boolean {
    return (this.#contains & content.lateCall) !== 0
  }

  /** By canonical location, with checks through functions as reads of what those look at. */
  get accesses(): ByLocation {
    return (this.#sorted ??= this.#sort()).accesses
  }

  /** The accesses of the locations that are written here, reads included. */
  get written(): ByLocation {
    if (!this.isWriting) return nothing
    return (this.#written ??= writtenOf(this.accesses))
  }

  get calls(): readonly At<CallSite>[] {
    return (this.#sorted ??= this.#sort()).calls
  }

  get suspensions(): readonly At<Suspension>[] {
    return (this.#sorted ??= this.#sort()).suspensions
  }

  get guards(): readonly At<GuardEvent>[] {
    if ((this.#contains & content.guard) === 0) return []
    return (this.#sorted ??= this.#sort()).guards
  }

  #sort(): Sorted {
    const { graph } = this
    const sorted: Sorted = { accesses: new Map(), calls: [], suspensions: [], guards: [] }
    for (const block of graph.blocks) {
      const { events } = block
      for (let index = 0; index < events.length; index++) {
        const event = events[index]!
        switch (event.op) {
          case 'suspend':
            sorted.suspensions.push({ block, index, event })
            break
          case 'acquire':
          case 'release':
            sorted.guards.push({ block, index, event })
            break
          case 'call':
            sorted.calls.push({ block, index, event })
            if (event.checks.length > 0) this.#addIndirect(sorted, block, index, event)
            break
          case 'read':
          case 'write':
            this.#add(sorted, block, index, event)
            if (event.checks.length > 0) this.#addIndirect(sorted, block, index, event)
        }
      }
    }
    return sorted
  }

  #add({ accesses }: Sorted, block: Block, index: number, access: Access): void {
    const { unit: host, graph } = this
    pushTo(accesses, access.location.canonical, { access, host, graph, block, index })
  }

  #addIndirect(sorted: Sorted, block: Block, index: number, event: CallSite | Access): void {
    for (const location of this.#indirect.lookedAtBy(event))
      this.#add(sorted, block, index, checkOf(event, location))
  }
}

function writtenOf(accesses: ByLocation): ByLocation {
  const written = new Map<Location, readonly Located[]>()
  for (const [location, all] of accesses)
    if (all.some(({ access }) => access.op === 'write')) written.set(location, all)
  return written
}

/** A check through a function or a getter is a check of what that looks at. */
function checkOf({ owner, start, end, checks }: CallSite | Access, location: Location): Access {
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

/** It decides a branch. */
export function isCheck({ access }: Located): boolean {
  return access.op === 'read' && access.checks.length > 0
}

export function pushTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
