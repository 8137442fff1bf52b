/** Everything rules may ask about a program. Computed once, lazily where it is dear. */
import { HeldGuards } from '../guards/held.ts'
import { isKeyed, protects, reservationName } from '../guards/key.ts'
import { Reservations } from '../guards/reservation.ts'
import { Serial } from '../guards/serial.ts'
import type { Access, Block, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Program, Reach, Suspension } from '../ir/program.ts'
import { content } from '../summaries/content.ts'
import type { Summaries } from '../summaries/summary.ts'
import type { Located } from '../summaries/uses.ts'
import { Lifecycles } from '../meaning/lifecycle.ts'
import { Latches } from '../meaning/latch.ts'
import { RemoteWork } from '../meaning/remote-work.ts'
import { Calls } from './calls.ts'
import { Host } from './host.ts'
import { Indirect } from './indirect.ts'
import { Readers } from './readers.ts'
import { Teardowns } from './teardowns.ts'
import { ChangesBy } from './changes-by.ts'
import { isWithin } from './event-walk.ts'

/** Hosts by the kinds of their events, in the order of the program: a rule visits those that may concern it. */
interface Hosts {
  readonly suspending: Host[]
  /** Take or give back a guard. */
  readonly guarding: Host[]
  /** Empty, null or remove something. */
  readonly clearing: Host[]
  /** Write entries of several containers. */
  readonly severalContainers: Host[]
  /** Read something with `!`. */
  readonly asserting: Host[]
}

export class Model {
  readonly program: Program
  readonly summaries: Summaries
  readonly hosts: Hosts = {
    suspending: [],
    guarding: [],
    clearing: [],
    severalContainers: [],
    asserting: [],
  }
  readonly reservations: Reservations
  readonly held = new HeldGuards()
  readonly serial: Serial
  readonly remoteWork = new RemoteWork()
  readonly latches: Latches
  readonly #indirect: Indirect
  readonly #hosts = new Map<FunctionUnit, Host>()
  readonly #changesBy = new Map<FunctionUnit, ChangesBy>()
  readonly #singleFlight = new Map<FunctionUnit, boolean>()
  #calls: Calls | undefined
  #lifecycles: Lifecycles | undefined
  #readers: Readers | undefined
  #teardowns: Teardowns | undefined

  constructor(program: Program, summaries: Summaries) {
    this.program = program
    this.summaries = summaries
    this.reservations = new Reservations(summaries)
    this.serial = new Serial(this.reservations, this.held)
    this.latches = new Latches(summaries.uses)
    this.#indirect = new Indirect(summaries)
    for (const unit of program.units) if (unit.graph !== undefined) this.#sort(unit)
  }

  /** Most hosts are of no sort that a rule is about, and nothing is made for them. */
  #sort(unit: FunctionUnit): void {
    const { contains } = this.summaries(unit)
    const { hosts } = this
    if (unit.graph?.suspends === true) hosts.suspending.push(this.hostOf(unit))
    if ((contains & content.guard) !== 0) hosts.guarding.push(this.hostOf(unit))
    if ((contains & content.clear) !== 0) hosts.clearing.push(this.hostOf(unit))
    if ((contains & content.severalContainers) !== 0)
      hosts.severalContainers.push(this.hostOf(unit))
    if ((contains & content.assertion) !== 0) hosts.asserting.push(this.hostOf(unit))
  }

  /** @param unit One with a graph. */
  hostOf(unit: FunctionUnit): Host {
    let host = this.#hosts.get(unit)
    if (host === undefined) {
      const { contains } = this.summaries(unit)
      host = new Host(unit, unit.graph!, contains, this.#indirect)
      this.#hosts.set(unit, host)
    }
    return host
  }

  /** Whether an event checks a location and decides on it, itself or through a function. */
  isCheckOf(event: Event, location: Location): boolean {
    if (event.op !== 'read' && event.op !== 'call') return false
    if (event.checks.length === 0) return false
    if (event.op === 'read' && event.location.canonical === location) return true
    return this.#indirect.lookedAtBy(event).includes(location)
  }

  /** All writes to a location in the program. */
  writesOf(location: Location): readonly Located[] {
    return this.summaries.uses.writesOf(location)
  }

  /** Writes to fields of this name, whatever their owner: for objects whose class is not known. */
  writesOfField(field: string): readonly Located[] {
    return this.summaries.uses.writesOfField(field)
  }

  /** The state that a function changes, to recognise checks of it. */
  changesBy(by: FunctionUnit): ChangesBy {
    let changes = this.#changesBy.get(by.host)
    if (changes === undefined)
      this.#changesBy.set(by.host, (changes = new ChangesBy(this.summaries, this.latches, by)))
    return changes
  }

  /** The readers of locations, including callers of functions that read them. */
  get readers(): Readers {
    return (this.#readers ??= new Readers(this.program, this.summaries))
  }

  /** The kinds of values in locations, decided by their use. */
  get lifecycles(): Lifecycles {
    return (this.#lifecycles ??= new Lifecycles(this.program))
  }

  /** The functions that take a component down. */
  get teardowns(): Teardowns {
    return (this.#teardowns ??= new Teardowns(this.program, this.lifecycles))
  }

  /**
   * The location is a variable of a function, and the host a step of that function: only the function
   * itself calls it, one step after the other. Another run of the function has another variable.
   */
  isStepOf(location: Location, host: FunctionUnit): boolean {
    let root = location
    while (root.parent !== undefined) root = root.parent
    const { scope, unit } = root
    if (scope !== 'closure' || unit === undefined || unit.host === host) return false
    if (host.isExported || host.callers.length === 0 || host.reach.has('parallel')) return false
    return (
      host.callers.every(({ owner }) => isWithin(owner, unit)) && !this.calls.handedOver.has(host)
    )
  }

  /** All calls. Not all of them are in a graph. */
  get calls(): Calls {
    return (this.#calls ??= new Calls(this.program.units))
  }

  /** The hosts that calls are in, in the order of the program. */
  hostsOf(sites: readonly CallSite[]): readonly Host[] {
    const units = new Set<FunctionUnit>()
    for (const { owner } of sites) if (owner.host.graph !== undefined) units.add(owner.host)
    return [...units].sort((a, b) => a.id - b.id).map((unit) => this.hostOf(unit))
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

  /** The guard over a passage of a host across a suspension; undefined without one. */
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
    // A key of the callers has a meaning here only if the entry is chosen by their arguments.
    if (serial !== undefined && (!isKeyed(serial) || isChosenByCaller(host, from.access.location)))
      yield serial
  }
}

function isChosenByCaller(host: FunctionUnit, location: Location): boolean {
  const key = /\[([\w$]+)[^[]*$/.exec(location.name)?.[1]
  return key !== undefined && host.params.includes(key)
}

const strongReach: readonly Reach[] = ['request', 'parallel', 'timer', 'event']
const overlapping: readonly Reach[] = [...strongReach, 'exported']

/** The best reason to believe that a function overlaps with itself or others. */
export function overlapOf(unit: FunctionUnit): { reach: Reach; text: string } | undefined {
  for (const reach of overlapping) {
    const why = unit.reach.get(reach)
    if (why !== undefined) return { reach, text: why.text }
  }
  return undefined
}

export function hasStrongReach(unit: FunctionUnit): boolean {
  return strongReach.some((reach) => unit.reach.has(reach))
}
