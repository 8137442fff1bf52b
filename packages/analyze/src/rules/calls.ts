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

  /** The hosts of all calls of anything whose name is accepted. */
  hostsCalling(name: RegExp): ReadonlySet<FunctionUnit> {
    const hosts = new Set<FunctionUnit>()
    for (const [called, sites] of this.#byName)
      if (name.test(called)) for (const { owner } of sites) hosts.add(owner.host)
    return hosts
  }
}

function isTrigger({ callbacks }: CallSite): boolean {
  return callbacks.some(({ role }) => role === 'event' || role === 'timer')
}
