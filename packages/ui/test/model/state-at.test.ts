import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeStates, stateCode } from '../../src/api/contract.ts'
import { countStates, statesAt } from '../../src/model/state-at.ts'

// Node 0: attempts 100–200 (failed) and 300–400 (succeeded), suspended 320–350. Node 1: blocked, without a time.
// Node 2: runs from 250.
const nodes = {
  count: 3,
  state: [stateCode.succeeded, stateCode.blocked, stateCode.running],
  ready: [50, -1, 240],
  started: [100, -1, 250],
  ended: [400, -1, -1],
}
const bars = {
  count: 3,
  node: [0, 2, 0],
  started: [100, 250, 300],
  ended: [200, 500, 400],
  outcome: [2, 0, 1],
  suspended: [[2, 320, 350]] as [number, number, number][],
}
function at(time: number): string[] {
  const states = new Uint8Array(3)
  statesAt(nodes, bars, time, 500, states)
  return [...states].map((state) => nodeStates[state]!)
}

test('P1 at the end every node is as the server says', () => {
  assert.deepEqual(at(500), ['succeeded', 'blocked', 'running'])
  assert.deepEqual(at(9_999), ['succeeded', 'blocked', 'running'])
})

test('P2, P3 waiting, ready, running, retrying and suspended at their times', () => {
  assert.deepEqual(
    [0, 60, 100, 199, 250, 310, 330, 360, 400].map((time) => at(time)[0]),
    [
      'waiting',
      'ready',
      'running',
      'running',
      'retrying',
      'running',
      'suspended',
      'running',
      'succeeded',
    ],
  )
  assert.deepEqual(
    [200, 245, 300].map((time) => at(time)[2]),
    ['waiting', 'ready', 'running'],
  )
  assert.equal(at(450)[1], 'waiting')
})

test('P4 a node never returns from its end', () => {
  let hasEnded = false
  for (let time = 0; time <= 600; time += 5) {
    const isEnded = at(time)[0] === 'succeeded'
    assert.ok(isEnded || !hasEnded)
    hasEnded ||= isEnded
  }
  assert.ok(hasEnded)
})

test('states are counted by their index', () => {
  const counts = countStates(Uint8Array.of(4, 4, 2, 0), 3)
  assert.deepEqual([counts[4], counts[2], counts[0]], [2, 1, 0])
})
