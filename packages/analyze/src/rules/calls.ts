/** The calls of a program, sorted: by name, and by when they run what they are given. */
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { pushTo } from './host.ts'

export class Calls {
  readonly #byName = new Map<string, CallSite[]>()
  /** Those that hand a callback to an emitter or a timer. */
  readonly triggers: readonly CallSite[]

  constructor(units: readonly FunctionUnit[]) {
    const triggers: CallSite[] = []
    for (const unit of units) {
      for (const site of unit.calls) {
        pushTo(this.#byName, site.name, site)
        if (site.callbacks.length > 0 && isTrigger(site)) triggers.push(site)
      }
    }
    this.triggers = triggers
  }

  named(name: string): readonly CallSite[] {
    return this.#byName.get(name) ?? []
  }

  /** Of anything whose name is accepted. */
  matching(name: RegExp): readonly CallSite[] {
    const found: CallSite[] = []
    for (const [called, sites] of this.#byName) if (name.test(called)) found.push(...sites)
    return found
  }
}

function isTrigger({ callbacks }: CallSite): boolean {
  return callbacks.some(({ role }) => role === 'event' || role === 'timer')
}
