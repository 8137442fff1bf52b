import assert from 'node:assert/strict'
import test from 'node:test'
import { HeddleError } from '../../src/errors.ts'
import { Node, failed, move, ready, running, succeeded } from '../../src/scheduler/node.ts'
import { Bench, lanesOfNodes } from './kit.ts'

// The problems of seed 000 that concern the scheduler. 5 and 6 are tested in files/, 7 and 9 in control/.

test('seed 000 problem 1: level-based lockstep wasted time', async () => {
  // Level 0 is A (1 s) and B (30 s); C and D need only A. In lockstep they would start after 30 s.
  const b = new Bench({ concurrency: 4 }).add({ A: [], B: [], C: ['A'], D: ['A'] })
  const run = b.scheduler.run(b.work)
  await b.clock.advance(1_000)
  await b.finish('A')
  const starts = b.events.filter((event) => event.type === 'node' && event.state === 'running')
  assert.deepEqual(
    starts.map((event) => [event.type === 'node' && event.name, event.at]),
    [
      ['A', 0],
      ['B', 0],
      ['C', 1_000],
      ['D', 1_000],
    ],
  )
  await b.finish('C')
  await b.finish('D')
  await b.clock.advance(29_000)
  await b.finish('B')
  assert.equal((await run).ok, true)
})

test('seed 000 problem 2: a node is taken out of the ready queue, not marked and skipped later', async () => {
  const b = new Bench({ concurrency: 1 }).add({ a: [], b: [], c: [] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.equal(b.scheduler.stats().ready, 2)
  b.scheduler.remove('b')
  assert.equal(b.scheduler.stats().ready, 1, 'the entry is gone at once')
  await b.finish('a')
  await b.finish('c')
  assert.deepEqual((await run).skipped, ['b'])
})

test('seed 000 problem 3: waiting for the end does not hang on dependents that were never queued', async () => {
  const b = new Bench().add({ a: [], b: ['a'], c: ['b'], d: ['c'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('a')
  const r = await run
  assert.equal(r.blocked.size, 3)
})

test('seed 000 problem 4: cancelling in the middle of a job does not leave the end waiting for it', async () => {
  const b = new Bench({ concurrency: 2 }).add({ a: [], b: [], c: ['a', 'b'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  b.obeySignal('a')
  b.obeySignal('b')
  b.scheduler.cancel({ abort: true })
  const r = await run
  assert.deepEqual(r.cancelled, ['a', 'b'])
  assert.deepEqual(r.skipped, ['c'])
})

test('seed 000 problem 8, scenario 15: double completion is an illegal move, also between success and block', () => {
  const lane = lanesOfNodes().laneFor(undefined, undefined)
  const node = new Node(0, 'a', lane, { retries: 0, timeout: 1 })
  for (const state of [ready, running, succeeded]) move(node, state)
  for (const state of [succeeded, failed, ready]) {
    assert.throws(
      () => move(node, state),
      (error) => error instanceof HeddleError && error.code === 'HDL_ILLEGAL_TRANSITION',
    )
  }
  assert.equal(node.stateName, 'succeeded')
})

test('seed 000 problem 8: a failing and a succeeding dependency end their dependent once', async () => {
  const b = new Bench().add({ good: [], bad: [], both: ['good', 'bad'] })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.fail('bad')
  await b.finish('good')
  const r = await run
  assert.deepEqual([...r.blocked], [['both', 'bad']])
  assert.equal(b.stages.filter((stage) => stage.startsWith('both')).length, 1)
})
