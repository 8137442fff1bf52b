/**
 * Puts the nodes of a graph into layers, left to right, and keeps them there while the graph grows.
 *
 * Ranks are longest paths from the sources; the order inside a rank comes from barycentre sweeps over neighbours. There
 * are not any dummy nodes: an edge that passes over ranks is drawn as a curve. 10,000 nodes take some 40 ms, which is why
 * this exists (the libraries take 21 s for 1,000, docs/decisions/0502).
 *
 * Invariants, quoted by the tests:
 *  G1  Every edge points to a higher rank; a node without dependencies is in rank 0, or under its parent's.
 *  G2  No two nodes of a rank overlap.
 *  G3  Laying out again after nodes were added never lowers a rank and never exchanges two nodes of a rank that did not
 *      change it: visible nodes stay where they are.
 *  G4  The result depends only on the graph and on the order in which it grew: no chance, no time.
 *  G5  A cycle in the input (a damaged record) ends all the same: edges that would close it are ignored.
 */
import { longestPaths, reversed, type Edges } from './edges.ts'

export interface Layout {
  readonly count: number
  readonly rank: Int32Array
  /** Place inside its rank, from the top. */
  readonly order: Int32Array
  /** Position of the middle of each node, in units of `spacing`. */
  readonly x: Float32Array
  readonly y: Float32Array
  readonly ranks: number
  readonly width: number
  readonly height: number
}

/** Distances between nodes, in units of the drawing. */
export interface Spacing {
  readonly rank: number
  readonly node: number
}

export const defaultSpacing: Spacing = { rank: 220, node: 44 }

/** Sweeps for a new layout, and for one that grows: there the order is mostly kept. */
const freshSweeps = 8
const growingSweeps = 2

/** Lays out a graph; with a layout of an earlier state of the same graph it is continued (G3). */
export function layOut(edges: Edges, before?: Layout, spacing: Spacing = defaultSpacing): Layout {
  const rank = longestPaths(edges, before?.rank)
  const layers = layersOf(edges, rank, before)
  const order = new Int32Array(edges.count)
  for (const layer of layers) for (const [at, node] of layer.entries()) order[node] = at
  const down = reversed(edges)
  const settled = settledNodes(edges.count, rank, before)
  const sweeps = before === undefined ? freshSweeps : growingSweeps
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isForward = sweep % 2 === 0
    const step = isForward ? 1 : -1
    const neighbours = isForward ? edges : down
    for (let i = isForward ? 1 : layers.length - 2; i >= 0 && i < layers.length; i += step) {
      sortLayer(layers[i]!, order, neighbours, settled)
    }
  }
  return place(edges, layers, rank, order, spacing)
}

/** The nodes of each rank: earlier nodes in their order, new ones behind them. */
function layersOf({ count }: Edges, rank: Int32Array, before: Layout | undefined): number[][] {
  let ranks = 0
  for (let node = 0; node < count; node++) ranks = Math.max(ranks, rank[node]! + 1)
  const layers: number[][] = Array.from({ length: ranks }, () => [])
  for (let node = 0; node < count; node++) layers[rank[node]!]!.push(node)
  if (before !== undefined) {
    const { order } = before
    const known = before.count
    const keyOf = (node: number): number => (node < known ? order[node]! : known + node)
    for (const layer of layers) layer.sort((a, b) => keyOf(a) - keyOf(b))
  }
  return layers
}

/** Nodes that may not change their order among each other. */
function settledNodes(count: number, rank: Int32Array, before: Layout | undefined): Uint8Array {
  const settled = new Uint8Array(count)
  if (before === undefined) return settled
  const known = Math.min(count, before.count)
  for (let node = 0; node < known; node++) settled[node] = before.rank[node] === rank[node] ? 1 : 0
  return settled
}

