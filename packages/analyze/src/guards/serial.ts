/**
 * Functions and passages that run one at a time.
 *
 * A function is serial when every caller of it holds a lock, has a reservation, or is serial
 * itself. A passage is serial when it is a link of a promise chain: `this.tail = this.tail.then(…)`.
 */
import type { Event, Graph } from '../ir/graph.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { placeIn } from '../ir/splice.ts'
import type { HeldGuards } from './held.ts'
import { isKeyed, reservationName } from './key.ts'
import type { Reservations } from './reservation.ts'

interface Range {
  readonly start: number
  readonly end: number
  readonly name: string
}

export class Serial {
  readonly #reservations: Reservations
  readonly #held: HeldGuards
  readonly #functions = new Map<FunctionUnit, string | undefined>()
  readonly #chains = new Map<Graph, readonly Range[]>()

  constructor(reservations: Reservations, held: HeldGuards) {
    this.#reservations = reservations
    this.#held = held
  }

  /** The guard that serialises a function; undefined without one. */
  guardOf(unit: FunctionUnit): string | undefined {
    if (this.#functions.has(unit)) return this.#functions.get(unit)
    // While it is being decided, recursion counts as unguarded.
    this.#functions.set(unit, undefined)
    const guard = this.#decide(unit)
    this.#functions.set(unit, guard)
    return guard
  }

  #decide(unit: FunctionUnit): string | undefined {
    if (unit.annotations.includes('serial')) return '@serial'
    if (unit.isExported || unit.callers.length === 0 || unit.reach.has('parallel')) return undefined
    let weakest: string | undefined
    for (const site of unit.callers) {
      const guard = this.#guardAt(site)
      if (guard === undefined) return undefined
      if (weakest === undefined || isKeyed(guard)) weakest = guard
    }
    return weakest
  }

  #guardAt(site: CallSite): string | undefined {
    const { host } = site.owner
    const { graph } = host
    if (graph === undefined) return undefined
    const reservation = this.#reservations.during(host, site)
    // A reservation of one caller's own argument does not keep out a caller with another argument.
    if (reservation !== undefined && reservation.scope !== 'parameter')
      return reservationName(reservation)
    const chain = this.chainAt(graph, site)
    if (chain !== undefined) return chain
    for (const block of graph.blocks) {
      if (!block.events.includes(site)) continue
      const [held] = this.#held.at(graph, block.id, site)
      if (held !== undefined) return held
      break
    }
    return this.guardOf(host)
  }

  /** The promise chain a passage is a link of. */
  chainAt(graph: Graph, event: Event): string | undefined {
    let ranges = this.#chains.get(graph)
    if (ranges === undefined) this.#chains.set(graph, (ranges = chainsOf(graph)))
    const at = placeIn(event)
    return ranges.find((range) => range.start <= at.start && at.end <= range.end)?.name
  }
}

/** `L = L.then(f)`: the text of the `.then` call is the link. */
function chainsOf(graph: Graph): readonly Range[] {
  const ranges: Range[] = []
  const links = new Map<number, Event>()
  for (const block of graph.blocks)
    for (const event of block.events)
      if (event.op === 'suspend' && event.kind === 'continuation') links.set(event.start, event)
  if (links.size === 0) return ranges
  for (const block of graph.blocks) {
    for (const event of block.events) {
      if (event.op !== 'write' || event.value?.tail === undefined) continue
      for (const read of event.value.reads ?? []) {
        if (read.location.canonical !== event.location.canonical) continue
        for (const link of links.values())
          if (link.start <= read.start && read.end <= link.end)
            ranges.push({ start: link.start, end: link.end, name: event.location.name })
      }
    }
  }
  return ranges
}
