/** Different paths to the same field: inherited ones, and fields of objects whose class is known. */
import type { Location, LocationTable } from './locations.ts'
import type { CallSite, ClassUnit } from './program.ts'

/** Fields that two functions have to use of their parameters to be about the same kind of object. */
const enoughFields = 2

/**
 * Objects that several functions of a file are handed under one name: `open(state)`, `close(state)`. They
 * are one kind of object when the functions use the same fields of them.
 *
 * @returns For each of them the first one, which stands for all.
 */
function commonParameters(table: LocationTable, count: number): ReadonlyMap<Location, Location> {
  const fields = new Map<Location, Set<string>>()
  for (let at = 0; at < count; at++) {
    const { parent, field, entryKey } = table.all[at]!
    if (parent?.scope !== 'parameter' || parent.depth !== 0 || entryKey !== undefined) continue
    if (parent.answeredBy !== undefined || parent.typeName === 'Array') continue
    const known = fields.get(parent)
    if (known === undefined) fields.set(parent, new Set([field]))
    else known.add(field)
  }
  const leaders = new Map<Location, Location>()
  const firsts = new Map<string, Location[]>()
  for (const [root, used] of fields) {
    root.isCommon = false
    if (used.size < enoughFields || root.unit === undefined) continue
    const key = `${root.file.id} ${root.name} ${root.typeName ?? ''}`
    const known = firsts.get(key) ?? []
    firsts.set(key, known)
    const first = known.find(
      (one) =>
        one.unit?.host !== root.unit?.host &&
        fields.get(one)!.intersection(used).size >= enoughFields,
    )
    if (first === undefined) known.push(root)
    else {
      first.isCommon = true
      leaders.set(root, first)
    }
  }
  return leaders
}

/**
 * Sets `canonical` of every location.
 *
 * @returns A function that settles the locations from calls, once the callees are known.
 */
export function canonicalise(
  table: LocationTable,
  typeOf: (location: Location) => ClassUnit | undefined,
  variableOf: (location: Location) => Location | undefined,
): (keptBy: (site: CallSite) => Location | undefined) => void {
  // The table grows while we walk: new entries are canonical already.
  const count = table.all.length
  const fieldsOf = new Map<ClassUnit, Set<string>>()
  for (const location of table.all) {
    if (location.scope !== 'instance' || location.depth !== 1 || location.class === undefined)
      continue
    const fields = fieldsOf.get(location.class) ?? new Set()
    fields.add(location.field)
    fieldsOf.set(location.class, fields)
  }
  const leaders = commonParameters(table, count)
  for (let at = 0; at < count; at++) {
    const location = table.all[at]!
    const canonical = leaders.get(location) ?? canonicalOf(location)
    location.canonical = canonical === location ? location : canonical.canonical
  }
  return (keptBy) => {
    const settled = new Set<Location>()
    for (let at = 0; at < count; at++) {
      const location = table.all[at]!
      const { answeredBy, parent } = location
      if (answeredBy !== undefined) {
        const kept = keptBy(answeredBy)
        if (kept === undefined) continue
        location.canonical = kept
      } else if (parent !== undefined && settled.has(parent)) {
        location.canonical = canonicalOf(location).canonical
      } else continue
      settled.add(location)
    }
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
