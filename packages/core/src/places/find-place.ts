import { HeddleError } from '../errors.ts'
import type { PlaceName } from '../graph/job.ts'
import type { Place } from './place.ts'

/** The places that a process has. */
export type Places = Partial<Readonly<Record<PlaceName, Place>>>

/**
 * Finds the place of a job.
 * @throws `HDL_PLACE_UNAVAILABLE`.
 */
export function findPlace(node: string, name: PlaceName, places: Places): Place {
  const place = places[name]
  if (place !== undefined) return place
  throw new HeddleError('HDL_PLACE_UNAVAILABLE', { node, place: name })
}
