import assert from 'node:assert/strict'
import test from 'node:test'
import type { NodeState, RunEvent } from '@heddle/core'
import { Estimate } from '../../src/model/estimate.ts'
import { graphOf } from '../support/graphs.ts'

const start: RunEvent = { type: 'start', at: 0, nodes: 4 }
const node = (name: string, state: NodeState, at = 0): RunEvent & { type: 'node' } => ({
  type: 'node',
  at,
  name,
  state,
  attempt: 0,
})

test('without history: elapsed time by ended nodes, times the remaining nodes', () => {
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

test('nodes of an earlier run do not count as fast nodes', () => {
  const estimate = new Estimate(graphOf('a', 'b', 'c'), { concurrency: 1 })
  estimate.apply(node('a', 'succeeded'))
  estimate.apply(start)
  assert.equal(estimate.remaining(100), undefined)
  estimate.apply(node('b', 'succeeded', 1_000))
  assert.equal(estimate.remaining(1_000), 1_000)
})

test('with history the estimate is at least the longest chain', () => {
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
  // It takes longer than ever: the later nodes are still to come.
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

test('with history: a new node counts as an average one; history of other nodes is ignored', () => {
  const known = new Estimate(graphOf('a', 'new'), {
    concurrency: 1,
    durations: new Map([['a', 800]]),
  })
  known.apply(node('a', 'ready'))
  assert.equal(known.remaining(0), 1_600)
  const other = new Estimate(graphOf('a'), { concurrency: 1, durations: new Map([['z', 800]]) })
  assert.equal(other.remaining(0), undefined)
})

test('without history: once all remaining nodes have started, the average says nothing', () => {
  const estimate = new Estimate(graphOf('a', 'b', 'c'), { concurrency: 3 })
  estimate.apply(start)
  for (const name of ['a', 'b']) estimate.apply(node(name, 'running'))
  estimate.apply(node('a', 'succeeded', 1_000))
  assert.equal(estimate.remaining(1_000), 2_000)
  estimate.apply(node('c', 'running', 1_000))
  assert.equal(estimate.remaining(60_000), undefined)
  // A node that is suspended or waits for its retry has started too.
  estimate.apply(node('b', 'suspended', 60_000))
  estimate.apply({ ...node('c', 'retrying', 60_000), delay: 5_000 })
  assert.equal(estimate.remaining(60_000), undefined)
  for (const name of ['b', 'c']) estimate.apply(node(name, 'succeeded', 70_000))
  assert.equal(estimate.remaining(70_000), 0)
})

test('no shorter than the wait for a retry', () => {
  for (const durations of [new Map<string, number>(), new Map([['a', 10]])]) {
    const estimate = new Estimate(graphOf('a', 'b', 'c'), { concurrency: 3, durations })
    estimate.apply(start)
    for (const name of ['a', 'b']) estimate.apply(node(name, 'running'))
    estimate.apply(node('a', 'succeeded', 1_000))
    estimate.apply({ ...node('b', 'retrying', 1_000), delay: 60_000 })
    assert.equal(estimate.remaining(1_000), 60_000)
    assert.equal(estimate.remaining(31_000), durations.size === 0 ? 31_000 * 2 : 30_000)
    estimate.apply(node('b', 'running', 61_000))
    assert.ok(estimate.remaining(61_000) !== 60_000)
  }
})

test('a suspended node without a known end leaves the end of the run open; one with a known end is waited for', () => {
  for (const durations of [new Map<string, number>(), new Map([['a', 10]])]) {
    const estimate = new Estimate(graphOf('a', 'b', 'c'), { concurrency: 3, durations })
    estimate.apply(start)
    for (const name of ['a', 'b']) estimate.apply(node(name, 'running'))
    estimate.apply(node('a', 'succeeded', 1_000))
    estimate.apply(node('b', 'suspended', 1_000))
    assert.equal(estimate.remaining(1_000, Infinity), Infinity)
    assert.equal(estimate.remaining(1_000, 90_000), 89_000)
    estimate.apply(node('c', 'running', 1_000))
    estimate.apply(node('c', 'succeeded', 2_000))
    assert.equal(estimate.remaining(60_000, Infinity), Infinity)
    assert.equal(estimate.remaining(60_000, 90_000), durations.size === 0 ? undefined : 30_000)
    estimate.apply(node('b', 'succeeded', 90_000))
    assert.equal(estimate.remaining(90_000), 0)
  }
})

test('with history: when all remaining nodes take longer than ever, the rest is unknown', () => {
  const durations = new Map([['a', 1_000]])
  const estimate = new Estimate(graphOf('a'), { concurrency: 1, durations })
  estimate.apply(start)
  estimate.apply(node('a', 'running'))
  assert.equal(estimate.remaining(900), 100)
  assert.equal(estimate.remaining(1_001), undefined)
})

test('nodes of a sub-graph count as remaining work', () => {
  const estimate = new Estimate(graphOf('a', 'b'), { concurrency: 2 })
  estimate.apply(start)
  const added = ['a/x', 'a/y'].map((name) => ({
    name,
    job: 'inner',
    place: 'loop' as const,
    after: [],
  }))
  estimate.apply(node('a', 'running'))
  estimate.apply({ type: 'nodes', at: 0, name: 'a', added })
  for (const name of ['a/x', 'b']) estimate.apply(node(name, 'succeeded', 1_000))
  // Two are left of four; before, two of two had ended.
  assert.equal(estimate.remaining(1_000), 1_000)
})

test('without history: in a large graph the first few nodes say nothing', () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `n${i}`)
  const estimate = new Estimate(graphOf(...names), { concurrency: 4 })
  estimate.apply(start)
  for (const name of names.slice(0, 19)) estimate.apply(node(name, 'succeeded', 1_000))
  assert.equal(estimate.remaining(1_000), undefined)
  estimate.apply(node('n19', 'succeeded', 1_000))
  assert.equal(estimate.remaining(1_000), (1_000 / 20) * 980)
})
