import assert from 'node:assert/strict'
import test from 'node:test'
import type { NodeState, RunEvent } from '@heddle/core'
import { Estimate } from '../../src/model/estimate.ts'
import { graphOf } from '../support/graphs.ts'

const start: RunEvent = { type: 'start', at: 0, nodes: 4 }
const node = (name: string, state: NodeState, at = 0): RunEvent => ({
  type: 'node',
  at,
  name,
  state,
  attempt: 0,
})

test('without history: elapsed by ended, times what is left', () => {
  const estimate = new Estimate(graphOf('a', 'b', 'c', 'd'), { concurrency: 2 })
  assert.equal(estimate.remaining(0), undefined)
  estimate.apply(start)
  estimate.apply(node('a', 'running'))
  assert.equal(estimate.remaining(500), undefined)
  estimate.apply(node('a', 'succeeded', 1_000))
  assert.equal(estimate.remaining(1_000), 3_000)
  for (const name of ['b', 'c', 'd']) estimate.apply(node(name, 'failed', 2_000))
  assert.equal(estimate.remaining(2_000), 0)
})

test('nodes of an earlier run do not count as fast ones', () => {
  const estimate = new Estimate(graphOf('a', 'b', 'c'), { concurrency: 1 })
  estimate.apply(node('a', 'succeeded'))
  estimate.apply(start)
  assert.equal(estimate.remaining(100), undefined)
  estimate.apply(node('b', 'succeeded', 1_000))
  assert.equal(estimate.remaining(1_000), 1_000)
})

test('with history: no shorter than the longest chain', () => {
  const durations = new Map([
    ['a', 1_000],
    ['b', 2_000],
    ['c', 3_000],
    ['d', 500],
  ])
  const estimate = new Estimate(graphOf('a', 'b:a', 'c:b', 'd'), { concurrency: 10, durations })
  estimate.apply(node('a', 'ready'))
  estimate.apply(node('d', 'ready'))
  estimate.apply(start)
  assert.equal(estimate.remaining(0), 6_000)
  estimate.apply(node('a', 'running'))
  estimate.apply(node('d', 'running'))
  assert.equal(estimate.remaining(400), 5_600)
  // It takes longer than ever: what comes after it is still to come.
  assert.equal(estimate.remaining(9_000), 5_000)
  estimate.apply(node('a', 'succeeded', 9_000))
  estimate.apply(node('b', 'ready', 9_000))
  assert.equal(estimate.remaining(9_000), 5_000)
})

test('with history: no shorter than the work shared by the slots', () => {
  const durations = new Map(Array.from({ length: 8 }, (_, i) => [`n${i}`, 1_000] as const))
  const estimate = new Estimate(graphOf(...durations.keys()), { concurrency: 2, durations })
  for (const name of durations.keys()) estimate.apply(node(name, 'ready'))
  estimate.apply(start)
  assert.equal(estimate.remaining(0), 4_000)
  estimate.apply(node('n0', 'running'))
  estimate.apply(node('n1', 'running'))
  assert.equal(estimate.remaining(1_000), 3_000)
  estimate.apply(node('n0', 'succeeded', 1_000))
  estimate.apply(node('n1', 'succeeded', 1_000))
  assert.equal(estimate.remaining(1_000), 3_000)
})

test('with history: a new node is taken for an average one; history of other nodes is none', () => {
  const known = new Estimate(graphOf('a', 'new'), {
    concurrency: 1,
    durations: new Map([['a', 800]]),
  })
  known.apply(node('a', 'ready'))
  assert.equal(known.remaining(0), 1_600)
  const other = new Estimate(graphOf('a'), { concurrency: 1, durations: new Map([['z', 800]]) })
  assert.equal(other.remaining(0), undefined)
})