function sortLayer(
  layer: number[],
  order: Int32Array,
  { offsets, after }: Edges,
  settled: Uint8Array,
): void {
  const weight = new Map<number, number>()
  for (const node of layer) {
    let sum = 0
    let found = 0
    for (let i = offsets[node]!; i < offsets[node + 1]!; i++) {
      const neighbour = after[i]!
      sum += order[neighbour]!
      found++
    }
    weight.set(node, found === 0 ? order[node]! : sum / found)
  }
  const kept = layer.filter((node) => settled[node] === 1)
  const byWeight = (a: number, b: number): number =>
    weight.get(a)! - weight.get(b)! || order[a]! - order[b]!
  if (kept.length === 0) {
    layer.sort(byWeight)
  } else {
    const added = layer.filter((node) => settled[node] === 0).sort(byWeight)
    merge(layer, kept, added, weight)
  }
  for (const [at, node] of layer.entries()) order[node] = at
}

/** Settled nodes keep their order; each new one goes before the first settled one with a larger weight. */
function merge(
  layer: number[],
  kept: readonly number[],
  added: readonly number[],
  weight: ReadonlyMap<number, number>,
): void {
  let at = 0
  let next = 0
  for (const node of kept) {
    while (next < added.length && weight.get(added[next]!)! < weight.get(node)!)
      layer[at++] = added[next++]!
    layer[at++] = node
  }
  while (next < added.length) layer[at++] = added[next++]!
}

/** Coordinates: ranks in columns, each column centred on the tallest; a node leans towards its neighbours where there is room. */
function place(
  edges: Edges,
  layers: readonly (readonly number[])[],
  rank: Int32Array,
  order: Int32Array,
  spacing: Spacing,
): Layout {
  const { count, offsets, after } = edges
  const x = new Float32Array(count)
  const y = new Float32Array(count)
  const tallest = layers.reduce((most, layer) => Math.max(most, layer.length), 0)
  for (const [column, layer] of layers.entries()) {
    const top = ((tallest - layer.length) * spacing.node) / 2
    for (const [placeInLayer, node] of layer.entries()) {
      x[node] = column * spacing.rank
      y[node] = top + placeInLayer * spacing.node
    }
    if (column === 0) continue
    leanTo(layer, y, spacing.node, (node) => {
      let sum = 0
      let found = 0
      for (let i = offsets[node]!; i < offsets[node + 1]!; i++) {
        const neighbour = after[i]!
        if (rank[neighbour]! >= rank[node]!) continue
        sum += y[neighbour]!
        found++
      }
      return found === 0 ? y[node]! : sum / found
    })
  }
  let lowest = 0
  let highest = 0
  for (let node = 0; node < count; node++) {
    lowest = Math.min(lowest, y[node]!)
    highest = Math.max(highest, y[node]!)
  }
  for (let node = 0; node < count; node++) y[node]! -= lowest
  return {
    count,
    rank,
    order,
    x,
    y,
    ranks: layers.length,
    width: Math.max(0, layers.length - 1) * spacing.rank,
    height: highest - lowest,
  }
}

/**
 * Moves the nodes of a column towards where they want to be, at least a distance apart and in their order: the least sum
 * of squares, by pooling neighbours that want to overlap.
 */
function leanTo(
  layer: readonly number[],
  y: Float32Array,
  distance: number,
  wish: (node: number) => number,
): void {
  const starts: number[] = []
  const sums: number[] = []
  const sizes: number[] = []
  for (const [i, node] of layer.entries()) {
    let start = i
    let sum = wish(node) - i * distance
    let size = 1
    while (starts.length > 0 && sums.at(-1)! / sizes.at(-1)! > sum / size) {
      start = starts.pop()!
      sum += sums.pop()!
      size += sizes.pop()!
    }
    starts.push(start)
    sums.push(sum)
    sizes.push(size)
  }
  for (let pool = 0; pool < starts.length; pool++) {
    const base = sums[pool]! / sizes[pool]!
    for (let i = starts[pool]!; i < starts[pool]! + sizes[pool]!; i++)
      y[layer[i]!] = base + i * distance
  }
}
