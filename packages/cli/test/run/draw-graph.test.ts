import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, job } from '@heddle/core'
import { drawGraph } from '../../src/run/draw-graph.ts'
import { graphOf } from '../support/graphs.ts'

const crunch = job({ name: 'crunch', place: 'thread', module: import.meta.url }, () => 1)

function sample(): Graph {
  const graph = new Graph()
  const list = graph.add(
    'list',
    job({ name: 'list pages' }, () => 1),
  )
  graph.add('say "#1" \\ <b>\n\u001b[31m', crunch, { after: [list] })
  return graph
}

test('Mermaid: an id for each node, names escaped, thread jobs with double sides', () => {
  assert.equal(
    drawGraph(sample(), 'mermaid'),
    `flowchart TD
  n0["list"]
  n1[["say #34;#35;1#34; \\ #60;b#62;\u240a"]]
  n0 --> n1
`,
  )
})

test('DOT: quotes and backslashes of names are escaped', () => {
  assert.equal(
    drawGraph(sample(), 'dot'),
    `digraph heddle {
  rankdir=TB
  node [shape=box]
  n0 [label="list"]
  n1 [label="say \\"#1\\" \\\\ <b>\u240a" peripheries=2]
  n0 -> n1
}
`,
  )
})

test('JSON: exact names, with job, place and dependencies', () => {
  const { nodes } = JSON.parse(drawGraph(sample(), 'json')) as { nodes: object[] }
  assert.deepEqual(nodes, [
    { name: 'list', kind: 'job', job: 'list pages', place: 'loop', after: [] },
    {
      name: 'say "#1" \\ <b>\n\u001b[31m',
      kind: 'job',
      job: 'crunch',
      place: 'thread',
      after: ['list'],
    },
  ])
})

test('an empty graph is drawn too', () => {
  assert.equal(drawGraph(graphOf(), 'mermaid'), 'flowchart TD\n')
  assert.deepEqual(JSON.parse(drawGraph(graphOf(), 'json')), { nodes: [] })
})

function growing(): Graph {
  const graph = new Graph()
  const list = graph.add(
    'list',
    job({ name: 'list' }, () => [1]),
  )
  const many = graph.map('many', crunch, { over: list, window: 8, input: () => undefined })
  graph.subgraph('tenants', () => new Graph(), { after: [many] })
  graph.add(
    'drop',
    job({ name: 'drop' }, () => 1),
    { after: [list], when: 'always' },
  )
  return graph
}

test('Mermaid and DOT: maps, sub-graphs and clean-up nodes have shapes and lines of their own', () => {
  assert.equal(
    drawGraph(growing(), 'mermaid'),
    `flowchart TD
  n0["list"]
  n1{{"many (map, thread)"}}
  n2[/"tenants (sub-graph)"/]
  n3["drop"]
  n0 --> n1
  n1 --> n2
  n0 -.-> n3
`,
  )
  assert.equal(
    drawGraph(growing(), 'dot'),
    `digraph heddle {
  rankdir=TB
  node [shape=box]
  n0 [label="list"]
  n1 [label="many (map, thread)" shape=hexagon peripheries=2]
  n2 [label="tenants (sub-graph)" shape=parallelogram]
  n3 [label="drop"]
  n0 -> n1
  n1 -> n2
  n0 -> n3 [style=dashed]
}
`,
  )
})

test('JSON: the kind of a node, the window of a map, and when a clean-up node runs', () => {
  const { nodes } = JSON.parse(drawGraph(growing(), 'json')) as { nodes: object[] }
  assert.deepEqual(nodes.slice(1), [
    { name: 'many', kind: 'map', job: 'crunch', place: 'thread', window: 8, after: ['list'] },
    { name: 'tenants', kind: 'subgraph', after: ['many'] },
    { name: 'drop', kind: 'job', job: 'drop', place: 'loop', when: 'always', after: ['list'] },
  ])
})
