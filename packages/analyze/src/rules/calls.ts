/** The calls of a program, sorted: by name, and by when they run their callbacks. */
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { Chains } from '../summaries/chains.ts'

export class Calls {
  readonly #numbers = new Map<string, number>()
  /** Keyed by the number of the name. */
  readonly #sites = new Chains<CallSite>()
  /** The calls that hand a callback to an emitter or a timer. */
  readonly triggers: readonly CallSite[]
  /** Functions that are given to emitters and timers by name. */
  readonly handedOver: ReadonlySet<FunctionUnit>

  constructor(units: readonly FunctionUnit[]) {
    const triggers: CallSite[] = []
    const handedOver = new Set<FunctionUnit>()
    for (const unit of units) {
      for (const site of unit.calls) {
        this.#sites.add(this.#numberOf(site.name), site)
        if (site.callbacks.length === 0 || !isTrigger(site)) continue
        triggers.push(site)
        for (const { unit: given } of site.callbacks) handedOver.add(given)
      }
    }
    this.triggers = triggers
    this.handedOver = handedOver
  }

  #numberOf(name: string): number {
    let number = this.#numbers.get(name)
    if (number === undefined) this.#numbers.set(name, (number = this.#numbers.size))
    return number
  }

  named(name: string): readonly CallSite[] {
    const number = this.#numbers.get(name)
    return number === undefined ? [] : this.#sites.of(number)
  }

  /** All calls whose name matches. */
  matching(name: RegExp): readonly CallSite[] {
    const found: CallSite[] = []
    for (const [called, number] of this.#numbers)
      if (name.test(called)) for (const site of this.#sites.of(number)) found.push(site)
    return found
  }
}

function isTrigger({ callbacks }: CallSite): boolean {
  return callbacks.some(({ role }) => role === 'event' || role === 'timer')
}
