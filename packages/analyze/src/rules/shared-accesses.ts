import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import type { Uses } from '../summaries/uses.ts'

/**
 * The reads and writes of the locations that findings are about. There are few of them: the hosts that use
 * any are walked once when all are known, and no list is made for any other location.
 */
export class SharedAccesses {
  readonly #known = new Map<Location, Access[]>()

  constructor(uses: Uses, locations: Iterable<Location>) {
    const hosts = new Set<FunctionUnit>()
    for (const { canonical } of locations) {
      if (this.#known.has(canonical)) continue
      this.#known.set(canonical, [])
      for (const host of uses.hostsOf(canonical)) hosts.add(host)
    }
    for (const { graph } of [...hosts].sort((a, b) => a.id - b.id))
      for (const { events } of graph?.blocks ?? [])
        for (const event of events)
          if (event.op === 'read' || event.op === 'write')
            this.#known.get(event.location.canonical)?.push(event)
  }

  /** In the order of the program. */
  of(location: Location): readonly Access[] {
    return this.#known.get(location.canonical) ?? []
  }
}
