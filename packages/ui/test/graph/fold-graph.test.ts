import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { edgesOf, longestPaths } from '../../src/graph/edges.ts'
import { fold, type FoldInput } from '../../src/graph/fold-graph.ts'

/** Items that pass through three jobs; with a parent they are the elements of one map. */
function fanOut(items: number, hasParent = false): FoldInput {
  const names = hasParent ? ['map'] : []
  const job = hasParent ? [3] : []
  const parent = hasParent ? [-1] : []
  const lists: number[][] = hasParent ? [[]] : []
  for (let item = 0; item < items; item++) {
    for (const [stage, name] of ['fetch', 'parse', 'store'].entries()) {
      lists.push(stage === 0 ? [] : [names.length - 1])
      names.push(`${name} ${item}`)
      job.push(stage)
      parent.push(hasParent ? 0 : -1)
    }
  }
  return { edges: edgesOf(lists), names, jobs: ['fetch', 'parse', 'store', 'map'], job, parent }
}

function checkPartition(input: FoldInput, folded: ReturnType<typeof fold>): void {
  const seen = new Int32Array(input.edges.count)
  for (const [index, group] of folded.groups.entries()) {
    for (const node of group.members) {
      seen[node]!++
      assert.equal(folded.groupOf[node], index)
    }
  }
  assert.ok(seen.every((count) => count === 1))
}

test('F1 every node is in one group, and folding alike nodes makes no cycle', () => {
  const nodeLists = fc.array(
    fc.tuple(fc.nat({ max: 3 }), fc.array(fc.nat({ max: 20 }), { maxLength: 3 })),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const input: FoldInput = {
        edges: edgesOf(
          nodes.map(([, list], node) => [...new Set(list.map((each) => node - 1 - each))]),
        ),
        names: nodes.map((_, node) => `n${node}`),
        jobs: ['a', 'b', 'c', 'd'],
        job: nodes.map(([job]) => job),
        parent: nodes.map(() => -1),
      }
      const folded = fold(input, { limit: 10 })
      checkPartition(input, folded)
      const { offsets, after } = folded.edges
      const rank = longestPaths(folded.edges)
      for (let group = 0; group < folded.groups.length; group++) {
        for (let i = offsets[group]!; i < offsets[group + 1]!; i++)
          assert.ok(rank[after[i]!]! < rank[group]!)
      }
    }),
  )
})

test('F2 a group that the reader opened is not folded', () => {
  const input = fanOut(200)
  const closed = fold(input)
  assert.deepEqual(closed.groups.map(({ name }) => name).toSorted(), ['fetch', 'parse', 'store'])
  const { key } = closed.groups.find(({ name }) => name === 'parse')!
  const opened = fold(input, { opened: new Set([key]) })
  assert.equal(opened.groups.length, 202)
  checkPartition(input, opened)
})

test('F3 a graph of up to 300 nodes is not folded', () => {
  assert.equal(fold(fanOut(100)).groups.length, 300)
})

test('F4 the nodes of a map are one group with its name', () => {
  const { groups } = fold(fanOut(200, true))
  assert.deepEqual(
    groups.map(({ name, members, key }) => [name, members.length, key]),
    [['map', 601, 'parent:map']],
  )
})
