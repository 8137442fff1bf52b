import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Host } from './host.ts'

/**
 * Who reads and writes the locations that findings are about. There are few of them and many accesses,
 * so the program is walked once when all are known, and no list is made for any other location.
 */
export class SharedAccesses {
  readonly #known = new Map<Location, Access[]>()

  constructor(hosts: readonly Host[], locations: Iterable<Location>) {
    for (const location of locations) this.#known.set(location.canonical, [])
    if (this.#known.size === 0) return
    for (const { graph } of hosts)
      for (const { events } of graph.blocks)
        for (const event of events)
          if (event.op === 'read' || event.op === 'write')
            this.#known.get(event.location.canonical)?.push(event)
  }

  /** In the order of the program. */
  of(location: Location): readonly Access[] {
    return this.#known.get(location.canonical) ?? []
  }
}
