/**
 * Guards that have a key: they keep out callers with the same key, and no others.
 *
 * A name of a guard is followed by ` by ` and the number of the key when the key is known at run time
 * only. State shared by all keys is not protected by it.
 */
import type { Location } from '../ir/locations.ts'

const by = ' by '

/** A number of a key that differs from call to call. */
function isDynamic(key: string | undefined): boolean {
  return key !== undefined && /\bb\d+/.test(key)
}

export function guardName(guard: string, key: string | undefined): string {
  return isDynamic(key) ? `${guard}${by}${key}` : guard
}

/** The same guard, whatever its key. */
export function isNameOf(name: string, guard: string): boolean {
  return name === guard || name.startsWith(`${guard}${by}`)
}

export function reservationName(location: Location): string {
  return location.scope === 'entry'
    ? guardName(location.name, location.entryKey ?? 'b0')
    : location.name
}

export function isKeyed(name: string): boolean {
  return name.includes(by)
}

/** Whether a guard keeps others away from a location. */
export function protects(name: string, location: Location): boolean {
  return !isKeyed(name) || location.scope === 'entry' || location.scope === 'external'
}
