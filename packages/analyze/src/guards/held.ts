/** Locks that are certainly held at an event: taken on every way to it and not given back. */
import type { Event, Graph } from '../ir/graph.ts'
import { guardName, isNameOf } from './key.ts'

type Held = ReadonlySet<string>

const none: Held = new Set()

export class HeldGuards {
  readonly #atEntry = new Map<Graph, readonly (Held | undefined)[] | undefined>()

  /** Names of the guards held when the event at this place happens. */
  at(graph: Graph, blockId: number, event: Event): Held {
    const entries = this.#entries(graph)
    if (entries === undefined) return none
    const held = new Set(entries[blockId] ?? none)
    for (const one of graph.blocks[blockId]!.events) {
      if (one === event) break
      apply(held, one)
    }
    return held
  }

  #entries(graph: Graph): readonly (Held | undefined)[] | undefined {
    if (this.#atEntry.has(graph)) return this.#atEntry.get(graph)
    const hasGuards = graph.blocks.some((block) =>
      block.events.some((event) => event.op === 'acquire' || event.op === 'release'),
    )
    const entries = hasGuards ? flow(graph) : undefined
    this.#atEntry.set(graph, entries)
    return entries
  }
}

function apply(held: Set<string>, event: Event): void {
  if (event.op === 'acquire') held.add(guardName(event.guard, event.key))
  else if (event.op === 'release')
    for (const name of held) if (isNameOf(name, event.guard)) held.delete(name)
}

function flow(graph: Graph): readonly (Held | undefined)[] {
  const entries: (Set<string> | undefined)[] = graph.blocks.map(() => undefined)
  entries[graph.entry.id] = new Set()
  const work = [graph.entry]
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const held = new Set(entries[block.id])
    for (const event of block.events) apply(held, event)
    for (const next of block.next) {
      const known = entries[next.id]
      if (known === undefined) {
        entries[next.id] = new Set(held)
        work.push(next)
        continue
      }
      const size = known.size
      for (const guard of known) if (!held.has(guard)) known.delete(guard)
      if (known.size < size) work.push(next)
    }
  }
  return entries
}
