/**
 * The effects of a function on one location, and their distance in calls.
 *
 * A helper that touches a hundred locations and has a thousand callers would leave a hundred thousand
 * copies of the same few facts. So an effect does not know its callers, only its distance: seen from
 * one call farther away it is one object for all of them.
 *
 * I1. Nothing changes after it was made, except that the view of callers is remembered.
 */
import type { Access } from '../ir/graph.ts'

/** Calls between a function and an effect of it. Effects farther away are dropped. */
const maxDistance = 5

export class Effect {
  readonly access: Access
  /** Calls that lead to it: 0 when the function does it itself. */
  readonly distance: number
  #farther: Effect | undefined

  constructor(access: Access, distance: number) {
    this.access = access
    this.distance = distance
  }

  /** Seen by a caller; undefined when that is too far away. */
  farther(): Effect | undefined {
    if (this.distance >= maxDistance) return undefined
    return (this.#farther ??= new Effect(this.access, this.distance + 1))
  }
}

/** What happens to one location in one phase: the first of each kind. */
export class Effects {
  readonly read: Effect | undefined
  /** A read that decides a branch. */
  readonly check: Effect | undefined
  /** A write that stores something. */
  readonly store: Effect | undefined
  /** A write that empties, nulls or removes. */
  readonly clear: Effect | undefined
  /** Null: not asked for yet. */
  #farther: Effects | undefined | null = null

  constructor(
    read: Effect | undefined,
    check: Effect | undefined,
    store: Effect | undefined,
    clear: Effect | undefined,
  ) {
    this.read = read
    this.check = check
    this.store = store
    this.clear = clear
  }

  /**
   * The effects of an access of the function itself. An initial write touches the location and does
   * nothing.
   */
  static of(access: Access): Effects {
    if (access.op === 'write' && access.isInitial) return untouched
    const effect = new Effect(access, 0)
    if (access.op === 'read')
      return new Effects(effect, isCheck(access) ? effect : undefined, undefined, undefined)
    return isStore(access)
      ? new Effects(undefined, undefined, effect, undefined)
      : new Effects(undefined, undefined, undefined, effect)
  }

  /** Whether an access is of a kind that is known already. */
  covers(access: Access): boolean {
    if (access.op === 'read')
      return this.read !== undefined && (this.check !== undefined || !isCheck(access))
    return access.isInitial || (isStore(access) ? this.store : this.clear) !== undefined
  }

  /** Together with what happens later. */
  and(later: Effects): Effects {
    const read = this.read ?? later.read
    const check = this.check ?? later.check
    const store = this.store ?? later.store
    const clear = this.clear ?? later.clear
    const isKnown =
      read === this.read && check === this.check && store === this.store && clear === this.clear
    return isKnown ? this : new Effects(read, check, store, clear)
  }

  /** Seen by a caller; undefined when nothing of it is near enough. */
  farther(): Effects | undefined {
    if (this.#farther === null) this.#farther = this.#seenByCaller()
    return this.#farther
  }

  /** A caller takes the check for the read as well: it says more. */
  #seenByCaller(): Effects | undefined {
    const read = this.read?.farther()
    const check = this.check?.farther() ?? (read && isCheck(read.access) ? read : undefined)
    const store = this.store?.farther()
    const clear = this.clear?.farther()
    if (read === undefined && check === undefined && store === undefined && clear === undefined)
      return undefined
    return new Effects(check ?? read, check, store, clear)
  }
}

const untouched = new Effects(undefined, undefined, undefined, undefined)

function isCheck(read: Access): boolean {
  return read.checks.length > 0
}

export function isStore(access: Access): boolean {
  const { kind } = access
  return kind === 'set' || kind === 'fill' || kind === 'rmw' || kind === 'append'
}
