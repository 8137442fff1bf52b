import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isStore } from './effects.ts'

/**
 * The content of a function's text, in bits, whether or not it is reached: so that no caller has to walk a
 * graph again to find that it contains nothing of the kind.
 */
export const content = {
  write: 1,
  guard: 2,
  /** Something is read with `!`. */
  assertion: 4,
  /** A write that empties, nulls or removes. */
  clear: 8,
  /** Writes to entries of more than one container. */
  severalContainers: 16,
  /** A call of something that may continue after its own suspension. */
  lateCall: 32,
} as const

/** The content of one function after the other, as it is met. */
export class Content {
  bits = 0
  #container: Location | undefined

  /** The next function begins. */
  begin(): void {
    this.bits = 0
    this.#container = undefined
  }

  note(access: Access): void {
    if (access.op === 'read') {
      if (access.isAsserted) this.bits |= content.assertion
      return
    }
    this.bits |= content.write
    if (access.isInitial) return
    if (!isStore(access)) this.bits |= content.clear
    const container = sharedContainerOf(access.location.canonical)
    if (container === undefined) return
    this.#container ??= container
    if (container !== this.#container) this.bits |= content.severalContainers
  }
}

/** The container of an entry whose key is known, unless the container belongs to one call. */
export function sharedContainerOf(location: Location): Location | undefined {
  if (location.scope !== 'entry' || location.entryKey === undefined) return undefined
  if (location.class === undefined && location.unit?.kind !== 'module') return undefined
  return location.parent?.canonical
}
