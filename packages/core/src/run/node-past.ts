/** Records of earlier processes about the nodes of a run, and the part of them that a resumed run uses. */
import type { NodeHeader, NodeSnapshot, RunSnapshot, RunWriter } from '../journal/journal.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { compareGraphs, isSameHeader } from './compare-graphs.ts'
import { GraphChanges, graphChanged, writeChanges } from './graph-changes.ts'
import type { ValidParts } from './valid-parts.ts'

/** A node of a sub-graph that an earlier process finished, with its result. In lists each comes after its dependencies. */
export type EndedNode = NodeSnapshot & { readonly value: unknown }

/** The valid part of a sub-graph that was built again. */
export interface Regrown {
  /** Results of its own nodes. */
  readonly finished: ReadonlyMap<string, unknown>
  /** Nodes inside its sub-graphs that have ended: these are not built again. */
  readonly ended: readonly EndedNode[]
}

/** The valid part of a graph, filled node by node. */
export interface ValidNodes {
  readonly finished: Map<string, unknown>
  readonly ended: EndedNode[]
}

/** The nodes of a run as earlier processes have recorded them. */
export class NodePast {
  readonly #run: RunSnapshot
  readonly #results: ReadonlyMap<string, unknown>
  readonly #parts: ValidParts
  readonly #options: { readonly allowChanges: boolean; readonly clock: Clock }
  readonly #byParent = new Map<string, NodeSnapshot[]>()
  /** Sub-graphs that are valid. */
  readonly #valid = new Set<string>()

  constructor(
    run: RunSnapshot,
    results: ReadonlyMap<string, unknown>,
    parts: ValidParts,
    options: { readonly allowChanges: boolean; readonly clock: Clock },
  ) {
    this.#run = run
    this.#results = results
    this.#parts = parts
    this.#options = options
    for (const node of run.nodes) {
      if (node.parent === undefined) continue
      const siblings = this.#byParent.get(node.parent)
      if (siblings === undefined) this.#byParent.set(node.parent, [node])
      else siblings.push(node)
    }
  }

  /**
   * Decides which part of one node is valid. `was`: the recorded node, if any. A valid result is added to the valid
   * nodes, an invalid one to `changes`. Returns a promise only for a sub-graph whose nodes become invalid: there may be
   * a million nodes.
   */
  judge(
    header: NodeHeader,
    was: NodeSnapshot | undefined,
    changed: ReadonlySet<string>,
    { finished, ended }: ValidNodes,
    changes: GraphChanges,
  ): Promise<void> | undefined {
    const { name, after, grows } = header
    // A result is valid only as long as everything it was computed from is.
    const isValid = !changed.has(name) && after.every((dependency) => finished.has(dependency))
    if (was?.state === 'succeeded') {
      // A damaged page can leave a success without its result.
      if (isValid && this.#results.has(name)) finished.set(name, this.#results.get(name))
      else changes.invalidResults.push(name)
    }
    if (!isValid && this.#parts.invalidate(name)) changes.invalidParts.push(name)
    if (isValid && grows === 'subgraph') {
      this.#valid.add(name)
      // Nodes in a sub-graph that has ended have ended too.
      if (finished.has(name)) this.#addEnded(name, ended)
      return undefined
    }
    return was?.grows === 'subgraph' ? this.#invalidate(name, changes) : undefined
  }

  /** R7: nodes in an invalid sub-graph are removed until its builder makes it again. */
  async #invalidate(subgraph: string, changes: GraphChanges): Promise<void> {
    await this.#forEachBelow(subgraph, (node) => {
      if (node.state !== 'skipped') changes.removed.push(node)
      if (this.#parts.invalidate(node.name)) changes.invalidParts.push(node.name)
    })
  }

  /** The node is no longer in the graph, and neither are its parts. */
  async remove(node: NodeSnapshot, changes: GraphChanges): Promise<void> {
    const removeOne = (each: NodeSnapshot): void => {
      if (each.state !== 'succeeded') changes.removed.push(each)
    }
    removeOne(node)
    await this.#forEachBelow(node.name, removeOne)
  }

  async #forEachBelow(subgraph: string, visit: (node: NodeSnapshot) => void): Promise<void> {
    const slices = new Slices(this.#options.clock)
    const left = [subgraph]
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      for (const node of this.#byParent.get(name) ?? []) {
        visit(node)
        if (node.grows === 'subgraph') left.push(node.name)
        if (slices.due) await slices.next()
      }
    }
  }

  /**
   * Compares the nodes that a builder has made again with the recorded ones: their valid part, and the rows to write.
   *
   * @throws `HDL_GRAPH_CHANGED` with every difference named, unless changes are allowed.
   */
  async compare(
    parent: string,
    headers: readonly NodeHeader[],
  ): Promise<Regrown & { writeChanges(writer: RunWriter): void }> {
    const { clock, allowChanges } = this.#options
    const isValid = this.#valid.has(parent)
    const made = await nodesByName(this.#byParent.get(parent) ?? [], clock)
    // Removed results are computed again.
    const isThere = ({ state }: NodeSnapshot): boolean => isValid && state !== 'skipped'
    const before = new Map([...made].filter(([, node]) => isThere(node)))
    const differences = await compareGraphs(before, headers, clock)
    // A builder that was interrupted may not have announced all of its nodes.
    const real = differences.filter(({ kind }) => kind !== 'added')
    if (isValid && real.length > 0 && !allowChanges) throw graphChanged(this.#run.id, real)
    const changed = new Set(differences.map(({ node }) => node))
    const finished = new Map<string, unknown>()
    const ended: EndedNode[] = []
    const changes = new GraphChanges()
    const slices = new Slices(clock)
    for (const header of headers) {
      const { name } = header
      const was = before.get(name)
      if (was === undefined || !isSameHeader(was, header)) changes.headers.push(header)
      if (was !== undefined) await this.judge(header, was, changed, { finished, ended }, changes)
      else if (made.has(name)) changes.invalidResults.push(name)
      if (slices.due) await slices.next()
    }
    for (const { kind, node } of differences) {
      if (kind === 'removed') await this.remove(before.get(node)!, changes)
    }
    return {
      finished,
      ended,
      writeChanges: (writer) => writeChanges(writer, changes, clock.wallTime()),
    }
  }

  #addEnded(subgraph: string, ended: EndedNode[]): void {
    const left = [subgraph]
    for (let parent = left.pop(); parent !== undefined; parent = left.pop()) {
      for (const node of this.#byParent.get(parent) ?? []) {
        if (node.state !== 'succeeded') continue
        ended.push({ ...node, value: this.#results.get(node.name) })
        if (node.grows === 'subgraph') left.push(node.name)
      }
    }
  }
}

export async function nodesByName(
  nodes: readonly NodeSnapshot[],
  clock: Clock,
): Promise<ReadonlyMap<string, NodeSnapshot>> {
  const found = new Map<string, NodeSnapshot>()
  const slices = new Slices(clock)
  for (const node of nodes) {
    found.set(node.name, node)
    if (slices.due) await slices.next()
  }
  return found
}
