/**
 * Checks through a function or a getter: `if (this.isOpen())` looks at whatever `isOpen` looks at.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import type { Summaries, Summary } from '../summaries/summary.ts'

/** A predicate that looks at more is about something larger. */
const maxAsked = 6

const none: readonly Location[] = []

export class Indirect {
  readonly #summaries: Summaries
  readonly #reads = new Map<FunctionUnit, readonly Location[]>()

  constructor(summaries: Summaries) {
    this.#summaries = summaries
  }

  /** What is looked at through an event. */
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

  #askedBy({ targets }: CallSite): readonly Location[] {
    const [first] = targets
    if (first === undefined) return none
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

/** What a predicate looks at: a function that changes nothing and does not wait. */
function readsOf({ suspends, before }: Summary): readonly Location[] {
  if (suspends !== 'never' || before.size > maxAsked) return none
  for (const { store, clear } of before.effects)
    if (store !== undefined || clear !== undefined) return none
  return before.locations
}
