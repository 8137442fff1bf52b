/** Nodes of a run with the places they run at. */
import { HeddleError } from '../errors.ts'
import { nameOfReference, type Graph, type GraphNode, type NodeRef } from '../graph/graph.ts'
import type { Clock } from '../kernel/clock.ts'
import type { NameMap } from '../kernel/name-map.ts'
import { Slices } from '../kernel/slices.ts'
import { findPlace, type Places } from '../places/find-place.ts'
import type { Place } from '../places/place.ts'

/** The graph to which a node was added, and the prefix of its nodes' names in the run. */
export interface NodeScope {
  readonly graph: Graph
  /** Empty for the graph of the run, `train/` for the sub-graph `train`. */
  readonly prefix: string
  /** The scope of the sub-graph node that built this graph; absent for the graph of the run. */
  readonly outer?: NodeScope
  /** How many sub-graphs it is inside of. */
  readonly level: number
}

export interface PlacedNode {
  /** Its name in the run. */
  readonly name: string
  readonly node: GraphNode
  readonly place: Place
  readonly scope: NodeScope
}

export type PlacedNodes = NameMap<PlacedNode>

/** Reads results by the names of the run. */
export type ResultOf = (name: string) => unknown

/**
 * Adds the nodes of a graph to those of the run.
 *
 * *Cancellation*: none; the work is bounded by the size of the graph and yields to I/O.
 * @throws `HDL_PLACE_UNAVAILABLE`; `HDL_DUPLICATE_NODE` for a name that the run has already.
 */
export async function placeNodes(
  nodes: PlacedNodes,
  scope: NodeScope,
  places: Places,
  clock: Clock,
): Promise<PlacedNode[]> {
  const placed: PlacedNode[] = []
  const slices = new Slices(clock)
  for (const node of scope.graph.nodes()) {
    const name = scope.prefix + node.name
    if (nodes.has(name)) throw new HeddleError('HDL_DUPLICATE_NODE', { node: name })
    placed.push({ name, node, scope, place: findPlace(name, node.job.place, places) })
    if (slices.due) await slices.next()
  }
  for (const each of placed) {
    nodes.add(each)
    if (slices.due) await slices.next()
  }
  return placed
}

/** The dependencies of a placed node, by the names of the run. */
export function dependenciesOf({ node, scope }: PlacedNode): readonly string[] {
  return scope.prefix === '' ? node.after : node.after.map((name) => scope.prefix + name)
}

/** What `of()` is in the functions of a node. */
export function reader(scope: NodeScope, resultOf: ResultOf): (dependency: NodeRef) => unknown {
  const find = (name: string): GraphNode | undefined => scope.graph.get(name)
  return (dependency) => resultOf(scope.prefix + nameOfReference(dependency, find))
}
