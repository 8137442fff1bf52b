/**
 * Folds a large graph into one that can be read: nodes of one map or sub-graph become one, then nodes of one job with the
 * same neighbours do, until few enough are left.
 *
 * Invariants, quoted by the tests:
 *  F1  Every node is in exactly one group; folding alike nodes never makes a cycle.
 *  F2  A group that was opened by the reader is not folded, whatever the size.
 *  F3  At most `limit` nodes: nothing is folded unless the reader closed it.
 *  F4  A group has the name of its parent, or of its job; the counts of its states are the sum of its members'.
 */
import { edgesOf, longestPaths, type Edges } from './edges.ts'

export interface FoldInput {
  readonly edges: Edges
  readonly names: readonly string[]
  readonly jobs: readonly string[]
  /** Index of the job of each node. */
  readonly job: ArrayLike<number>
  /** Index of the map or sub-graph each node belongs to; -1: none. */
  readonly parent: ArrayLike<number>
}

export interface Group {
  /** The key stays the same while the graph grows: the reader opens and closes groups by it. */
  readonly key: string
  readonly name: string
  readonly members: readonly number[]
}

export interface Folded {
  readonly groups: readonly Group[]
  /** Group of each node. */
  readonly groupOf: Int32Array
  readonly edges: Edges
}

export interface FoldOptions {
  /** Above this many nodes, groups are made. */
  readonly limit?: number
  /** Keys of groups that the reader opened. */
  readonly opened?: ReadonlySet<string>
}

export const foldLimit = 300

export function fold(
  input: FoldInput,
  { limit = foldLimit, opened = new Set() }: FoldOptions = {},
): Folded {
  const { edges } = input
  if (edges.count <= limit) return foldBy(input, (node) => node)
  // The outermost parent that the reader has not opened stands for everything below it.
  const heads = new Int32Array(edges.count)
  for (let node = 0; node < edges.count; node++) heads[node] = headOf(node, input, opened)
  const byParent = foldBy(input, (node) => heads[node]!)
  if (byParent.groups.length <= limit) return byParent
  return foldAlike(input, byParent, opened)
}

function headOf(node: number, { parent, names }: FoldInput, opened: ReadonlySet<string>): number {
  let head = node
  let steps = 0
  for (let at = parent[node]!; at >= 0 && steps < 64; at = parent[at]!, steps++) {
    if (!opened.has(`parent:${names[at]}`)) head = at
  }
  return head
}

/** One group for each value of `headOf`. A head stands for its members and for itself. */
function foldBy(input: FoldInput, head: (node: number) => number): Folded {
  const { edges, names } = input
  const members = new Map<number, number[]>()
  for (let node = 0; node < edges.count; node++) {
    const at = head(node)
    const list = members.get(at)
    if (list === undefined) members.set(at, [node])
    else list.push(node)
  }
  const groups = [...members].map(([at, list]): Group => {
    const key = list.length === 1 ? `node:${names[list[0]!]}` : `parent:${names[at]}`
    return { key, name: names[at]!, members: list }
  })
  return connect(edges, groups)
}

/**
 * Nodes of one job in one rank of the folded graph that have the same dependencies' groups: what a fan-out over a list
 * looks like. Ranks only, so that no cycle can arise (F1).
 */
function foldAlike(input: FoldInput, folded: Folded, opened: ReadonlySet<string>): Folded {
  const { jobs, job, names } = input
  const rank = longestPaths(folded.edges)
  const alike = new Map<string, number[]>()
  const single: Group[] = []
  for (const [index, group] of folded.groups.entries()) {
    const first = group.members[0]!
    if (group.members.length > 1 || opened.has(`alike:${jobs[job[first]!]}@${rank[index]}`)) {
      single.push(group)
      continue
    }
    const key = `alike:${jobs[job[first]!]}@${rank[index]}`
    const list = alike.get(key)
    if (list === undefined) alike.set(key, [index])
    else list.push(index)
  }
  const groups: Group[] = [...single]
  for (const [key, list] of alike) {
    const members = list.flatMap((index) => folded.groups[index]!.members)
    const first = members[0]!
    if (members.length === 1)
      groups.push({ key: `node:${names[first]}`, name: names[first]!, members })
    else groups.push({ key, name: jobs[job[first]!]!, members })
  }
  groups.sort((a, b) => a.members[0]! - b.members[0]!)
  return connect(input.edges, groups)
}

function connect(edges: Edges, groups: readonly Group[]): Folded {
  const groupOf = new Int32Array(edges.count).fill(-1)
  for (const [index, group] of groups.entries())
    for (const node of group.members) groupOf[node] = index
  const dependencies: Set<number>[] = groups.map(() => new Set())
  for (let node = 0; node < edges.count; node++) {
    const own = groupOf[node]!
    for (let i = edges.offsets[node]!; i < edges.offsets[node + 1]!; i++) {
      const other = groupOf[edges.after[i]!]
      if (other !== undefined && other >= 0 && other !== own) dependencies[own]!.add(other)
    }
  }
  return {
    groups,
    groupOf,
    edges: edgesOf(dependencies.map((set) => [...set].sort((a, b) => a - b))),
  }
}
