/** Checks through a function or a getter: `if (this.isOpen())` checks the locations that `isOpen` checks. */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { isPredicate } from '../summaries/summary.ts'
import type { Summaries, Summary } from '../summaries/summary.ts'

/** A predicate that checks more locations concerns something larger. */
const maxAsked = 6

const none: readonly Location[] = []

export class Indirect {
  readonly #summaries: Summaries
  readonly #reads = new Map<FunctionUnit, readonly Location[]>()

  constructor(summaries: Summaries) {
    this.#summaries = summaries
  }

  /** The locations that an event checks. */
  lookedAtBy(event: CallSite | Access): readonly Location[] {
    switch (event.op) {
      case 'call':
        return this.#askedBy(event)
      case 'read':
        return this.#gottenBy(event.location.canonical)
      case 'write':
        return none
    }
  }

  #askedBy({ targets, isSpliced }: CallSite): readonly Location[] {
    const [first] = targets
    // Its own checks are visible behind it.
    if (first === undefined || isSpliced) return none
    if (targets.length === 1) return this.#readsOf(first)
    const found = targets.flatMap((target) => this.#readsOf(target))
    return found.length > maxAsked ? none : found
  }

  #gottenBy(location: Location): readonly Location[] {
    for (let at = location.class; at !== undefined; at = at.superClass) {
      const unit = at.methods.get(location.field)
      if (unit !== undefined) return unit.kind === 'getter' ? this.#readsOf(unit) : none
    }
    return none
  }

  #readsOf(unit: FunctionUnit): readonly Location[] {
    let reads = this.#reads.get(unit)
    if (reads === undefined) this.#reads.set(unit, (reads = readsOf(this.#summaries(unit))))
    return reads
  }
}

function readsOf(summary: Summary): readonly Location[] {
  const { before } = summary
  return before.size <= maxAsked && isPredicate(summary) ? before.locations : none
}
