import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block, Graph } from '../../src/ir/graph.ts'
import { ask, found, reaches } from '../../src/summaries/paths.ts'
import type { Position } from '../../src/summaries/paths.ts'
import { programOf } from '../support/program.ts'

function graphOf(source: string, name: string): Graph {
  const unit = programOf({ 'a.ts': source }).units.find((one) => one.name === name)
  assert.ok(unit?.graph !== undefined, name)
  return unit.graph
}

/** Names of callees on paths from the entry, in the order of the walk. */
function callsFrom(graph: Graph, from: Position, within: (name: string) => void): string[] {
  const calls: string[] = []
  ask(graph, from, {
    states: 1,
    start: 0,
    step(event) {
      if (event.op !== 'call') return 0
      calls.push(event.name)
      within(event.name)
      return 0
    },
  })
  return calls
}

function start({ entry }: Graph): Position {
  return { block: entry, index: -1 }
}

function blockOf(graph: Graph, call: string): Block {
  const block = graph.blocks.find(({ events }) =>
    events.some((event) => event.op === 'call' && event.name === call),
  )
  assert.ok(block !== undefined, call)
  return block
}

const source = `async function f(x) {
  first()
  if (x) { await left() } else { right() }
  for (const one of x) { again(one) }
  last()
}`

test('a question that is asked within a step does not disturb the one around it', () => {
  const graph = graphOf(source, 'f')
  const alone = callsFrom(graph, start(graph), () => {})
  assert.deepEqual(alone.toSorted(), ['again', 'first', 'last', 'left', 'right'])
  const inner: string[][] = []
  const outer = callsFrom(graph, start(graph), () =>
    inner.push(callsFrom(graph, start(graph), () => {})),
  )
  assert.deepEqual(outer, alone)
  for (const calls of inner) assert.deepEqual(calls, alone)
})

test('a question that fails leaves the next one alone', () => {
  const graph = graphOf(source, 'f')
  const alone = callsFrom(graph, start(graph), () => {})
  assert.throws(() =>
    callsFrom(graph, start(graph), () => {
      throw new Error('enough')
    }),
  )
  assert.deepEqual(
    callsFrom(graph, start(graph), () => {}),
    alone,
  )
})

test('queries on graphs of different sizes do not interfere', () => {
  const small = graphOf('function g() { only() }', 'g')
  const branches = Array.from({ length: 2_000 }, (_, at) => `  if (x) c${at}()`)
  const large = graphOf(`function h(x) {\n${branches.join('\n')}\n}`, 'h')
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(
      callsFrom(small, start(small), () => {}),
      ['only'],
    )
    assert.equal(callsFrom(large, start(large), () => {})[0], 'c0')
  }
})

test('the answer has the shortest way and the suspensions on it', () => {
  const graph = graphOf(source, 'f')
  const answer = ask(graph, start(graph), {
    states: 2,
    start: 0,
    step: (event, state) =>
      event.op === 'suspend'
        ? 1
        : event.op === 'call' && event.name === 'last' && state === 1
          ? found
          : state,
  })
  assert.equal(answer?.suspensions.length, 1)
  assert.equal(answer.way[0], graph.entry)
  assert.equal(answer.way.at(-1), answer.block)
})

test('a block is reached along edges, but not through barred blocks', () => {
  const graph = graphOf(source, 'f')
  const [left, right, last] = ['left', 'right', 'last'].map((name) => blockOf(graph, name))
  assert.ok(left !== undefined && right !== undefined && last !== undefined)
  assert.equal(reaches(graph, left, last, []), true)
  assert.equal(reaches(graph, left, right, []), false)
  assert.equal(reaches(graph, left, left, [left]), true)
  assert.equal(reaches(graph, left, last, [last]), false)
})
