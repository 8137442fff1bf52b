import assert from 'node:assert/strict'
import test from 'node:test'
import { isError } from '@heddle/core'
import { Bench } from './kit.ts'

test('a shielded attempt is ended by its own promise alone: not by its timeout', async () => {
  const bench = new Bench({ timeout: 1_000, retries: 2 }).add({ a: [], b: ['a'] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  const context = bench.contexts.get('a')!
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
    bench.contexts.get('a')!.shield()
    if (act === 'cancel') {
      bench.scheduler.cancel()
      bench.scheduler.cancel()
    } else {
      bench.scheduler.remove('a')
    }
    await bench.clock.advance(60_000)
    assert.equal(bench.scheduler.stateOf('a'), 'running')
    await bench.finish('a')
    if (act === 'remove') await bench.finish('c')
    const ended = await result
    assert.equal(ended.stateOf('a'), 'succeeded')
    assert.equal(ended.stateOf('b'), act === 'cancel' ? 'skipped' : 'blocked')
    assert.equal(bench.clock.pending, 0)
  }
})

test('a shielded attempt that fails has failed', async () => {
  const bench = new Bench().add({ a: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  bench.contexts.get('a')!.shield()
  bench.scheduler.cancel({ abort: true })
  await bench.fail('a')
  assert.equal((await result).stateOf('a'), 'failed')
})

test('an attempt that was aborted already cannot be shielded', async () => {
  const bench = new Bench({ timeout: 1_000 }).add({ a: [] })
  const result = bench.scheduler.run(bench.work)
  await bench.clock.settle()
  await bench.clock.advance(1_000)
  const context = bench.contexts.get('a')!
  assert.equal(context.shield(), false)
  await bench.finish('a')
  const ended = await result
  assert.ok(isError(ended.failed.get('a'), 'HDL_TIMEOUT'))
})
