import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectNodes } from '../../src/model/node-list.ts'
import { RunStore, type NodeTable } from '../../src/model/run-store.ts'
import { makeRun } from '../stand-in/made-run.ts'

function nodes(): NodeTable {
  const store = new RunStore('r')
  store.addNodes(makeRun({ id: 'r', title: 't', items: 12, startedAt: 0 }).nodes)
  return store.nodes
}
const all = { order: 'started', isDown: false, text: '', state: undefined, now: 100_000 } as const

test('L1 text is searched in names and jobs, and the state must be the same', () => {
  const table = nodes()
  const find = (more: object): string[] =>
    selectNodes(table, table.state, { ...all, ...more }).map((node) => table.names[node]!)
  assert.deepEqual(find({ text: 'MERGE' }), ['merge'])
  assert.equal(find({ text: 'parse' }).length, 12)
  assert.equal(find({ state: 'failed' }).length, 0)
  assert.equal(find({ state: 'succeeded' }).length, table.count)
})

test('L2 nodes without a value come last either way', () => {
  const table = nodes()
  table.started[3] = -1
  for (const isDown of [false, true]) {
    const found = selectNodes(table, table.state, { ...all, isDown })
    assert.equal(found.at(-1), 3)
    const rest = found.slice(0, -1).map((node) => table.started[node]!)
    assert.deepEqual(
      rest,
      rest.toSorted((a, b) => (isDown ? b - a : a - b)),
    )
  }
  const byName = selectNodes(table, table.state, { ...all, order: 'name' }).map(
    (node) => table.names[node],
  )
  assert.ok(byName.indexOf('fetch 002') < byName.indexOf('fetch 010'))
})
