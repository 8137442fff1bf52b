import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { edgesOf, type Edges } from '../../src/graph/edges.ts'
import { defaultSpacing, layOut, type Layout } from '../../src/graph/layout.ts'

/** Graphs in which a node depends on earlier ones, as builders make them. */
const graphs = fc
  .array(fc.array(fc.nat({ max: 40 }), { maxLength: 4 }), { maxLength: 60 })
  .map((lists) =>
    lists.map((list, node) =>
      [...new Set(list.map((each) => node - 1 - each))].filter((each) => each >= 0),
    ),
  )

function overlaps({ count, rank, y }: Layout): boolean {
  for (let a = 0; a < count; a++) {
    for (let b = 0; b < a; b++) {
      if (rank[a] === rank[b] && Math.abs(y[a]! - y[b]!) < defaultSpacing.node - 0.5) return true
    }
  }
  return false
}

function edgesPointRight({ count, offsets, after }: Edges, { rank }: Layout): boolean {
  for (let node = 0; node < count; node++) {
    for (let i = offsets[node]!; i < offsets[node + 1]!; i++) {
      if (rank[after[i]!]! >= rank[node]!) return false
    }
  }
  return true
}

test('G1, G2 every edge points to the right and no two nodes overlap', () => {
  fc.assert(
    fc.property(graphs, (lists) => {
      const edges = edgesOf(lists)
      const layout = layOut(edges)
      assert.ok(edgesPointRight(edges, layout))
      assert.ok(!overlaps(layout))
      for (const [node, list] of lists.entries()) {
        if (list.length === 0) assert.equal(layout.rank[node], 0)
      }
    }),
  )
})

test('G3 a graph that grows keeps the order of nodes that did not change their rank', () => {
  fc.assert(
    fc.property(graphs, fc.nat({ max: 60 }), (lists, size) => {
      const before = layOut(edgesOf(lists.slice(0, size)))
      const edges = edgesOf(lists)
      const now = layOut(edges, before)
      assert.ok(edgesPointRight(edges, now))
      assert.ok(!overlaps(now))
      for (let a = 0; a < before.count; a++) {
        assert.ok(now.rank[a]! >= before.rank[a]!)
        for (let b = 0; b < a; b++) {
          const isSettled = now.rank[a] === before.rank[a] && now.rank[b] === before.rank[b]
          if (!isSettled || now.rank[a] !== now.rank[b]) continue
          assert.equal(now.order[a]! < now.order[b]!, before.order[a]! < before.order[b]!)
        }
      }
    }),
  )
})

test('G4 the same graph is laid out in the same way', () => {
  fc.assert(
    fc.property(graphs, (lists) =>
      assert.deepEqual(layOut(edgesOf(lists)), layOut(edgesOf(lists))),
    ),
  )
})

test('G5 the layout of a cycle terminates', () => {
  const layout = layOut(edgesOf([[2], [0], [1], [2]]))
  assert.equal(layout.count, 4)
  assert.ok(!overlaps(layout))
})

test('nodes of one chain are in one line', () => {
  const lists = Array.from({ length: 30 }, (_, node) => (node % 3 === 0 ? [] : [node - 1]))
  const { y } = layOut(edgesOf(lists))
  for (let item = 0; item < 10; item++) {
    assert.deepEqual([y[item * 3 + 1], y[item * 3 + 2]], [y[item * 3], y[item * 3]])
  }
})
