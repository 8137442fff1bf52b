import assert from 'node:assert/strict'
import { test } from 'node:test'
import { edgesOf } from '../../src/graph/edges.ts'
import { reach } from '../../src/graph/reach.ts'

//   0 ─▶ 1 ─▶ 3 ─▶ 5
//   2 ────────┘         4
const edges = edgesOf([[], [0], [], [1, 2], [], [3]])

function nodes(reached: Uint8Array): number[] {
  return [...reached].flatMap((isIn, node) => (isIn === 1 ? [node] : []))
}

test('C1 dependencies and dependents of a node are found, and both', () => {
  assert.deepEqual(nodes(reach(edges, 3, 'upstream')), [0, 1, 2, 3])
  assert.deepEqual(nodes(reach(edges, 3, 'downstream')), [3, 5])
  assert.deepEqual(nodes(reach(edges, 1, 'both')), [0, 1, 3, 5])
  assert.deepEqual(nodes(reach(edges, 4, 'both')), [4])
  assert.deepEqual(nodes(reach(edges, 9, 'both')), [])
})
