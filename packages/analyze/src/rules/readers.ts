/**
 * Who has to do with a location or a part of it: in its own text, or through a function or a getter that
 * it asks. One rule wants to know, about few locations, so the answer is found backwards, from the
 * location to those who use it.
 */
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit, Program } from '../ir/program.ts'
import { Chains } from '../summaries/chains.ts'
import type { Summaries } from '../summaries/summary.ts'

export class Readers {
  readonly #program: Program
  readonly #summaries: Summaries
  /** By the number of a location: what is a part of it. */
  readonly #parts = new Chains<Location>()
  readonly #called: readonly FunctionUnit[]

  constructor(program: Program, summaries: Summaries) {
    this.#program = program
    this.#summaries = summaries
    for (const location of program.locations)
      if (location.parent !== undefined && location.canonical === location)
        this.#parts.add(location.parent.canonical.id, location)
    this.#called = program.units.filter((unit) => unit.callers.length > 0)
  }

  /** All who read it, in the order of the program, and some more who only write it or come near it. */
  of(location: Location): readonly FunctionUnit[] {
    const parts = [location, ...this.#parts.of(location.id)]
    const found = new Set(parts.flatMap((part) => this.#summaries.uses.hostsOf(part)))
    const looking = this.#called.filter((unit) => {
      const { before } = this.#summaries(unit)
      return before.size > 0 && parts.some((part) => before.has(part))
    })
    for (const { callers } of looking) for (const { owner } of callers) found.add(owner.host)
    for (const host of this.#hostsAsking(found)) found.add(host)
    return [...found].sort((a, b) => a.id - b.id)
  }

  /** Those who read what is a getter, when that one looks at it. */
  #hostsAsking(looking: ReadonlySet<FunctionUnit>): readonly FunctionUnit[] {
    const { classes, locations } = this.#program
    const getters = new Set(looking.values().filter((unit) => unit.kind === 'getter'))
    if (getters.size === 0) return []
    const fields = new Set<string>()
    for (const { methods } of classes)
      for (const [name, unit] of methods) if (getters.has(unit)) fields.add(name)
    return locations
      .filter((one) => one.class !== undefined && fields.has(one.field))
      .flatMap((one) => this.#summaries.uses.hostsOf(one))
  }
}
