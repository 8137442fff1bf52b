import assert from 'node:assert/strict'
import test from 'node:test'
import { isError } from '@heddle/core'
import {
  resumeAttempt,
  shield,
  suspendAttempt,
  type RunnerContext,
} from '../../src/attempts/attempt.ts'
import { NodeAttempt, NodeControl, type NodeContext } from '../../src/scheduler/node-attempt.ts'
import { Node } from '../../src/scheduler/node.ts'
import { Bench, lanesOfNodes } from './kit.ts'

test('a shielded attempt is ended by its own promise alone: not by its timeout', async () => {
  const bench = new Bench({ timeout: 1_000, retries: 2 }).add({ a: [], b: ['a'] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  const context = bench.contexts.get('a') as NodeContext & RunnerContext
  assert.equal(shield(context), true)
  await bench.clock.advance(10_000)
  assert.deepEqual([context.cancelled, context.signal.aborted], [false, false])
  await bench.finish('a', 7)
  await bench.finish('b')
  assert.deepEqual((await result).succeeded, ['a', 'b'])
  assert.deepEqual(bench.started, ['a', 'b'])
  assert.equal(bench.clock.pending, 0)
})

test('a shielded attempt ignores cancel() and remove()', async () => {
  for (const act of ['cancel', 'remove'] as const) {
    const bench = new Bench({ cancelGrace: 10, abortGrace: 10 }).add({ a: [], b: ['a'], c: [] })
    bench.scheduler.concurrency = 1
    const result = bench.scheduler.run(bench.work)
    await bench.clock.settle()
    shield(bench.contexts.get('a') as NodeContext & RunnerContext)
    if (act === 'cancel') {
      bench.scheduler.cancel()
      bench.scheduler.cancel()
    } else {
      assert.equal(bench.scheduler.remove('a'), false, 'too late')
    }
    await bench.clock.advance(60_000)
    assert.equal(bench.scheduler.stateOf('a'), 'running')
    await bench.finish('a')
    if (act === 'remove') for (const name of ['b', 'c']) await bench.finish(name)
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
  shield(bench.contexts.get('a') as NodeContext & RunnerContext)
  bench.scheduler.cancel({ abort: true })
  await bench.fail('a')
  assert.equal((await result).stateOf('a'), 'failed')
})

test('an attempt that was aborted already cannot be shielded', async () => {
  const bench = new Bench({ timeout: 1_000 }).add({ a: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  await bench.clock.advance(1_000)
  const context = bench.contexts.get('a') as NodeContext & RunnerContext
  assert.equal(shield(context), false)
  await bench.finish('a')
  const ended = await result
  assert.ok(isError(ended.failed.get('a'), 'HDL_TIMEOUT'))
})

test('the context that user code gets has no way to shield the attempt', async () => {
  const bench = new Bench().add({ a: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  const context: object = bench.contexts.get('a')!
  const reachable: string[] = []
  for (let next: object | null = context; next !== null; next = Object.getPrototypeOf(next)) {
    reachable.push(...Reflect.ownKeys(next).map(String))
    reachable.push(...Reflect.ownKeys(next.constructor).map(String))
  }
  assert.deepEqual(
    reachable.filter((key) => /shield/i.test(key)),
    ['isShielded'],
  )
  await bench.finish('a')
  await result
})

test('a node that collects many results looks up its dependencies once', () => {
  const lanes = lanesOfNodes()
  const limits = { retries: 0, timeout: 1 }
  const lane = lanes.laneFor(undefined, undefined)
  const known = Array.from({ length: 1_000 }, (_, i) => new Node(i, `n${i}`, lane, limits))
  for (const node of known) node.value = node.index
  let asked = 0
  const control = {
    abortGrace: 1,
    log: () => undefined,
    identify: () => 'key',
    traceOf: () => undefined,
    stepsOf: () => {
      throw new Error('none')
    },
    progress: () => undefined,
    artifact: () => Promise.reject(new Error('none')),
    stopTimeout: () => undefined,
    startTimeout: () => undefined,
    suspend: () => false,
    resume: () => Promise.resolve(),
  }
  const nodeControl = new NodeControl(control, () => {
    asked++
    return new Map(known.map((node) => [node.name, node]))
  })
  const attempt = new NodeAttempt(new Node(1_000, 'sum', lane, limits), nodeControl)
  for (const { name, index } of known) assert.equal(attempt.resultOf(name), index)
  assert.throws(() => attempt.resultOf('somebody else'), /without depending on it/)
  assert.equal(asked, 1)
})

test('a job that waits for its thread does not use up the timeout of jobs that started with it', async () => {
  const bench = new Bench({ timeout: 1_000 }).add({ loop: [] })
  bench.scheduler.add('thread', { place: 'thread' })
  const result = bench.scheduler.run(async (name, context) => {
    const done = bench.work(name, context)
    bench.obeySignal(name)
    // On the loop it changes nothing.
    const runner = context as NodeContext & RunnerContext
    runner.queued()
    return done
  })
  await bench.clock.advance(1_000)
  assert.equal(bench.scheduler.stateOf('loop'), 'failed')
  assert.equal(bench.scheduler.stateOf('thread'), 'running')
  await bench.finish('thread')
  assert.equal((await result).stateOf('thread'), 'succeeded')
})

test('a suspended node is a state of its own: reported, explained, counted, and its slot is free', async () => {
  const bench = new Bench({ concurrency: 1 }).add({ a: [], b: [], c: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  const context = bench.contexts.get('a') as NodeContext & RunnerContext
  assert.equal(suspendAttempt(context), true)
  await bench.clock.settle()
  assert.deepEqual(bench.started, ['a', 'b'])
  const { running, suspended } = bench.scheduler.stats()
  assert.deepEqual([bench.scheduler.stateOf('a'), running, suspended], ['suspended', 1, 1])
  assert.equal(bench.scheduler.explain('a').text, 'is suspended')
  const resumed = resumeAttempt(context)
  assert.equal(bench.scheduler.explain('a').text, 'is suspended and waits for its permits')
  const explained = bench.scheduler.explain('c')
  assert.deepEqual(explained.why === 'permits' && explained.holders, ['b'])
  await bench.finish('b')
  await resumed
  assert.deepEqual(bench.started, ['a', 'b'], 'before new work')
  await bench.finish('a')
  await bench.finish('c')
  assert.equal((await result).ok, true)
  assert.deepEqual(
    bench.stages.filter((stage) => stage.startsWith('a ')),
    ['a ready', 'a running', 'a suspended', 'a running', 'a succeeded'],
  )
})

test('a graceful cancel waits for a suspended node and lets it continue; a hard one ends its wait', async () => {
  for (const abort of [false, true]) {
    const bench = new Bench({ concurrency: 1 }).add({ a: [], b: [] })
    const result = bench.scheduler.run(bench.work)
    await bench.clock.settle()
    const context = bench.contexts.get('a') as NodeContext & RunnerContext
    suspendAttempt(context)
    bench.scheduler.cancel({ abort })
    await bench.clock.settle()
    if (abort) await assert.rejects(resumeAttempt(context), /cancelled/)
    else await resumeAttempt(context)
    await bench.finish('a')
    const ended = await result
    assert.equal(ended.stateOf('a'), abort ? 'cancelled' : 'succeeded')
    assert.deepEqual([ended.state, ended.skipped, bench.clock.pending], ['cancelled', ['b'], 0])
  }
})

test('progress is an event; a run without an observer makes none', async () => {
  const bench = new Bench().add({ a: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  const { progress } = bench.contexts.get('a')!
  progress(0.4, 'page 40 of 100')
  progress(0.5)
  await bench.finish('a')
  await result
  assert.deepEqual(
    bench.events.filter(({ type }) => type === 'progress'),
    [
      { type: 'progress', at: 0, name: 'a', attempt: 0, fraction: 0.4, text: 'page 40 of 100' },
      { type: 'progress', at: 0, name: 'a', attempt: 0, fraction: 0.5 },
    ],
  )
})
