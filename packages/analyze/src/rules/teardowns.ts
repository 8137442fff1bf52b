/** The functions that take a component down: they give back what belongs to it, themselves or by a call. */
import type { FunctionUnit, Program } from '../ir/program.ts'
import type { Lifecycles } from '../meaning/lifecycle.ts'
import { pushTo } from './host.ts'
import { baseOf } from './event-walk.ts'

const none: readonly FunctionUnit[] = []

export class Teardowns {
  readonly #byComponent = new Map<unknown, FunctionUnit[]>()

  constructor(program: Program, lifecycles: Lifecycles) {
    for (const unit of program.units) {
      if (unit.graph === undefined || !lifecycles.isTeardown(unit)) continue
      const components = new Set(lifecycles.releasedIn(unit).map(baseOf))
      if (unit.class !== undefined) components.add(unit.class)
      for (const one of components) pushTo(this.#byComponent, one, unit)
    }
  }

  /** @param component As `baseOf` names it. */
  of(component: unknown): readonly FunctionUnit[] {
    return this.#byComponent.get(component) ?? none
  }
}
