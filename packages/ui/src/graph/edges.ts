/**
 * The edges of a graph, as compressed rows: node i depends on `after[offsets[i]] … after[offsets[i + 1] - 1]`.
 *
 * Invariants, quoted by the tests:
 *  E1  reversed(reversed(edges)) has the same edges, each list in ascending order.
 *  E2  longestPaths: every edge leads to a larger number, except one that closes a cycle, which is ignored.
 *  E3  No function uses the call stack: a chain of 100,000 nodes is ordinary.
 */
export interface Edges {
  readonly count: number
  readonly offsets: Int32Array
  readonly after: Int32Array
}

/** Makes compressed rows from the dependencies of each node. Those outside of the graph are left out. */
export function edgesOf(dependencies: readonly (readonly number[])[]): Edges {
  const count = dependencies.length
  const inside = dependencies.map((list) => list.filter((node) => node >= 0 && node < count))
  const offsets = new Int32Array(count + 1)
  for (let node = 0; node < count; node++) offsets[node + 1] = offsets[node]! + inside[node]!.length
  const after = new Int32Array(offsets[count]!)
  for (let node = 0; node < count; node++) after.set(inside[node]!, offsets[node])
  return { count, offsets, after }
}

/** The same edges in the other direction: the dependents of each node. */
export function reversed({ count, offsets, after }: Edges): Edges {
  const starts = new Int32Array(count + 1)
  for (const dependency of after) starts[dependency + 1]!++
  for (let node = 0; node < count; node++) starts[node + 1]! += starts[node]!
  const fill = starts.slice(0, count)
  const targets = new Int32Array(after.length)
  for (let node = 0; node < count; node++) {
    for (let i = offsets[node]!; i < offsets[node + 1]!; i++) targets[fill[after[i]!]!++] = node
  }
  return { count, offsets: starts, after: targets }
}

/** For each node the number of edges on the longest path to it, but not less than `least` says. */
export function longestPaths(
  { count, offsets, after }: Edges,
  least?: ArrayLike<number>,
): Int32Array {
  const rank = new Int32Array(count)
  if (least !== undefined) {
    for (let node = 0; node < Math.min(count, least.length); node++) rank[node] = least[node]!
  }
  const unseen = 0
  const open = 1
  const done = 2
  const seen = new Uint8Array(count)
  const stack = new Int32Array(count + 1)
  const next = offsets.slice(0, count)
  for (let start = 0; start < count; start++) {
    if (seen[start] !== unseen) continue
    let top = 0
    stack[0] = start
    seen[start] = open
    while (top >= 0) {
      const node = stack[top]!
      if (next[node]! < offsets[node + 1]!) {
        const dependency = after[next[node]!]!
        next[node]!++
        if (seen[dependency] !== unseen) continue
        seen[dependency] = open
        stack[++top] = dependency
        continue
      }
      let own = rank[node]!
      for (let i = offsets[node]!; i < offsets[node + 1]!; i++) {
        const dependency = after[i]!
        if (seen[dependency] === done) own = Math.max(own, rank[dependency]! + 1)
      }
      rank[node] = own
      seen[node] = done
      top--
    }
  }
  return rank
}
