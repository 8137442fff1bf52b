/** Everything rules may ask about a program. Computed once, lazily where it is dear. */
import { HeldGuards } from '../guards/held.ts'
import { Reservations } from '../guards/reservation.ts'
import { Serial } from '../guards/serial.ts'
import type { Access, Block, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit, Program, Reach, Suspension } from '../ir/program.ts'
import type { Summaries } from '../summaries/summary.ts'

/** An access with where it is. */
export interface Located {
  readonly access: Access
  readonly host: FunctionUnit
  readonly graph: Graph
  readonly block: Block
  readonly index: number
}

export interface Host {
  readonly unit: FunctionUnit
  readonly graph: Graph
  /** By canonical location. */
  readonly accesses: ReadonlyMap<Location, readonly Located[]>
}

export class Model {
  readonly program: Program
  readonly summaries: Summaries
  readonly hosts: readonly Host[]
  readonly reservations: Reservations
  readonly held = new HeldGuards()
  readonly serial: Serial
  readonly #accesses = new Map<Location, Located[]>()
  readonly #fields = new Map<string, Located[]>()

  constructor(program: Program, summaries: Summaries) {
    this.program = program
    this.summaries = summaries
    this.reservations = new Reservations(summaries)
    this.serial = new Serial(this.reservations, this.held)
    this.hosts = program.units.flatMap((unit) =>
      unit.graph === undefined ? [] : [this.#index(unit, unit.graph)],
    )
  }

  #index(unit: FunctionUnit, graph: Graph): Host {
    const accesses = new Map<Location, Located[]>()
    for (const block of graph.blocks) {
      for (const [index, event] of block.events.entries()) {
        if (event.op !== 'read' && event.op !== 'write') continue
        const located: Located = { access: event, host: unit, graph, block, index }
        const location = event.location.canonical
        push(accesses, location, located)
        push(this.#accesses, location, located)
        if (event.op === 'write') push(this.#fields, location.field, located)
      }
    }
    return { unit, graph, accesses }
  }

  /** All accesses of a location in the program. */
  accessesOf(location: Location): readonly Located[] {
    return this.#accesses.get(location.canonical) ?? []
  }

  /** Writes to fields of this name, whoever owns them: for objects whose class is not known. */
  writesOfField(field: string): readonly Located[] {
    return this.#fields.get(field) ?? []
  }

  /** What protects a passage of a host over a suspension; undefined when nothing does. */
  guardOver(
    host: FunctionUnit,
    suspension: Suspension | undefined,
    from: Located,
    to: { readonly block: Block; readonly event: Access | Suspension },
  ): string | undefined {
    if (suspension !== undefined) {
      const reserved = this.reservations.at(host, suspension)
      if (reserved !== undefined && reserved !== from.access.location.canonical)
        return reserved.name
    }
    const here = this.held.at(from.graph, from.block.id, from.access)
    if (here.size > 0) {
      const there = this.held.at(from.graph, to.block.id, to.event)
      for (const guard of here) if (there.has(guard)) return guard
    }
    const chain = this.serial.chainAt(from.graph, from.access)
    if (chain !== undefined && chain === this.serial.chainAt(from.graph, to.event)) return chain
    return this.serial.guardOf(host)
  }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

const strongReach: readonly Reach[] = ['request', 'parallel', 'timer', 'event']

/** The best reason to believe that a function overlaps with itself or others. */
export function overlapOf(unit: FunctionUnit): { reach: Reach; text: string } | undefined {
  for (const reach of [...strongReach, 'exported' as const]) {
    const why = unit.reachWhy.get(reach)
    if (why !== undefined) return { reach, text: why.text }
  }
  return undefined
}

export function hasStrongReach(unit: FunctionUnit): boolean {
  return strongReach.some((reach) => unit.reach.has(reach))
}
