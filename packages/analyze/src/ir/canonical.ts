/** Different paths to the same field: inherited ones, and fields of objects whose class is known. */
import type { Location, LocationTable } from './locations.ts'
import type { ClassUnit } from './program.ts'

/** Sets `canonical` of every location. */
export function canonicalise(
  table: LocationTable,
  typeOf: (location: Location) => ClassUnit | undefined,
  variableOf: (location: Location) => Location | undefined,
): void {
  // The table grows while we walk: what is added is canonical already.
  const count = table.all.length
  const fieldsOf = new Map<ClassUnit, Set<string>>()
  for (const location of table.all) {
    if (location.scope !== 'instance' || location.depth !== 1 || location.class === undefined)
      continue
    const fields = fieldsOf.get(location.class) ?? new Set()
    fields.add(location.field)
    fieldsOf.set(location.class, fields)
  }
  for (let at = 0; at < count; at++) {
    const location = table.all[at]!
    const canonical = canonicalOf(location)
    location.canonical = canonical === location ? location : canonical.canonical
  }

  function canonicalOf(location: Location): Location {
    if (location.imported !== undefined) return variableOf(location) ?? location
    if (location.scope === 'external') return table.firstOf(location)
    if (location.scope === 'instance' && location.depth === 1 && location.class !== undefined) {
      let owner = location.class
      for (let base = owner.superClass; base !== undefined; base = base.superClass)
        if (fieldsOf.get(base)?.has(location.field) === true) owner = base
      return owner === location.class ? location : table.instance(owner, location.field)
    }
    const { parent } = location
    if (parent === undefined) return location
    // Parents come first in the table, so theirs is settled.
    const canonicalParent = parent.canonical
    if (location.entryKey !== undefined || location.key.endsWith('[?]')) {
      return canonicalParent === parent
        ? location
        : table.entry(
            canonicalParent,
            location.entryKey,
            location.name.slice(parent.name.length + 1, -1),
          )
    }
    const type = typeOf(canonicalParent)
    if (type !== undefined) {
      let owner = type
      for (let base = owner.superClass; base !== undefined; base = base.superClass)
        if (fieldsOf.get(base)?.has(location.field) === true) owner = base
      return table.instance(owner, location.field)
    }
    if (canonicalParent === parent) return location
    return table.field(canonicalParent, location.field) ?? location
  }
}
