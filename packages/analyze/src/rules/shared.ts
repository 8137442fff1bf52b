/** Which locations two tasks can really meet at. */
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import type { Value } from '../ir/values.ts'

/**
 * State that functions of one component share: fields of its class, variables of its module or of the
 * function that makes it, and fields of an object that is kept in such a variable or handed to all of them.
 */
export function isComponentState({ scope, depth, parent }: Location): boolean {
  if (scope === 'instance') return depth === 1
  if (scope === 'parameter') return depth === 1 && parent?.isCommon === true
  return (scope === 'module' || scope === 'closure') && (depth === 1 || depth === 2)
}

/** Part of a call's result, and not known to be stored anywhere: other functions need not have it. */
export function isAnswer(location: Location): boolean {
  for (let at: Location | undefined = location; at !== undefined; at = at.parent)
    if (at.answeredBy !== undefined) return true
  return false
}

/** Not shared: objects that live and die with one call or one request. */
export function isShared(location: Location, host: FunctionUnit): boolean {
  switch (location.scope) {
    case 'module':
    case 'external':
      return true
    case 'closure':
      // Only made where another function, or one that runs many times, sees the variable.
      return true
    case 'parameter':
      return location.depth > 0 && !isAnswer(location)
    case 'instance':
    case 'entry':
      if (location.scope === 'entry' && location.unit !== undefined && location.class === undefined)
        return location.unit.kind === 'module' || location.unit !== host
      return true
  }
}

/** The value is an argument of the function, as it came in. */
export function isParameterOf(value: Value | undefined, { host, params }: FunctionUnit): boolean {
  const location = value?.location
  return (
    location?.scope === 'parameter' &&
    location.depth === 0 &&
    location.unit === host &&
    params.includes(location.field)
  )
}
