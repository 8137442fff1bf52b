/**
 * Which functions have to do with a location or a part of it: in its own text, or through a function or a getter that
 * it asks. One rule wants to know, about few locations, so the answer is found backwards, from the
 * location to the functions that use it.
 */
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit, Program } from '../ir/program.ts'
import { Chains } from '../summaries/chains.ts'
import type { Summaries } from '../summaries/summary.ts'
import type { Uses } from '../summaries/uses.ts'

export class Readers {
  readonly #uses: Uses
  readonly #summaries: Summaries
  /** Keyed by host: its inner functions that are called by name and have no graph of their own. */
  readonly #inner: ReadonlyMap<FunctionUnit, readonly FunctionUnit[]>
  /** Keyed by the number of a location: the locations that are parts of it. */
  readonly #parts = new Chains<Location>()
  /** Keyed by getter: the fields that it may return, by its name. */
  readonly #gotten = new Map<FunctionUnit, readonly Location[]>()

  constructor({ units, classes, locations }: Program, summaries: Summaries) {
    this.#uses = summaries.uses
    this.#summaries = summaries
    this.#inner = Map.groupBy(
      units.filter((unit) => unit.host !== unit && unit.callers.length > 0),
      (unit) => unit.host,
    )
    const fields = new Map<string, Location[]>()
    for (const { methods } of classes) {
      for (const [name, unit] of methods) {
        if (unit.kind !== 'getter') continue
        const named = fields.get(name) ?? []
        fields.set(name, named)
        this.#gotten.set(unit, named)
      }
    }
    for (const location of locations) {
      if (location.canonical !== location) continue
      if (location.parent !== undefined) this.#parts.add(location.parent.canonical.id, location)
      if (location.class !== undefined) fields.get(location.field)?.push(location)
    }
  }

  /** All functions that read it, in the order of the program, and some more that only write it or come near it. */
  of(location: Location): readonly FunctionUnit[] {
    const parts = [location, ...this.#parts.of(location.id)]
    const found = new Set(parts.flatMap((part) => this.#uses.hostsOf(part)))
    // Hosts found on the way are searched too: a caller may have callers.
    for (const host of found) {
      for (const field of this.#gotten.get(host) ?? [])
        for (const other of this.#uses.hostsOf(field)) found.add(other)
      const { before } = this.#summaries(host)
      if (parts.some((part) => before.has(part)))
        for (const caller of this.#callersOf(host)) found.add(caller)
    }
    return [...found].sort((a, b) => a.id - b.id)
  }

  *#callersOf(host: FunctionUnit): Generator<FunctionUnit> {
    for (const { owner } of host.callers) yield owner.host
    for (const inner of this.#inner.get(host) ?? [])
      for (const { owner } of inner.callers) yield owner.host
  }
}
