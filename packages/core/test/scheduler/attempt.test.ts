import assert from 'node:assert/strict'
import test from 'node:test'
import { isError } from '@heddle/core'
import { Attempt, type RunnerContext } from '../../src/scheduler/attempt.ts'
import { Lanes } from '../../src/scheduler/lanes.ts'
import { Node } from '../../src/scheduler/node.ts'
import { Bench } from './kit.ts'

test('a shielded attempt is ended by its own promise alone: not by its timeout', async () => {
  const bench = new Bench({ timeout: 1_000, retries: 2 }).add({ a: [], b: ['a'] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  const context = bench.contexts.get('a') as RunnerContext
  assert.equal(context.shield(), true)
  await bench.clock.advance(10_000)
  assert.deepEqual([context.cancelled, context.signal.aborted], [false, false])
  await bench.finish('a', 7)
  await bench.finish('b')
  assert.deepEqual((await result).succeeded, ['a', 'b'])
  assert.deepEqual(bench.started, ['a', 'b'])
  assert.equal(bench.clock.pending, 0)
})

test('nor by a cancel, which waits for it; nor by its removal', async () => {
  for (const act of ['cancel', 'remove'] as const) {
    const bench = new Bench({ cancelGrace: 10, abortGrace: 10 }).add({ a: [], b: ['a'], c: [] })
    bench.scheduler.concurrency = 1
    const result = bench.scheduler.run(bench.work)
    await bench.clock.settle()
    ;(bench.contexts.get('a') as RunnerContext).shield()
    if (act === 'cancel') {
      bench.scheduler.cancel()
      bench.scheduler.cancel()
    } else {
      assert.equal(bench.scheduler.remove('a'), false, 'too late')
    }
    await bench.clock.advance(60_000)
    assert.equal(bench.scheduler.stateOf('a'), 'running')
    await bench.finish('a')
    if (act === 'remove') for (const name of ['c', 'b']) await bench.finish(name)
    const ended = await result
    assert.equal(ended.stateOf('a'), 'succeeded')
    assert.equal(ended.stateOf('b'), act === 'cancel' ? 'skipped' : 'succeeded')
    assert.equal(bench.clock.pending, 0)
  }
})

test('a shielded attempt that fails has failed', async () => {
  const bench = new Bench().add({ a: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  ;(bench.contexts.get('a') as RunnerContext).shield()
  bench.scheduler.cancel({ abort: true })
  await bench.fail('a')
  assert.equal((await result).stateOf('a'), 'failed')
})

test('an attempt that was aborted already cannot be shielded', async () => {
  const bench = new Bench({ timeout: 1_000 }).add({ a: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  await bench.clock.advance(1_000)
  const context = bench.contexts.get('a') as RunnerContext
  assert.equal(context.shield(), false)
  await bench.finish('a')
  const ended = await result
  assert.ok(isError(ended.failed.get('a'), 'HDL_TIMEOUT'))
})

test('a node that collects many results looks for its dependencies once', () => {
  const lanes = new Lanes({ concurrency: 1, resources: {}, aging: 1 })
  const limits = { retries: 0, timeout: 1 }
  const lane = lanes.laneFor(undefined, undefined)
  const known = Array.from({ length: 1_000 }, (_, i) => new Node(i, `n${i}`, lane, limits))
  for (const node of known) node.value = node.index
  let asked = 0
  const attempt = new Attempt(new Node(1_000, 'sum', lane, limits), {
    log: () => undefined,
    stopTimeout: () => undefined,
    startTimeout: () => undefined,
    dependenciesOf: () => {
      asked++
      return new Map(known.map((node) => [node.name, node]))
    },
  })
  for (const { name, index } of known) assert.equal(attempt.resultOf(name), index)
  assert.throws(() => attempt.resultOf('somebody else'), /without depending on it/)
  assert.equal(asked, 1)
})
