/** Values that functions return, as far as they are stored in a field, a variable or an entry of a container. */
import type { Location } from './locations.ts'
import type { CallSite, FunctionUnit } from './program.ts'
import type { Value } from './values.ts'

export function noteReturn(unit: FunctionUnit, { location, literal }: Value): void {
  // `return null` says that there is none.
  if (literal === 'null' || unit.returned.includes(location)) return
  unit.returned = [...unit.returned, location]
}

/** The one place that whatever a call answers is kept in; undefined when it is not known to be one. */
export function keptBy({ targets }: CallSite): Location | undefined {
  let kept: Location | undefined
  for (const { returned } of targets) {
    const [first] = returned
    if (first === undefined || returned.length > 1 || !isLasting(first.canonical)) return undefined
    if (kept !== undefined && kept !== first.canonical) return undefined
    kept = first.canonical
  }
  return kept
}

function isLasting({ scope }: Location): boolean {
  return scope === 'instance' || scope === 'module' || scope === 'closure' || scope === 'entry'
}
