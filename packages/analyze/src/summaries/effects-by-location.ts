import type { Location } from '../ir/locations.ts'
import type { Effects } from './effects.ts'

/** Up to here looking at each is faster than a map, and needs none. */
const few = 8

/**
 * The effects on each location in one phase, in the order in which it was met.
 *
 * Callers take it over as a whole, one after the other; single locations are asked for in few of them.
 * So it is two lists, and a map is made only for the first question about a long one.
 */
export class EffectsByLocation {
  readonly locations: readonly Location[]
  readonly effects: readonly Effects[]
  #places: ReadonlyMap<Location, number> | undefined

  /** @param effects Of the location at the same place. */
  constructor(locations: readonly Location[], effects: readonly Effects[]) {
    this.locations = locations
    this.effects = effects
  }

  get size(): number {
    return this.locations.length
  }

  get(location: Location): Effects | undefined {
    if (this.locations.length === 0) return undefined
    return this.effects[this.#placeOf(location)]
  }

  has(location: Location): boolean {
    return this.get(location) !== undefined
  }

  /** The locations that something is stored to. */
  stored(): readonly Location[] {
    return this.locations.filter((_, place) => this.effects[place]!.store !== undefined)
  }

  /** The position, which is after the last one for an absent location. */
  #placeOf(location: Location): number {
    const { locations } = this
    if (locations.length > few) {
      this.#places ??= new Map(locations.map((one, place) => [one, place]))
      return this.#places.get(location) ?? locations.length
    }
    let place = 0
    while (place < locations.length && locations[place] !== location) place++
    return place
  }
}

export const nothing = new EffectsByLocation([], [])
