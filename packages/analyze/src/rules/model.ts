/** Everything rules may ask about a program. Computed once, lazily where it is dear. */
import { HeldGuards } from '../guards/held.ts'
import { isKeyed, protects, reservationName } from '../guards/key.ts'
import { Reservations } from '../guards/reservation.ts'
import { Serial } from '../guards/serial.ts'
import type { Access, Block, Event, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit, Program, Reach, Suspension } from '../ir/program.ts'
import { isStore } from '../summaries/effects.ts'
import { content } from '../summaries/summary.ts'
import type { Summaries } from '../summaries/summary.ts'
import { Calls } from './calls.ts'
import { Host, pushTo } from './host.ts'
import type { Located } from './host.ts'
import { Indirect } from './indirect.ts'

/** Hosts by what is in them, in the order of the program: a rule looks at those it can be about. */
interface Hosts {
  readonly all: Host[]
  readonly suspending: Host[]
  /** Take or give back a guard. */
  readonly guarding: Host[]
  /** Empty, null or remove something. */
  readonly clearing: Host[]
  /** Write entries of containers. */
  readonly writingEntries: Host[]
  /** Read something with `!`. */
  readonly asserting: Host[]
}

export class Model {
  readonly program: Program
  readonly summaries: Summaries
  readonly hosts: Hosts = {
    all: [],
    suspending: [],
    guarding: [],
    clearing: [],
    writingEntries: [],
    asserting: [],
  }
  readonly reservations: Reservations
  readonly held = new HeldGuards()
  readonly serial: Serial
  readonly #indirect: Indirect
  readonly #writes = new Map<Location, Located[]>()
  readonly #fields = new Map<string, Located[]>()
  readonly #singleFlight = new Map<FunctionUnit, boolean>()
  #calls: Calls | undefined

  constructor(program: Program, summaries: Summaries) {
    this.program = program
    this.summaries = summaries
    this.reservations = new Reservations(summaries)
    this.serial = new Serial(this.reservations, this.held)
    this.#indirect = new Indirect(summaries)
    for (const unit of program.units) if (unit.graph !== undefined) this.#add(unit, unit.graph)
  }

  #add(unit: FunctionUnit, graph: Graph): void {
    const { contains } = this.summaries(unit)
    const isWriting = (contains & content.write) !== 0
    const isGuarding = (contains & content.guard) !== 0
    const host = new Host(unit, graph, isWriting, isGuarding, this.#indirect)
    const { hosts } = this
    hosts.all.push(host)
    if (graph.suspends) hosts.suspending.push(host)
    if (isGuarding) hosts.guarding.push(host)
    if ((contains & content.assertion) !== 0) hosts.asserting.push(host)
    if (isWriting) this.#addWrites(host)
  }

  #addWrites(host: Host): void {
    const { unit, graph } = host
    let clears = false
    let writesEntries = false
    for (const block of graph.blocks) {
      const { events } = block
      for (let index = 0; index < events.length; index++) {
        const event = events[index]!
        if (event.op !== 'write') continue
        const location = event.location.canonical
        const located = { access: event, host: unit, graph, block, index }
        pushTo(this.#writes, location, located)
        pushTo(this.#fields, location.field, located)
        clears ||= !event.isInitial && !isStore(event)
        writesEntries ||= location.scope === 'entry'
      }
    }
    if (clears) this.hosts.clearing.push(host)
    if (writesEntries) this.hosts.writingEntries.push(host)
  }

  /** Whether an event looks at a location and decides on it, itself or through a function. */
  isCheckOf(event: Event, location: Location): boolean {
    if (event.op !== 'read' && event.op !== 'call') return false
    if (event.checks.length === 0) return false
    if (event.op === 'read' && event.location.canonical === location) return true
    return this.#indirect.lookedAtBy(event).includes(location)
  }

  /** All writes to a location in the program. */
  writesOf(location: Location): readonly Located[] {
    return this.#writes.get(location.canonical) ?? []
  }

  /** Writes to fields of this name, whoever owns them: for objects whose class is not known. */
  writesOfField(field: string): readonly Located[] {
    return this.#fields.get(field) ?? []
  }

  /** All calls. Not all of them are in a graph. */
  get calls(): Calls {
    return (this.#calls ??= new Calls(this.program.units))
  }

  /** Hosts with a call of anything whose name is accepted, in the order of the program. */
  hostsCalling(name: RegExp): readonly Host[] {
    const units = this.calls.hostsCalling(name)
    return units.size === 0 ? [] : this.hosts.all.filter(({ unit }) => units.has(unit))
  }

  /** Callers that overlap share one run of it: it stores the promise of its work before it waits. */
  isSingleFlight(unit: FunctionUnit): boolean {
    const known = this.#singleFlight.get(unit)
    if (known !== undefined) return known
    this.#singleFlight.set(unit, false)
    const { host } = unit
    const answer =
      host.graph?.blocks.some(({ events }) =>
        events.some(
          (event) =>
            event.op === 'call' &&
            event.isJoined &&
            this.reservations.during(host, event) !== undefined,
        ),
      ) === true
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
