import type { Slices } from '../kernel/slices.ts'
import type { Dependencies } from './dependencies.ts'
import type { Node } from './node.ts'

export interface Cycle {
  /** One way round, first name repeated at the end. Each name waits for the next. */
  readonly path: readonly string[]
  /** All nodes that stand on a cycle or between two. */
  readonly members: readonly Node[]
}

/**
 * Looks for a cycle among nodes that have not ended, iteratively and in slices: the original used
 * recursion and broke on long chains (P14).
 *
 * Nodes that do not depend on a cycle are peeled off from the front, then those on which no cycle
 * depends from the back. The remaining nodes form cycles.
 *
 * On the way nodes get the depth that was not known when they were added: they depend on nodes that were added later.
 */
export async function findCycle(graph: Dependencies, slices: Slices): Promise<Cycle | undefined> {
  const left = new Set<Node>()
  const dependents = new Map<Node, Node[]>()
  for (const node of graph.nodes.values()) {
    if (node.ended) continue
    left.add(node)
    for (const dependency of graph.of(node)) {
      const list = dependents.get(dependency)
      if (list === undefined) dependents.set(dependency, [node])
      else list.push(node)
    }
    if (slices.due) await slices.next()
  }
  await peel(
    left,
    (node) => graph.of(node),
    (node) => dependents.get(node) ?? [],
    slices,
    (dependency, node) => graph.deepen(dependency, node),
  )
  if (left.size === 0) return undefined
  await peel(
    left,
    (node) => dependents.get(node) ?? [],
    (node) => graph.of(node),
    slices,
  )
  return { path: walk(left, graph), members: [...left] }
}

/** Removes nodes that nothing left points to, again and again. */
async function peel(
  left: Set<Node>,
  incoming: (node: Node) => readonly Node[],
  outgoing: (node: Node) => readonly Node[],
  slices: Slices,
  onEdge: (from: Node, to: Node) => void = () => undefined,
): Promise<void> {
  const counts = new Map<Node, number>()
  const free: Node[] = []
  for (const node of left) {
    let count = 0
    for (const other of incoming(node)) {
      if (left.has(other)) count++
      if (slices.due) await slices.next()
    }
    counts.set(node, count)
    if (count === 0) free.push(node)
  }
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    left.delete(node)
    for (const other of outgoing(node)) {
      const count = counts.get(other)
      if (count === undefined) continue
      onEdge(node, other)
      counts.set(other, count - 1)
      if (count === 1) free.push(other)
      if (slices.due) await slices.next()
    }
  }
}

/** Follows dependencies inside `left` until a node comes up again. */
function walk(left: ReadonlySet<Node>, graph: Dependencies): string[] {
  const seen = new Map<Node, number>()
  const path: Node[] = []
  let node: Node | undefined = left.values().next().value
  while (node !== undefined && !seen.has(node)) {
    seen.set(node, path.length)
    path.push(node)
    node = graph.of(node).find((dependency) => left.has(dependency))
  }
  const loop = node === undefined ? path : [...path.slice(seen.get(node)), node]
  return loop.map((member) => member.name)
}
