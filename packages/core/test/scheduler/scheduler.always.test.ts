import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, Scheduler, job, run, startRun } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'

function bench(): {
  clock: VirtualClock
  scheduler: Scheduler
  work: (name: string) => Promise<string>
  calls: string[]
} {
  const clock = new VirtualClock()
  const calls: string[] = []
  return {
    clock,
    scheduler: new Scheduler({
      kernel: { ...systemKernel, clock },
      concurrency: 2,
      cancelGrace: 1_000,
    }),
    calls,
    work: async (name) => {
      calls.push(name)
      await new Promise<void>((resolve) => clock.setTimer(10, resolve))
      if (name.startsWith('bad')) throw new Error(`${name} broke`)
      return name
    },
  }
}

test('G7: a clean-up node runs after success, failure, blocking and removal of its dependencies', async () => {
  const { clock, scheduler, work, calls } = bench()
  scheduler.add('good')
  scheduler.add('bad')
  scheduler.add('blocked', { after: ['bad'] })
  scheduler.add('removed', { after: ['good'] })
  scheduler.add('clean', { after: ['good', 'bad', 'blocked', 'removed'], when: 'always' })
  scheduler.add('after clean', { after: ['clean'] })
  scheduler.remove('removed')
  const result = await clock.runUntil(scheduler.run(work))
  assert.deepEqual(calls, ['good', 'bad', 'clean', 'after clean'])
  assert.equal(result.stateOf('clean'), 'succeeded')
  assert.equal(result.stateOf('blocked'), 'blocked')
  assert.equal(result.ok, false)
})

test('G7: after a graceful cancel it runs within the grace, when running jobs have ended', async () => {
  const { clock, scheduler, work, calls } = bench()
  scheduler.add('a')
  scheduler.add('b', { after: ['a'] })
  scheduler.add('clean', { after: ['a', 'b'], when: 'always' })
  scheduler.add('never', { after: ['clean'] })
  const running = scheduler.run(work)
  await clock.advance(5)
  scheduler.cancel()
  const result = await clock.runUntil(running)
  assert.deepEqual(calls, ['a', 'clean'])
  assert.deepEqual(result.skipped, ['b', 'never'])
  assert.equal(result.state, 'cancelled')
  assert.equal(result.stateOf('clean'), 'succeeded')
  assert.equal(clock.pending, 0)
})

test('G7: a second cancel skips one that has not started and aborts one that has', async () => {
  const { clock, scheduler, calls } = bench()
  scheduler.add('a')
  scheduler.add('b')
  scheduler.add('after b', { after: ['b'], when: 'always' })
  scheduler.add('after a', { after: ['a'], when: 'always' })
  const until = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error)),
    )
  const running = scheduler.run((name, { signal }) => {
    calls.push(name)
    return name === 'a' ? undefined : until(signal)
  })
  await clock.settle()
  scheduler.cancel()
  await clock.settle()
  assert.deepEqual(calls, ['a', 'b', 'after a'])
  scheduler.cancel()
  const result = await clock.runUntil(running)
  assert.deepEqual(calls, ['a', 'b', 'after a'])
  assert.deepEqual(result.cancelled, ['b', 'after a'])
  assert.deepEqual(result.skipped, ['after b'])
})

test('G7: the end of the grace does the same; one that is added then is skipped', async () => {
  const { clock, scheduler } = bench()
  scheduler.add('a')
  scheduler.add('clean', { after: ['a'], when: 'always' })
  const running = scheduler.run(
    (_, { signal }) =>
      new Promise((_done, reject) =>
        signal.addEventListener('abort', () => reject(new Error('stop'))),
      ),
  )
  await clock.settle()
  scheduler.cancel()
  await clock.advance(1_000)
  const result = await clock.runUntil(running)
  assert.deepEqual(result.cancelled, ['a'])
  assert.deepEqual(result.skipped, ['clean'])
})

test('I1: a failed clean-up node makes the run not ok; a retry of it is allowed while the run drains', async () => {
  const { clock, scheduler, calls } = bench()
  scheduler.add('a')
  scheduler.add('clean', { after: ['a'], when: 'always', retries: 1 })
  scheduler.add('bad clean', { after: ['a'], when: 'always' })
  const running = scheduler.run(async (name, { attempt }) => {
    calls.push(`${name} ${attempt}`)
    if (name === 'a') scheduler.cancel()
    if (name === 'bad clean' || (name === 'clean' && attempt === 0)) throw new Error('no')
  })
  const result = await clock.runUntil(running)
  assert.deepEqual(calls, ['a 0', 'clean 0', 'bad clean 0', 'clean 1'])
  assert.deepEqual([...result.failed.keys()], ['bad clean'])
  assert.equal(result.stateOf('clean'), 'succeeded')
})

test('a clean-up node of a graph reads undefined from a dependency that did not succeed', async () => {
  const graph = new Graph()
  const bad = graph.add(
    'bad',
    job({ name: 'bad' }, (): number => {
      throw new Error('no')
    }),
  )
  const good = graph.add(
    'good',
    job({ name: 'good' }, () => 1),
  )
  const seen = graph.add(
    'clean',
    job({ name: 'clean' }, (input: unknown[]) => input),
    {
      after: [bad, good],
      when: 'always',
      input: (of) => [of(bad), of(good)],
    },
  )
  const result = await run(graph)
  assert.deepEqual(result.of(seen), [undefined, 1])
  assert.equal(result.ok, false)
})

test('maps and sub-graphs of clean-up nodes run while the run drains', async () => {
  const graph = new Graph()
  const gate = Promise.withResolvers<void>()
  const first = graph.add(
    'first',
    job({ name: 'first' }, () => gate.promise),
  )
  graph.subgraph(
    'clean',
    () => {
      const inner = new Graph()
      const one = inner.add(
        'one',
        job({ name: 'one' }, () => [1, 2]),
      )
      inner.map(
        'all',
        job({ name: 'double' }, (n: number) => 2 * n),
        { over: one },
      )
      return inner
    },
    { after: [first], when: 'always' },
  )
  const started = await startRun(graph)
  await new Promise<void>((resolve) => setImmediate(resolve))
  started.scheduler.cancel()
  gate.resolve()
  const result = await started.result
  assert.deepEqual(result.valueOf('clean/all'), [2, 4])
  assert.equal(result.state, 'cancelled')
})
