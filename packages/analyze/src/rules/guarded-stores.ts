import type { Access } from '../ir/graph.ts'
import { eventsIn } from './host.ts'
import type { Model } from './program-model.ts'
import { inSameRegion } from './event-walk.ts'

/**
 * Stores that a function protects itself, so that its callers need not: it checks again in the region in which
 * it stores, or it has taken something before it waits and runs once for all of them.
 */
export class GuardedStores {
  readonly #model: Model
  readonly #known = new Map<Access, boolean>()

  constructor(model: Model) {
    this.#model = model
  }

  has(store: Access): boolean {
    let answer = this.#known.get(store)
    if (answer === undefined) {
      answer = isRechecked(store) || this.#isReserved(store)
      this.#known.set(store, answer)
    }
    return answer
  }

  #isReserved(store: Access): boolean {
    const { reservations, serial } = this.#model
    const { host } = store.owner
    const { graph } = host
    if (graph === undefined) return false
    for (const suspension of eventsIn(graph, (event) => event.op === 'suspend')) {
      if (inSameRegion(graph, suspension, (one) => one === store) === undefined) continue
      if (reservations.at(host, suspension.event) !== undefined) return true
      if (serial.chainAt(graph, store) !== undefined) return true
    }
    return serial.guardOf(host) !== undefined
  }
}

function isRechecked(store: Access): boolean {
  const { graph } = store.owner.host
  if (graph === undefined) return false
  const location = store.location.canonical
  const checks = eventsIn(
    graph,
    (event): event is Access =>
      event.op === 'read' && event.checks.length > 0 && event.location.canonical === location,
  )
  return checks.some((check) => inSameRegion(graph, check, (one) => one === store) !== undefined)
}
