/** Which locations two tasks can really meet at. */
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'

/** Not shared: what lives and dies with one call or one request. */
export function isShared(location: Location, host: FunctionUnit): boolean {
  switch (location.scope) {
    case 'module':
    case 'external':
      return true
    case 'closure':
      // Only made where another function, or one that runs many times, sees the variable.
      return true
    case 'parameter':
      return location.depth > 0
    case 'instance':
    case 'entry':
      if (location.scope === 'entry' && location.unit !== undefined && location.class === undefined)
        return location.unit.kind === 'module' || location.unit !== host
      return true
  }
}
