/** Which blocks of a graph are reached, and when. */
import type { Block, Event, Graph } from '../ir/graph.ts'

/** Bits of a block: reached before any suspension, reached after one. */
export const early = 1
export const late = 2

let phases = new Uint8Array(1_024)
const waiting: Block[] = []

/**
 * Which blocks are reached in which phase. A suspending block passes on as late.
 * The answer is valid until the next question.
 */
export function phasesOf(graph: Graph): Uint8Array {
  const count = graph.blocks.length
  if (phases.length < count) phases = new Uint8Array(count * 2)
  else phases.fill(0, 0, count)
  phases[graph.entry.id] = early
  waiting.push(graph.entry)
  for (let block = waiting.pop(); block !== undefined; block = waiting.pop()) {
    const passes = lastOf(block)?.op === 'suspend' ? late : phases[block.id]!
    for (const next of block.next) {
      if ((phases[next.id]! & passes) === passes) continue
      phases[next.id]! |= passes
      waiting.push(next)
    }
  }
  return phases
}

export function lastOf({ events }: Block): Event | undefined {
  return events.length === 0 ? undefined : events[events.length - 1]
}
