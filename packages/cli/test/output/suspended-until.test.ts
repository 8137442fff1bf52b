import assert from 'node:assert/strict'
import test from 'node:test'
import type { Explanation } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { RunModel } from '../../src/model/run-model.ts'
import { suspendedRows, suspendedUntil } from '../../src/output/suspended-until.ts'
import { graphOf } from '../support/graphs.ts'
import { node } from '../support/output.ts'

/** When the suspended nodes of a model continue, where each waits for what `waitsFor` says. */
function untilOf(model: RunModel, waitsFor: (name: string) => object | undefined): unknown {
  const explained = suspendedRows(model).map((row) => {
    const own = waitsFor(row.key)
    const explanation = { name: row.key, state: 'suspended', why: 'suspended', text: '' }
    return [row, { ...explanation, ...(own && { waitsFor: own }) } as Explanation] as const
  })
  return suspendedUntil(model, new Map(explained), clock)
}

const clock = new VirtualClock()

function suspend(names: readonly string[]): RunModel {
  const model = new RunModel(graphOf(...names), { title: 't', retries: 0 })
  for (const name of names) {
    model.apply(node(name, 'running'))
    model.apply(node(name, 'suspended'))
  }
  return model
}

test('the latest end counts, a signal has none, also with a deadline', () => {
  const in5 = clock.wallTime() + 5_000
  const model = suspend(['a', 'b'])
  assert.equal(
    untilOf(model, (name) => ({ until: name === 'a' ? in5 : in5 + 1 })),
    clock.now() + 5_001,
  )
  assert.equal(
    untilOf(model, (name) => (name === 'a' ? { until: in5 } : { signal: 'go', until: in5 })),
    Infinity,
  )
  assert.equal(
    untilOf(model, (name) => (name === 'a' ? { until: in5 } : undefined)),
    Infinity,
  )
  assert.equal(
    untilOf(suspend([]), () => undefined),
    undefined,
  )
})

test('with more suspended nodes than are asked, the end is unknown', () => {
  const until = clock.wallTime() + 5_000
  const names = Array.from({ length: 21 }, (_, i) => `n${i}`)
  assert.equal(
    untilOf(suspend(names.slice(1)), () => ({ until })),
    clock.now() + 5_000,
  )
  assert.equal(
    untilOf(suspend(names), () => ({ until })),
    Infinity,
  )
})

test('the nodes of a sub-graph say when it continues', () => {
  const model = suspend(['train'])
  const added = [{ name: 'train/nap', job: 'nap', place: 'loop' as const, after: [] }]
  model.apply({ type: 'nodes', at: 0, name: 'train', added })
  model.apply(node('train/nap', 'running'))
  model.apply(node('train/nap', 'suspended'))
  const until = clock.wallTime() + 5_000
  assert.equal(
    untilOf(model, (name) => (name === 'train' ? undefined : { until })),
    clock.now() + 5_000,
  )
})
