/**
 * Ad hoc guards: a location that is checked and taken in one region keeps the others out.
 *
 *     if (this.busy) return          if (this.pending) return this.pending
 *     this.busy = true               this.pending = this.load()
 *     await …                        return this.pending
 *
 * Both are the same thing: on every way to the suspension some location was found absent and then
 * stored to, without a suspension in between. It is called a *reservation*. In-flight flags, single
 * flight promises, maps of promises and states (`if (this.state !== idle) …`) are all of this form.
 */
import type { Access, Block, Check, Event, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { isOwnVariable, isRepeated } from '../ir/own-variable.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import { isStore } from '../summaries/effects.ts'
import type { Summaries } from '../summaries/summary.ts'

interface Candidate {
  readonly location: Location
  readonly checks: readonly PlacedCheck[]
  readonly reads: ReadonlySet<Access>
}

/** A check with the block in which its location is read. */
interface PlacedCheck {
  readonly check: Check
  readonly block: Block
}

/** In `a && b`, the branch that leaves from `a` says nothing about `b`. */
function isDecidedIn({ check, block }: PlacedCheck, from: Block): boolean {
  const { branch } = check
  return branch === from.branch && (block === from || !branch.blocks.includes(block))
}

const open = 0
const checked = 1
const reserved = 2
/** Another task has it: the owner's callback on it does not run on this path. */
const taken = 3

export class Reservations {
  readonly #summaries: Summaries
  readonly #candidates = new Map<FunctionUnit, readonly Candidate[]>()
  readonly #atSuspension = new Map<Suspension, Location | undefined>()
  readonly #atCall = new Map<CallSite, Location | undefined>()

  constructor(summaries: Summaries) {
    this.#summaries = summaries
  }

  /** The location that is reserved on every way to a suspension. */
  at(host: FunctionUnit, suspension: Suspension): Location | undefined {
    if (this.#atSuspension.has(suspension)) return this.#atSuspension.get(suspension)
    const answer = this.#find(host, (event) => event === suspension, false)
    this.#atSuspension.set(suspension, answer)
    return answer
  }

  /** The location that is reserved while the started call is running. */
  during(host: FunctionUnit, site: CallSite): Location | undefined {
    if (this.#atCall.has(site)) return this.#atCall.get(site)
    const answer = this.#find(host, (event) => event === site, true)
    this.#atCall.set(site, answer)
    return answer
  }

  #find(
    host: FunctionUnit,
    isTarget: (event: Event) => boolean,
    untilRegionEnds: boolean,
  ): Location | undefined {
    const { graph } = host
    if (graph === undefined) return undefined
    for (const candidate of this.#candidatesOf(host, graph))
      if (!this.#canArriveOpen(graph, candidate, isTarget, untilRegionEnds))
        return candidate.location
    return undefined
  }

  #candidatesOf(host: FunctionUnit, graph: Graph): readonly Candidate[] {
    const known = this.#candidates.get(host)
    if (known !== undefined) return known
    const reads = new Map<Location, { access: Access; block: Block }[]>()
    const stored = new Set<Location>()
    for (const block of graph.blocks) {
      for (const event of block.events) {
        if (event.op === 'read' && event.checks.length > 0) {
          const location = event.location.canonical
          // Another run of the host has a variable of its own, and finds it free.
          if (isOwnVariable(location, host) && !isRepeated(event)) continue
          const list = reads.get(location)
          if (list === undefined) reads.set(location, [{ access: event, block }])
          else list.push({ access: event, block })
        } else if (event.op === 'write' && isStore(event)) stored.add(event.location.canonical)
        else if (event.op === 'call')
          for (const target of targetsOf(event))
            for (const location of this.#summaries(target).before.stored()) stored.add(location)
      }
    }
    const candidates: Candidate[] = []
    for (const [location, list] of reads) {
      if (!stored.has(location) || candidates.length >= 12) continue
      candidates.push({
        location,
        checks: list.flatMap(({ access, block }) =>
          access.checks.map((check) => ({ check, block })),
        ),
        reads: new Set(list.map(({ access }) => access)),
      })
    }
    this.#candidates.set(host, candidates)
    return candidates
  }

  #canArriveOpen(
    graph: Graph,
    candidate: Candidate,
    isTarget: (event: Event) => boolean,
    untilRegionEnds: boolean,
  ): boolean {
    const { location, checks, reads } = candidate
    const summaries = this.#summaries
    // States 4 to 7 are 0 to 3 behind the target.
    const passed = 4
    const answer = ask(
      graph,
      { block: graph.entry, index: -1 },
      {
        states: 8,
        start: open,
        step(event, state) {
          const base = state % passed
          const after = state - base
          const isBehind = after > 0
          if (isTarget(event)) {
            if (untilRegionEnds) return passed + base
            if (base === taken && waitsForOwner(event, location)) return stop
            return base === reserved ? stop : found
          }
          switch (event.op) {
            case 'suspend':
              if (isBehind) return base === reserved ? stop : found
              return base === checked ? after + open : state
            case 'read':
              if (
                base !== reserved &&
                reads.has(event) &&
                event.checks.some((one) => one.whenAbsent === undefined)
              )
                return after + checked
              return state
            case 'write':
              if (event.location.canonical !== location) return state
              if (isStore(event)) return base === checked ? after + reserved : state
              return after + open
            case 'call':
              if (base === checked)
                for (const target of targetsOf(event))
                  if (summaries(target).before.get(location)?.store !== undefined)
                    return after + reserved
              return state
            case 'acquire':
            case 'release':
              return state
          }
        },
        cross(from: Block, to: Block, state) {
          const base = state % passed
          if (base === reserved || from.branch === undefined) return state
          for (const placed of checks) {
            if (!isDecidedIn(placed, from)) continue
            const { check } = placed
            if (check.whenAbsent === to) return state - base + checked
            if (check.whenPresent === to && base === open) return state + taken
          }
          return state
        },
        atEnd: (_block, state) => (state >= passed && state % passed !== reserved ? found : stop),
      },
    )
    return answer !== undefined
  }
}

/** On a waiter's path: it waits for the promise itself, or is a callback that the owner added to it. */
function waitsForOwner(event: Event, location: Location): boolean {
  if (event.op !== 'suspend') return false
  if (event.kind === 'continuation') return true
  return event.awaited.some((access) => access.location.canonical === location)
}
