import assert from 'node:assert/strict'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { Graph, HeddleError, isError, job, run, startRun } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { sliceBudget } from '../../src/kernel/slices.ts'
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

test('short runs one after the other give timers and sockets their turn', async () => {
  const two = new Graph()
  const first = two.add(
    'first',
    job({ name: 'first' }, () => 1),
  )
  two.add(
    'second',
    job({ name: 'second' }, () => 2),
    { after: [first] },
  )
  // Each read of this clock takes a microsecond: one run is much shorter than a slice, all of them together are much longer.
  let time = 0
  let turns = 0
  const clock = {
    ...systemKernel.clock,
    now: () => (time += 0.001),
    afterIo: (callback: () => void) => {
      turns++
      systemKernel.clock.afterIo(callback)
    },
  }
  const kernel = { ...systemKernel, clock }
  for (let index = 0; index < 2_000; index++) await run(two, { kernel })
  assert.ok(turns > time / (3 * sliceBudget), `${turns} turns in ${time} ms`)
  assert.ok(turns < 100, `${turns} turns: one for many runs`)
})

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
    (error) =>
      isError(error, 'HDL_NO_RESULT') &&
      error.message.includes('was blocked by "exits"') &&
      // The cause of the failed wait: the reader searches for nothing else.
      isError(error.cause, 'HDL_THREAD_CRASHED'),
  )
})

test('cancelling a run stops a thread job that only checks ctx.cancelled', async () => {
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

test('a place that the run does not have is an error before anything starts', async () => {
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

test("an input function reads only results of the node's dependencies", async () => {
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

test('limits of a node take precedence over those of its job', async () => {
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

test('needs of a node are added to needs of its job, name by name; 0 drops one', async () => {
  const most = async (needs: object, ofJob: object): Promise<number> => {
    let running = 0
    let highest = 0
    const gate = Promise.withResolvers<void>()
    const held = job({ name: 'held', needs: ofJob as never }, async () => {
      highest = Math.max(highest, ++running)
      await gate.promise
      running--
    })
    const g = new Graph()
    for (let n = 0; n < 4; n++) g.add(`n${n}`, held, { needs: needs as never })
    const resources = { db: 1, api: 2, tenant: { each: 1 } }
    const started = await startRun(g, { concurrency: 10, resources })
    setImmediate(() => gate.resolve())
    await started.result
    return highest
  }
  assert.equal(await most({ api: 1 }, { db: 1 }), 1, 'both count')
  assert.equal(await most({ api: 1, db: 0 }, { db: 1 }), 2)
  assert.equal(await most({ api: 1 }, () => ({ db: 1 })), 1)
  assert.equal(await most(() => ({ api: 1, db: 0 }), { db: 1 }), 2)
  assert.equal(await most({ tenant: 0, api: 1 }, { tenant: 'acme' }), 2)
  assert.equal(await most({}, { tenant: 'acme' }), 1)
})

test('of() takes references of its own graph only', async () => {
  const two = job({ name: 'two' }, () => 2)
  const same = job({ name: 'same' }, (n: number) => n)
  const foreign = new Graph().add('a', two)
  const outcome = async (wrong: unknown): Promise<unknown> => {
    const g = new Graph()
    const a = g.add('a', two)
    g.add('b', same, { after: [a], input: (of) => of(wrong as typeof a) })
    const result = await run(g)
    assert.throws(() => result.of(wrong as typeof a), {
      code: (result.failed.get('b') as HeddleError).code,
    })
    return result.failed.get('b')
  }
  const other = await outcome(foreign)
  assert.ok(isError(other, 'HDL_UNKNOWN_NODE') && /belongs to another graph/.test(other.message))
  const text = await outcome('a')
  assert.ok(isError(text, 'HDL_BAD_OPTION'))
  assert.equal(text.message, 'Option "of" is "a", expected a reference that add() returned.')
})

test('run() of a value that is not a graph, or with a controller for a signal, names the given value', async () => {
  const two = job({ name: 'two' }, () => 2)
  await assert.rejects(run(two as never), {
    code: 'HDL_BAD_OPTION',
    message: 'Option "graph" is a job, expected a graph: new Graph().',
  })
  await assert.rejects(run(new Graph(), { signal: new AbortController() as never }), {
    code: 'HDL_BAD_OPTION',
    message: 'Option "signal" is an AbortController, expected an AbortSignal.',
  })
})

test('per-job back-off: a job and a node say how long the first pause is, for nodes, elements and steps', async () => {
  const clock = new VirtualClock()
  const kernel = { ...systemKernel, clock, random: { next: () => 0.999_999 } }
  const flaky = job(
    { name: 'flaky', retries: 2, retryBaseDelay: 10 },
    (_: unknown, { attempt }) => {
      if (attempt < 2) throw new Error('again')
      return clock.now()
    },
  )
  const graph = new Graph()
  graph.add('job', flaky)
  graph.add('node', flaky, { retryBaseDelay: 100 })
  graph.map('map', flaky, { over: () => [1] })
  graph.add(
    'step',
    job({ name: 'step' }, (_: void, ctx) => ctx.run(flaky)),
  )
  const start = clock.now()
  const result = await clock.runUntil(run(graph, { kernel, retryBaseDelay: 5_000 }))
  const took = (value: unknown): number => Math.round((value as number) - start)
  assert.equal(took(result.valueOf('job')), 30)
  assert.equal(took(result.valueOf('node')), 300)
  assert.equal(took((result.valueOf('map') as number[])[0]), 30)
  assert.equal(took(result.valueOf('step')), 30)
})
