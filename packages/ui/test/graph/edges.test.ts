import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { edgesOf, longestPaths, reversed, type Edges } from '../../src/graph/edges.ts'

const anyGraph = fc.array(fc.uniqueArray(fc.nat({ max: 39 }), { maxLength: 5 }), { maxLength: 40 })

function pairs({ count, offsets, after }: Edges): string[] {
  const found: string[] = []
  for (let node = 0; node < count; node++) {
    for (let i = offsets[node]!; i < offsets[node + 1]!; i++) found.push(`${after[i]}>${node}`)
  }
  return found.toSorted()
}

test('E1 turning the edges twice gives the same edges', () => {
  fc.assert(
    fc.property(anyGraph, (lists) => {
      const edges = edgesOf(lists)
      assert.deepEqual(pairs(reversed(reversed(edges))), pairs(edges))
      assert.equal(reversed(edges).after.length, edges.after.length)
    }),
  )
})

test('E2 an edge leads to a larger number, and no path starts below the given number', () => {
  assert.deepEqual([...longestPaths(edgesOf([[], [0], [1, 0], [], [3, 2]]))], [0, 1, 2, 0, 3])
  assert.deepEqual([...longestPaths(edgesOf([[], [0]]), [4])], [4, 5])
  fc.assert(fc.property(anyGraph, (lists) => longestPaths(edgesOf(lists)).length === lists.length))
})

test('E3 a chain of 100,000 nodes does not overflow the stack', () => {
  const chain = Array.from({ length: 100_000 }, (_, node) => (node === 0 ? [] : [node - 1]))
  assert.equal(
    longestPaths(
      edgesOf(chain.toReversed().map((_, node) => (node === 99_999 ? [] : [node + 1]))),
    )[0],
    99_999,
  )
})

test('dependencies outside of the graph are left out', () => {
  assert.deepEqual([...edgesOf([[5, -1], [0]]).after], [0])
})
