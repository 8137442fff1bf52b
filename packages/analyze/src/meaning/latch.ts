/**
 * Flags that are set once and say that something has ended: closed, aborted, cancelled, superseded.
 *
 * A *latch* is a location whose writes outside of construction all set the same way: to `true`, or to a
 * value where there was none. One place may reset it, the one that starts again. The name
 * of the flag does not matter.
 *
 * I1. Every answer is computed once and does not change.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import type { Uses } from '../summaries/uses.ts'

export class Latches {
  readonly #uses: Uses
  readonly #known = new Map<Location, readonly Access[]>()

  constructor(uses: Uses) {
    this.#uses = uses
  }

  isLatch(location: Location): boolean {
    return this.#settersOf(location.canonical).length > 0
  }

  /** Where a function other than this one sets the latch. */
  setterOf(location: Location, except: FunctionUnit): Access | undefined {
    return this.#settersOf(location.canonical).find(({ owner }) => owner.host !== except)
  }

  #settersOf(location: Location): readonly Access[] {
    let setters = this.#known.get(location)
    if (setters === undefined) this.#known.set(location, (setters = this.#find(location)))
    return setters
  }

  #find(location: Location): readonly Access[] {
    // The class of an argument object is not known: its field may be that of any class.
    const isOpen =
      location.scope !== 'instance' && location.depth - Number(location.scope !== 'parameter') > 0
    const writes = isOpen ? this.#uses.writesOfField(location.field) : this.#uses.writesOf(location)
    const setters: Access[] = []
    for (const { access } of writes) {
      if (access.isInitial || access.value?.literal === 'false') continue
      if (access.value?.literal !== 'true') {
        // Objects of unknown class share a field with classes that have nothing to do with them.
        if (isOpen) continue
        return none
      }
      setters.push(access)
    }
    return setters
  }
}

const none: readonly Access[] = []
