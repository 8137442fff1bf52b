import type { NameMap } from '../kernel/name-map.ts'
import { NumberTable } from '../kernel/number-table.ts'
import type { Node } from './node.ts'

/** The end of a list of edges. */
export const noEdge = -1

// Fields of a node's record.
const remaining = 0
const firstOut = 1
const lastOut = 2
const firstIn = 3
const lastIn = 4
/** Longest path from a root, as far as the edges are known. */
const depth = 5
/** 1 from the moment in which it has ended. */
const ended = 6
const nodeSize = 7

// Fields of an edge's record.
const from = 0
const to = 1
const nextOut = 2
const nextIn = 3
const edgeSize = 4

const makeNumbers = (length: number): Int32Array<ArrayBuffer> => new Int32Array(length)

/**
 * Which node waits for which.
 *
 * Records in tables of numbers instead of arrays on the nodes. An edge stands in two lists, that of
 * its dependency (which is notified) and that of its dependent (which it waits for):
 *
 *     dependency ──firstOut──▶ edge ──nextOut──▶ edge ──▶ …
 *     dependent  ──firstIn───▶ edge ──nextIn───▶ edge ──▶ …
 *
 * Two arrays per node would be the largest part of a graph (an array that grows to two elements
 * reserves seventeen), all of it copied twice by the garbage collector while the graph is built: that
 * was a loop gap of 100 ms on 100,000 nodes with 300,000 edges. The collector does not visit numbers. And
 * notifying a dependent touches its counter, not the node, unless it was the last it waited for: most
 * of the time of a large random graph is waiting for memory.
 */
export class Dependencies {
  /** The nodes in order of their index. */
  readonly nodes: NameMap<Node>
  readonly #records = new NumberTable(nodeSize, makeNumbers)
  readonly #edges = new NumberTable(edgeSize, makeNumbers)
  /** An edge is named by its number. */
  #edgeCount = 0

  constructor(nodes: NameMap<Node>) {
    this.nodes = nodes
  }

  /** Makes room for a node. Nodes are added in order of their index. */
  add({ index }: Node): void {
    this.#records.add(index)
    const records = this.#records.piece(index)
    const record = this.#records.offset(index)
    records[record + firstOut] = noEdge
    records[record + firstIn] = noEdge
  }

  /**
   * The node `dependent` starts after the node `dependency`, both by index; it counts only while the dependency
   * has not ended. Touches no node: most of them are not in the processor's cache.
   */
  connect(dependency: number, dependent: number): void {
    const edge = this.#edgeCount++
    this.#edges.add(edge)
    const edges = this.#edges.piece(edge)
    const start = this.#edges.offset(edge)
    edges[start + from] = dependency
    edges[start + to] = dependent
    edges[start + nextOut] = noEdge
    edges[start + nextIn] = noEdge

    const waiters = this.#records.piece(dependent)
    const waiter = this.#records.offset(dependent)
    if (waiters[waiter + firstIn] === noEdge) waiters[waiter + firstIn] = edge
    else this.#setEdge(waiters[waiter + lastIn]!, nextIn, edge)
    waiters[waiter + lastIn] = edge

    const sources = this.#records.piece(dependency)
    const source = this.#records.offset(dependency)
    if (sources[source + depth]! >= waiters[waiter + depth]!) {
      waiters[waiter + depth] = sources[source + depth]! + 1
    }
    if (sources[source + ended] === 1) return
    waiters[waiter + remaining]!++
    if (sources[source + firstOut] === noEdge) sources[source + firstOut] = edge
    else this.#setEdge(sources[source + lastOut]!, nextOut, edge)
    sources[source + lastOut] = edge
  }

  /** Longest path from a root. Final when the node is ready. */
  depth({ index }: Node): number {
    return this.#records.piece(index)[this.#records.offset(index) + depth]!
  }

  /** `node` is at least one deeper than `dependency`. */
  deepen(dependency: Node, node: Node): void {
    const least = this.depth(dependency) + 1
    const { index } = node
    const records = this.#records.piece(index)
    const field = this.#records.offset(index) + depth
    if (records[field]! < least) records[field] = least
  }

  markEnded({ index }: Node): void {
    this.#records.piece(index)[this.#records.offset(index) + ended] = 1
  }

  /** Marks a node as ended and removes the list of its dependents, in one access to its record. */
  end({ index }: Node): number {
    const records = this.#records.piece(index)
    const record = this.#records.offset(index)
    const first = records[record + firstOut]!
    records[record + firstOut] = noEdge
    records[record + ended] = 1
    return first
  }

  hasEnded(index: number): boolean {
    return this.#records.piece(index)[this.#records.offset(index) + ended] === 1
  }

  /** One more thing to wait for that is not a node yet. */
  expect({ index }: Node): void {
    this.#records.piece(index)[this.#records.offset(index) + remaining]!++
  }

  /** One thing less to wait for. True when it was the last: its depth is final then. */
  satisfy({ index }: Node): boolean {
    return this.#satisfy(index) !== undefined
  }

  /** The same for the dependent at the end of an edge: returns it when this was the last. */
  satisfyEdge(edge: number): Node | undefined {
    return this.#satisfy(this.#edge(edge, to))
  }

  isFree(node: Node): boolean {
    return this.remaining(node) === 0
  }

  /** Takes away the list of a node's dependents, so that each is released or blocked once. */
  takeDependents({ index }: Node): number {
    const records = this.#records.piece(index)
    const record = this.#records.offset(index)
    const first = records[record + firstOut]!
    records[record + firstOut] = noEdge
    return first
  }

  dependent(edge: number): Node {
    return this.nodes.at(this.#edge(edge, to))!
  }

  following(edge: number): number {
    return this.#edge(edge, nextOut)
  }

  /** The number of dependencies that a node still waits for. */
  remaining({ index }: Node): number {
    return this.#records.piece(index)[this.#records.offset(index) + remaining]!
  }

  /** The first `limit` dependencies of a node, in the order in which they were added. */
  of({ index }: Node, limit = Infinity): Node[] {
    const found: Node[] = []
    let edge = this.#records.piece(index)[this.#records.offset(index) + firstIn]!
    for (; edge !== noEdge && found.length < limit; edge = this.#edge(edge, nextIn)) {
      found.push(this.nodes.at(this.#edge(edge, from))!)
    }
    return found
  }

  #satisfy(index: number): Node | undefined {
    const records = this.#records.piece(index)
    const record = this.#records.offset(index)
    if (--records[record + remaining]! !== 0) return undefined
    const node = this.nodes.at(index)!
    node.depth = records[record + depth]!
    return node
  }

  #edge(edge: number, field: number): number {
    return this.#edges.piece(edge)[this.#edges.offset(edge) + field]!
  }

  #setEdge(edge: number, field: number, value: number): void {
    this.#edges.piece(edge)[this.#edges.offset(edge) + field] = value
  }
}
