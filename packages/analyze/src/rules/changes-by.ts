/**
 * Recognises checks that see, after a suspension, whether another function has run meanwhile.
 *
 * Long functions check many things between a suspension and the act after it: options, the result of the
 * wait, a limit. A check says something about another function only if that function changes the checked
 * state, so rules ignore all other checks.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import type { Summaries } from '../summaries/summary.ts'
import type { Latches } from '../meaning/latch.ts'
import { isAnswer, isComponentState } from './shared.ts'

export class ChangesBy {
  readonly #summaries: Summaries
  readonly #latches: Latches
  /** Locations that the function stores or clears, itself or through its calls, and their containers. */
  readonly #changed = new Set<Location>()
  readonly #wholes = new Set<Location>()

  /** @param by The function that may run during the suspension. */
  constructor(summaries: Summaries, latches: Latches, by: FunctionUnit) {
    this.#summaries = summaries
    this.#latches = latches
    const { before, after } = summaries(by.host)
    for (const { locations, effects } of [before, after])
      for (const [at, { store, clear }] of effects.entries())
        if (store !== undefined || clear !== undefined) this.#note(locations[at]!)
    // Summaries are bounded: a large function changes more than its summary says.
    for (const { events } of by.host.graph?.blocks ?? [])
      for (const event of events)
        if (event.op === 'write' && !event.isInitial) this.#note(event.location.canonical)
  }

  #note(location: Location): void {
    this.#changed.add(location)
    if (location.parent !== undefined) this.#wholes.add(location.parent.canonical)
  }

  isCheckedBy(event: Event): boolean {
    if (event.op === 'read') return event.checks.length > 0 && this.#isReadOfChange(event)
    return event.op === 'call' && event.checks.length > 0 && this.#isCallAboutChange(event)
  }

  #isReadOfChange({ location, checks }: Access): boolean {
    const { canonical } = location
    if (isAnswer(canonical)) return false
    if (checks.some((one) => one.isIdentity)) return true
    // The writers of a signal, or of a variable that listeners of this task set, are not followed.
    if (canonical.field === 'aborted' || canonical.scope === 'closure') return true
    return this.#isChanged(canonical)
  }

  #isChanged(location: Location): boolean {
    if (this.#latches.isLatch(location) || this.#isOpenFlag(location)) return true
    for (let at: Location | undefined = location; at !== undefined; at = at.parent?.canonical)
      if (this.#changed.has(at)) return true
    return this.#wholes.has(location)
  }

  /** The flag begins unset and no function of the program changes it: users of the component do. */
  #isOpenFlag(location: Location): boolean {
    const writes = this.#summaries.uses.writesOf(location)
    if (writes.length === 0) return location.depth === 2 && location.scope !== 'instance'
    return (
      writes.every(({ access }) => access.isInitial) &&
      writes.some(({ access }) => /^(?:false|null)$/.test(access.value?.literal ?? ''))
    )
  }

  #isCallAboutChange({ targets, callee, receiver }: CallSite): boolean {
    if (targets.length > 0)
      return targets.some((target) => {
        const { before } = this.#summaries(target.host)
        return before.effects.some(
          ({ read, check }, at) =>
            (read !== undefined || check !== undefined) && this.#isChanged(before.locations[at]!),
        )
      })
    // An inherited method, or a method of a part of the component, may check the state.
    return (
      callee.kind === 'method' || (receiver !== undefined && isComponentState(receiver.canonical))
    )
  }
}
