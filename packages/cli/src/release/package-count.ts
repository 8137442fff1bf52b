import type { Graph, RunEvent } from '@heddle/core'
import { partsOf } from '@heddle/release'
import { plural } from '../text/format.ts'

/** How many packages of a release are done: all of their stages succeeded. */
export class PackageCount {
  /** Stages that have not succeeded, by package. */
  readonly #open = new Map<string, Set<string>>()
  readonly #packages: number
  #done = 0

  constructor(graph: Pick<Graph, 'nodes'>) {
    for (const { name: node } of graph.nodes()) {
      const parts = partsOf(node)
      if (parts === undefined) continue
      const stages = this.#open.get(parts.name) ?? new Set()
      this.#open.set(parts.name, stages.add(node))
    }
    this.#packages = this.#open.size
  }

  /** The package whose last stage has succeeded with this event; undefined for every other event. */
  observe(event: RunEvent): string | undefined {
    if (event.type !== 'node' || event.state !== 'succeeded') return undefined
    const name = partsOf(event.name)?.name
    const stages = name === undefined ? undefined : this.#open.get(name)
    if (stages?.delete(event.name) !== true || stages.size > 0) return undefined
    this.#done++
    return name
  }

  /** `2 of 5 packages` */
  get text(): string {
    return `${this.#done} of ${plural(this.#packages, 'package')}`
  }
}
