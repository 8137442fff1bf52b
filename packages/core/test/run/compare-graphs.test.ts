import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, job } from '@heddle/core'
import type { NodeHeader } from '@heddle/core/lowlevel'
import { systemClock } from '../../src/kernel/clock.ts'
import {
  compareGraphs,
  describeDifference,
  headersOf,
  isSameHeader,
  type GraphDifference,
} from '../../src/run/compare-graphs.ts'
import { longestTurn } from './longest-turn.ts'

const node = (name: string, more: Partial<NodeHeader> = {}): NodeHeader => ({
  name,
  job: 'work',
  place: 'loop',
  after: [],
  ...more,
})

function compare(
  before: readonly NodeHeader[],
  now: readonly NodeHeader[],
): Promise<GraphDifference[]> {
  return compareGraphs(new Map(before.map((each) => [each.name, each])), now, systemClock)
}

test('headers hold the fields that decide whether a result is still valid', async () => {
  const graph = new Graph()
  const a = graph.add(
    'a',
    job({ name: 'load' }, (n: number) => n),
    { input: 1 },
  )
  const sum = job({ name: 'sum', place: 'thread', module: import.meta.url }, (n: number) => n)
  graph.add('b', sum, { after: [a], input: (of) => of(a) })
  const [first, second] = await headersOf(graph, systemClock)
  assert.match(first!.input!, /^[\w-]{16}$/)
  assert.deepEqual(first, node('a', { job: 'load', input: first!.input! }))
  assert.deepEqual(
    second,
    node('b', { job: 'sum', place: 'thread', after: ['a'], input: 'from results' }),
  )
})

test('equal graphs have no difference, in whatever order nodes and dependencies are given', async () => {
  const graph = [node('a'), node('b'), node('c', { after: ['a', 'b'], input: 'x' })]
  assert.deepEqual(await compare(graph, graph), [])
  const turned = [node('b'), node('a'), node('c', { after: ['b', 'a'], input: 'x' })]
  assert.deepEqual(await compare(graph, turned), [])
})

test('each kind of difference is found, and several of one node', async () => {
  const differences = await compare(
    [node('gone'), node('a', { input: '1' }), node('b', { after: ['a', 'gone'] })],
    [node('new'), node('a', { input: '2', job: 'other' }), node('b', { after: ['new', 'a'] })],
  )
  assert.deepEqual(differences, [
    { kind: 'added', node: 'new' },
    { kind: 'job', node: 'a', before: 'work', now: 'other' },
    { kind: 'input', node: 'a' },
    { kind: 'dependencies', node: 'b', gained: ['new'], lost: ['gone'] },
    { kind: 'removed', node: 'gone' },
  ])
  assert.deepEqual(differences.map(describeDifference), [
    '"new" is new',
    '"a" runs other instead of work',
    'the input of "a" changed',
    '"b" now needs "new", no longer needs "gone"',
    '"gone" is gone',
  ])
})

test('a node that was journaled without a mark of its input is not compared by it', async () => {
  assert.deepEqual(await compare([node('a')], [node('a', { input: '1' })]), [])
})

test('another place is not a difference, but the journal should know it', async () => {
  const moved = node('a', { place: 'thread' })
  assert.deepEqual(await compare([node('a')], [moved]), [])
  assert.equal(isSameHeader(node('a'), moved), false)
  assert.equal(isSameHeader(moved, { ...moved }), true)
})

test('a graph with many nodes and a node with many dependencies leave the loop free', async () => {
  const names = Array.from({ length: 60_000 }, (_, i) => `node ${i}`)
  const before = [...names.map((name) => node(name)), node('all', { after: names })]
  const turned = [...names.map((name) => node(name)), node('all', { after: names.toReversed() })]
  // With pairs, the dependencies of the last node alone would take seconds.
  const longest = await longestTurn(async () => {
    assert.deepEqual(await compare(before, turned), [])
  })
  assert.ok(longest < 500, `the loop was held up for ${longest} ms`)
})

test('options of a map that decide its elements or its result are differences, limits are not', async () => {
  const work = job({ name: 'work' }, (n: number) => n)
  const make = (more: object): Promise<NodeHeader[]> => {
    const graph = new Graph()
    const list = graph.add(
      'list',
      job({ name: 'list' }, () => [1]),
    )
    const other = graph.add(
      'other',
      job({ name: 'list' }, () => [2]),
    )
    const after = [list, other]
    const over = { list, other, made: () => [1] }[
      (more as { from?: 'other' | 'made' }).from ?? 'list'
    ]
    const { from: _from, ...options } = more as { from?: string }
    graph.map('map', work, { over, after, ...options } as never)
    return headersOf(graph, systemClock)
  }
  const before = await make({ failures: { atMost: 1 } })
  const told = async (more: object): Promise<string[]> =>
    (await compare(before, await make({ failures: 'collect', ...more }))).map(describeDifference)
  const free = {
    window: 1,
    failures: { atMost: 7 },
    timeout: 5,
    retries: 1,
    priority: 1,
    needs: { a: 1 },
  }
  assert.deepEqual(await told(free), [])
  const differs = (option: string, now: string, was: string): string[] => [
    `the option "${option}" of the map "map" is ${now} instead of ${was}`,
  ]
  assert.deepEqual(await told({ from: 'other' }), differs('over', '"other"', '"list"'))
  assert.deepEqual(await told({ from: 'made' }), differs('over', 'a function', '"list"'))
  assert.deepEqual(await told({ input: () => 1 }), differs('input', 'a function', 'absent'))
  assert.deepEqual(await told({ key: () => 'a' }), differs('key', 'a function', 'absent'))
  assert.deepEqual(
    await told({ failures: 'stop' }),
    differs('failures', 'stop', 'collect or atMost'),
  )
  assert.deepEqual(await told({ collect: false }), differs('collect', 'false', 'true'))
  // A journal of an earlier version does not have them.
  const { map: _map, ...earlier } = before.at(-1)!
  assert.deepEqual(
    await compare([...before.slice(0, -1), earlier], await make({ collect: false })),
    [],
  )
  assert.equal(isSameHeader(earlier, before.at(-1)!), false)
})

test('`when` may change between two runs of a graph, and the journal records the new one', async () => {
  const always = node('a', { when: 'always' })
  assert.deepEqual(await compare([node('a')], [always]), [])
  assert.equal(isSameHeader(node('a'), always), false)
})
