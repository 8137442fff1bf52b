/** Everything rules may ask about a program. Computed once, lazily where it is dear. */
import { HeldGuards } from '../guards/held.ts'
import { isKeyed, protects, reservationName } from '../guards/key.ts'
import { Reservations } from '../guards/reservation.ts'
import { Serial } from '../guards/serial.ts'
import type { Access, Block, Event, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Program, Reach, Suspension } from '../ir/program.ts'
import type { Summaries } from '../summaries/summary.ts'
import { callsIn } from './walk.ts'

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

/** A predicate that looks at more is about something larger. */
const maxAsked = 6

export class Model {
  readonly program: Program
  readonly summaries: Summaries
  readonly hosts: readonly Host[]
  readonly reservations: Reservations
  readonly held = new HeldGuards()
  readonly serial: Serial
  readonly #accesses = new Map<Location, Located[]>()
  readonly #indirect = new Map<Event, ReadonlySet<Location>>()
  readonly #fields = new Map<string, Located[]>()
  readonly #singleFlight = new Map<FunctionUnit, boolean>()
  #calls: Map<string, CallSite[]> | undefined

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
        const at = { host: unit, graph, block, index }
        if (event.op === 'call') {
          if (event.checks.length > 0) this.#addIndirect(accesses, event, this.#askedBy(event), at)
          continue
        }
        if (event.op !== 'read' && event.op !== 'write') continue
        const located: Located = { access: event, ...at }
        const location = event.location.canonical
        push(accesses, location, located)
        push(this.#accesses, location, located)
        if (event.op === 'write') push(this.#fields, location.field, located)
        else if (event.checks.length > 0 && location.class !== undefined)
          this.#addIndirect(accesses, event, this.#gottenBy(location), at)
      }
    }
    return { unit, graph, accesses }
  }

  /** A check through a function or a getter is a check of what that looks at. */
  #addIndirect(
    accesses: Map<Location, Located[]>,
    event: CallSite | Access,
    locations: readonly Location[],
    at: Omit<Located, 'access'>,
  ): void {
    if (locations.length === 0) return
    this.#indirect.set(event, new Set(locations))
    for (const location of locations) {
      const access: Access = {
        op: 'read',
        location,
        owner: event.owner,
        start: event.start,
        end: event.end,
        kind: undefined,
        value: undefined,
        checks: event.checks,
        isInitial: false,
        use: undefined,
        isAsserted: false,
      }
      push(accesses, location, { access, ...at })
    }
  }

  /** What a predicate looks at: a function that changes nothing and does not wait. */
  #askedBy(site: CallSite): readonly Location[] {
    const found: Location[] = []
    for (const target of site.targets) found.push(...this.#readsOf(target))
    return found.length > maxAsked ? [] : found
  }

  #gottenBy(location: Location): readonly Location[] {
    for (let at = location.class; at !== undefined; at = at.superClass) {
      const unit = at.methods.get(location.field)
      if (unit !== undefined) return unit.kind === 'getter' ? this.#readsOf(unit) : []
    }
    return []
  }

  #readsOf(unit: FunctionUnit): readonly Location[] {
    const summary = this.summaries(unit)
    if (summary.suspends !== 'never' || summary.before.size > maxAsked) return []
    const found: Location[] = []
    for (const [location, effects] of summary.before) {
      if (effects.store !== undefined || effects.clear !== undefined) return []
      found.push(location)
    }
    return found
  }

  /** Whether an event looks at a location and decides on it, itself or through a function. */
  isCheckOf(event: Event, location: Location): boolean {
    if (event.op !== 'read' && event.op !== 'call') return false
    if (event.checks.length === 0) return false
    if (event.op === 'read' && event.location.canonical === location) return true
    return this.#indirect.get(event)?.has(location) === true
  }

  /** All accesses of a location in the program. */
  accessesOf(location: Location): readonly Located[] {
    return this.#accesses.get(location.canonical) ?? []
  }

  /** Writes to fields of this name, whoever owns them: for objects whose class is not known. */
  writesOfField(field: string): readonly Located[] {
    return this.#fields.get(field) ?? []
  }

  /** Calls of anything of this name. */
  callsNamed(name: string): readonly CallSite[] {
    if (this.#calls === undefined) {
      this.#calls = new Map()
      for (const unit of this.program.units)
        for (const site of unit.calls) push(this.#calls, site.name, site)
    }
    return this.#calls.get(name) ?? []
  }

  /** Callers that overlap share one run of it: it stores the promise of its work before it waits. */
  isSingleFlight(unit: FunctionUnit): boolean {
    const known = this.#singleFlight.get(unit)
    if (known !== undefined) return known
    this.#singleFlight.set(unit, false)
    const calls = unit.host.graph === undefined ? [] : callsIn(unit.host.graph)
    const answer = calls.some(
      ({ event }) => event.isJoined && this.reservations.during(unit.host, event) !== undefined,
    )
    this.#singleFlight.set(unit, answer)
    return answer
  }

  /** What protects a passage of a host over a suspension; undefined when nothing does. */
  guardOver(
    host: FunctionUnit,
    suspension: Suspension | undefined,
    from: Located,
    to: { readonly block: Block; readonly event: Access | Suspension },
  ): string | undefined {
    const { location } = from.access
    for (const name of this.#guardsOver(host, suspension, from, to))
      if (protects(name, location.canonical)) return name
    return undefined
  }

  *#guardsOver(
    host: FunctionUnit,
    suspension: Suspension | undefined,
    from: Located,
    to: { readonly block: Block; readonly event: Access | Suspension },
  ): Generator<string> {
    if (suspension !== undefined) {
      const reserved = this.reservations.at(host, suspension)
      if (reserved !== undefined && reserved !== from.access.location.canonical)
        yield reservationName(reserved)
    }
    const here = this.held.at(from.graph, from.block.id, from.access)
    if (here.size > 0) {
      const there = this.held.at(from.graph, to.block.id, to.event)
      for (const guard of here) if (there.has(guard)) yield guard
    }
    const chain = this.serial.chainAt(from.graph, from.access)
    if (chain !== undefined && chain === this.serial.chainAt(from.graph, to.event)) yield chain
    const serial = this.serial.guardOf(host)
    // A key of the callers means something here only if the entry is chosen by what they passed.
    if (serial !== undefined && (!isKeyed(serial) || isChosenByCaller(host, from.access.location)))
      yield serial
  }
}

function isChosenByCaller(host: FunctionUnit, location: Location): boolean {
  const key = /\[([\w$]+)[^[]*$/.exec(location.name)?.[1]
  return key !== undefined && host.params.includes(key)
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
