import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import { EffectsByLocation, nothing } from './effects-by-location.ts'
import { Effects } from './effects.ts'
import { withRoomFor } from './room.ts'

const maxLocations = 160

/** Callees that are remembered: a function that calls more of them includes some of them twice. */
const maxIncluded = 32

/**
 * The effects of one phase of one function after the other, as they are met. Most functions have none
 * in one of the two, and nothing is made for that.
 */
export class Phase {
  readonly #locations: Location[] = []
  readonly #effects: Effects[] = []
  #count = 0
  /**
   * Indexed by the number of a location: its position in the lists. An entry of another
   * function does not match its location, so the array is never cleared.
   */
  #places = new Int32Array(1_024)
  readonly #included: EffectsByLocation[] = []
  #includedCount = 0

  /** What was met; the next function begins. */
  end(): EffectsByLocation {
    const count = this.#count
    this.#count = 0
    this.#includedCount = 0
    if (count === 0) return nothing
    return new EffectsByLocation(this.#locations.slice(0, count), this.#effects.slice(0, count))
  }

  /** An access of the function itself. */
  note(access: Access): void {
    const location = access.location.canonical
    // A function's own variables do not concern its caller, nor does an argument that it alone gets.
    if (location.scope === 'parameter' && location.parent?.isCommon !== true) return
    if (isOwnVariable(location, access.owner.host)) return
    const place = this.#placeOf(location)
    if (place === this.#count) {
      if (place < maxLocations) this.#add(location, Effects.of(access))
      return
    }
    const known = this.#effects[place]!
    if (!known.covers(access)) this.#effects[place] = known.and(Effects.of(access))
  }

  /** The effects of a callee. The second call of the same function adds nothing. */
  include(inner: EffectsByLocation): void {
    if (inner.size === 0 || this.#isIncluded(inner)) return
    const { locations, effects } = inner
    for (let at = 0; at < locations.length; at++) {
      const seen = effects[at]!.farther()
      if (seen === undefined) continue
      const location = locations[at]!
      const place = this.#placeOf(location)
      if (place < this.#count) this.#effects[place] = this.#effects[place]!.and(seen)
      else if (place < maxLocations) this.#add(location, seen)
    }
  }

  /** The position, which is after the last one for an absent location. */
  #placeOf(location: Location): number {
    const place = this.#places[location.id] ?? 0
    return place < this.#count && this.#locations[place] === location ? place : this.#count
  }

  #add(location: Location, effects: Effects): void {
    const { id } = location
    if (id >= this.#places.length) this.#places = withRoomFor(id, this.#places)
    this.#places[id] = this.#count
    this.#locations[this.#count] = location
    this.#effects[this.#count] = effects
    this.#count++
  }

  /** Remembers it when it is not, as long as there is room. */
  #isIncluded(inner: EffectsByLocation): boolean {
    for (let at = 0; at < this.#includedCount; at++) if (this.#included[at] === inner) return true
    if (this.#includedCount < maxIncluded) this.#included[this.#includedCount++] = inner
    return false
  }
}
