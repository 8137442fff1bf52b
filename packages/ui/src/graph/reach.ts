/**
 * The dependencies and the dependents of a node.
 *
 * Invariants, quoted by the tests:
 *  C1  The result is exactly the set of nodes that have a path to the node, or from it, and the node itself.
 */
import { reversed, type Edges } from './edges.ts'

export type Direction = 'upstream' | 'downstream' | 'both'

/** 1 for each node that is in. */
export function reach(edges: Edges, from: number, direction: Direction): Uint8Array {
  const reached = new Uint8Array(edges.count)
  if (from < 0 || from >= edges.count) return reached
  if (direction !== 'downstream') walk(edges, from, reached)
  if (direction !== 'upstream') {
    const down = new Uint8Array(edges.count)
    walk(reversed(edges), from, down)
    for (let node = 0; node < edges.count; node++) reached[node]! |= down[node]!
  }
  return reached
}

function walk({ offsets, after }: Edges, from: number, reached: Uint8Array): void {
  const queue = [from]
  reached[from] = 1
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    for (let i = offsets[node]!; i < offsets[node + 1]!; i++) {
      const next = after[i]!
      if (reached[next] === 1) continue
      reached[next] = 1
      queue.push(next)
    }
  }
}
