import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { Effects } from './effects.ts'

export type EffectsByLocation = ReadonlyMap<Location, Effects>

export const nothing: EffectsByLocation = new Map()

const maxLocations = 160

/** Callees that are remembered: a function that calls more of them includes some of them twice. */
const maxIncluded = 32

/**
 * The effects of one phase of one function after the other, as they are met. Most functions have none
 * in one of the two, and nothing is made for that.
 */
export class Phase {
  #effects: Map<Location, Effects> | undefined
  readonly #included: EffectsByLocation[] = Array.from({ length: maxIncluded }, () => nothing)
  #includedCount = 0

  /** What was met; the next function begins. */
  end(): EffectsByLocation {
    const effects = this.#effects
    this.#effects = undefined
    this.#includedCount = 0
    return effects ?? nothing
  }

  /** An access of the function itself. */
  note(access: Access): void {
    const location = access.location.canonical
    if (location.scope === 'parameter') return
    const effects = (this.#effects ??= new Map())
    const known = effects.get(location)
    if (known === undefined) {
      if (effects.size < maxLocations) effects.set(location, Effects.of(access))
    } else if (!known.covers(access)) {
      effects.set(location, known.and(Effects.of(access)))
    }
  }

  /** What a function that is called does. The second call of the same one adds nothing. */
  include(inner: EffectsByLocation): void {
    if (inner.size === 0 || this.#isIncluded(inner)) return
    const effects = (this.#effects ??= new Map())
    for (const [location, one] of inner) {
      const seen = one.farther()
      if (seen === undefined) continue
      const known = effects.get(location)
      if (known === undefined) {
        if (effects.size < maxLocations) effects.set(location, seen)
        continue
      }
      const both = known.and(seen)
      if (both !== known) effects.set(location, both)
    }
  }

  /** Remembers it when it is not, as long as there is room. */
  #isIncluded(inner: EffectsByLocation): boolean {
    for (let at = 0; at < this.#includedCount; at++) if (this.#included[at] === inner) return true
    if (this.#includedCount < maxIncluded) this.#included[this.#includedCount++] = inner
    return false
  }
}
