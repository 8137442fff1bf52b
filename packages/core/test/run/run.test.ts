import assert from 'node:assert/strict'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { Graph, HeddleError, isError, job, run, startRun } from '@heddle/core'
import { runCommand } from '../../src/processes/command.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { threadPlace } from '../../src/places/thread.ts'
import {
  eatsMemory,
  exits,
  square,
  sum,
  throws,
  throwsLater,
  waitsForCancel,
} from './fixtures/jobs.ts'

test('results flow from threads to the loop along the edges', async () => {
  const g = new Graph()
  const squares = [1, 2, 3].map((n) => g.add(`square ${n}`, square, { input: n }))
  const total = g.add('total', sum, {
    after: squares,
    input: (of) => squares.map((ref) => of(ref).value),
  })
  const result = await run(g, { concurrency: 8 })
  assert.equal(result.ok, true)
  assert.equal(result.of(total), 14)
  assert.equal(result.of(squares[0]!).onLoop, false)
})

test('throw, exit, uncaught error and out of memory in a thread fail only their own job', async () => {
  await using pool = new ThreadPool({ threads: 2, resourceLimits: { maxOldGenerationSizeMb: 32 } })
  const g = new Graph()
  const bad = { throws, exits, throwsLater, eatsMemory }
  for (const [name, ending] of Object.entries(bad)) g.add(name, ending)
  const good = Array.from({ length: 20 }, (_, n) => g.add(`good ${n}`, square, { input: n }))
  const after = g.add('after exits', square, { after: ['exits'], input: 2 })
  const result = await run(g, { concurrency: 24, places: { thread: threadPlace(pool) } })

  assert.deepEqual([...result.failed.keys()].toSorted(), Object.keys(bad).toSorted())
  assert.match(String(result.failed.get('throws')), /thrown in a thread/)
  for (const name of ['exits', 'throwsLater', 'eatsMemory']) {
    assert.ok(isError(result.failed.get(name), 'HDL_THREAD_CRASHED'), name)
  }
  assert.deepEqual(
    good.map((ref) => result.of(ref).value),
    good.map((_, n) => n * n),
  )
  assert.equal(result.blocked.get('after exits'), 'exits')
  assert.throws(
    () => result.of(after),
    (error) => isError(error, 'HDL_NO_RESULT'),
  )
})

test('cancelling a run stops a thread job that only looks at ctx.cancelled', async () => {
  const flag = new Int32Array(new SharedArrayBuffer(4))
  const g = new Graph()
  g.add('busy', waitsForCancel, { input: flag })
  g.add('behind', square, { after: ['busy'], input: 1 })
  const { scheduler, result } = await startRun(g)
  await Atomics.waitAsync(flag, 0, 0).value
  scheduler.cancel({ reason: 'test', abort: true })
  const ended = await result
  assert.equal(ended.ok, false)
  assert.deepEqual(ended.cancelled, ['busy'])
  assert.deepEqual(ended.skipped, ['behind'])
})

test('nothing has started when startRun() resolves: the run can be paused before its first node', async () => {
  const g = new Graph()
  let calls = 0
  g.add(
    'a',
    job({ name: 'a' }, () => calls++),
  )
  const states: string[] = []
  const { id, scheduler, result } = await startRun(g, {
    journal: 'memory',
    observer: (event) => {
      if (event.type === 'state') states.push(event.state)
    },
  })
  assert.match(id!, /^\d{8}-/)
  assert.deepEqual([states, calls], [[], 0])
  scheduler.pause()
  await new Promise(setImmediate)
  assert.deepEqual([states, calls], [['paused'], 0])
  scheduler.resume()
  assert.deepEqual((await result).succeeded, ['a'])
})

test('a place that the run does not have is told before anything starts', async () => {
  const g = new Graph()
  let called = 0
  g.add(
    'a',
    job({ name: 'a' }, () => called++),
  )
  g.add(
    'far',
    job({ name: 'far', place: 'fleet', module: import.meta.url }, () => 1),
  )
  await assert.rejects(run(g), (error) => isError(error, 'HDL_PLACE_UNAVAILABLE'))
  assert.equal(called, 0)
})

test('an input function reads only what the node depends on', async () => {
  const g = new Graph()
  const a = g.add(
    'a',
    job({ name: 'a' }, () => 1),
  )
  const b = g.add(
    'b',
    job({ name: 'b' }, (n: number) => n),
    { input: ((of: (ref: unknown) => number) => of(a)) as never },
  )
  const result = await run(g)
  assert.ok(isError(result.failed.get('b'), 'HDL_NOT_A_DEPENDENCY'))
  assert.throws(() => result.of(b), HeddleError)
})

test('a node may set its own limits over those of its job', async () => {
  const g = new Graph()
  let calls = 0
  const flaky = job({ name: 'flaky', retries: 5 }, () => {
    calls++
    throw new Error('no')
  })
  g.add('a', flaky, { retries: 0 })
  await run(g, { retries: 9 })
  assert.equal(calls, 1)
})

test('a program and its thread jobs in one file: the program runs once', async () => {
  const file = fileURLToPath(new URL('./fixtures/one-file.ts', import.meta.url))
  const { stdout } = await runCommand(process.execPath, ['--conditions=heddle-source', file])
  assert.equal(stdout, 'callback in thread 0\neffect in thread 0\n8\n')
})
