/** Variables of a host that every run of it has for itself. */
import type { Access } from './graph.ts'
import type { Location } from './locations.ts'
import type { CallbackRole, FunctionUnit } from './program.ts'

const repeated: ReadonlySet<CallbackRole> = new Set(['sync-async', 'event', 'interval', 'request'])

/** Whether the function runs more than once, perhaps overlapping, for one run of the outer one. */
export function isRepeatedIn(unit: FunctionUnit, outer: FunctionUnit): boolean {
  for (let at: FunctionUnit | undefined = unit; at !== undefined && at !== outer; at = at.parent)
    if (at.role !== undefined && repeated.has(at.role)) return true
  return false
}

/**
 * A variable of the host itself: every run of the host has its own, so two runs never meet at it. Only
 * the functions inside the host share it.
 */
export function isOwnVariable(location: Location, host: FunctionUnit): boolean {
  for (let at = location; ; at = at.parent)
    if (at.parent === undefined) return at.scope === 'closure' && at.unit?.host === host
}

/** Whether a function inside the host that runs several times makes the access, for one run of the host. */
export function isRepeated({ owner, location }: Access): boolean {
  const { unit } = location.canonical
  return unit !== undefined && isRepeatedIn(owner, unit)
}
