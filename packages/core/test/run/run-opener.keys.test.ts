import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import test, { after, before, type TestContext } from 'node:test'
import { Graph, isError, job, run, startRun } from '@heddle/core'
import type { Clock, Journal } from '@heddle/core/lowlevel'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { systemKernel } from '../../src/kernel/kernel.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { CountedGraph, historyOf, journals, openFor, type OpenEmpty } from './kit.ts'

const key = 'nightly'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

let schemas = 0

const stores: Readonly<Record<string, OpenEmpty>> = {
  ...journals,
  postgres: (t, kernel) => openFor(t, `${postgres.address}?schema=keys_${++schemas}`, kernel),
}

/** A graph of one job that ends when the test says so. */
function gated(): { graph: Graph; started: Promise<void>; finish: (value: string) => void } {
  const started = Promise.withResolvers<void>()
  const result = Promise.withResolvers<string>()
  const graph = new Graph()
  const wait = job({ name: 'wait' }, () => {
    started.resolve()
    return result.promise
  })
  graph.add('a', wait)
  return { graph, started: started.promise, finish: result.resolve }
}

/** Without the pauses between two looks at a key. */
const hurried: Clock = {
  now: () => systemKernel.clock.now(),
  wallTime: () => systemKernel.clock.wallTime(),
  afterIo: (callback) => systemKernel.clock.afterIo(callback),
  setTimer: (delay, callback) => systemKernel.clock.setTimer(delay === 500 ? 0 : delay, callback),
}

/** A journal that another process prunes once: before a read, or after the first result. */
function prunedAt(
  journal: Journal,
  moment: 'snapshot' | 'results' | 'in results' | 'resumeRun',
): Journal {
  let isPruned = false
  const prune = async (): Promise<void> => {
    if (!isPruned) await journal.prune!({ keep: 0 })
    isPruned = true
  }
  const results: Journal['results'] = async function* (id) {
    if (moment === 'results') await prune()
    for await (const result of journal.results(id)) {
      yield result
      if (moment === 'in results') await prune()
    }
  }
  return new Proxy(journal, {
    get(target, name) {
      if (name === 'results') return results
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      return async (...parameters: unknown[]): Promise<unknown> => {
        if (name === moment) await prune()
        return (await Reflect.apply(method, target, parameters)) as unknown
      }
    },
  })
}

for (const [kind, openEmpty] of Object.entries(stores)) {
  test(`${kind}: a key whose run has succeeded gives the recorded result, and nothing runs`, async (t) => {
    const journal = await openEmpty(t)
    const first = new CountedGraph().add({ a: [], b: ['a'] })
    const begun = await run(first.graph, { journal, key })
    const again = new CountedGraph().add({ a: [], b: ['a'] })
    for (const resume of [false, true]) {
      const started = await startRun(again.graph, { journal, key, resume })
      assert.equal(started.isRecorded, true)
      const result = await started.result
      assert.deepEqual(
        [result.ok, result.run, result.succeeded, result.valueOf('b')],
        [true, begun.run, ['a', 'b'], begun.valueOf('b')],
      )
    }
    assert.deepEqual(again.calls, [])
    assert.equal((await journal.runs()).length, 1)
  })

  test(`${kind}: a key whose run has failed gives that failure; with resume the run continues`, async (t) => {
    const journal = await openEmpty(t)
    const nodes = { a: [], b: ['a'], c: ['b'] }
    const first = new CountedGraph().add(nodes)
    first.failing.add('b')
    const begun = await run(first.graph, { journal, key })
    const again = new CountedGraph().add(nodes)
    const recorded = await run(again.graph, { journal, key })
    assert.deepEqual([recorded.ok, recorded.state, recorded.succeeded], [false, 'finished', ['a']])
    assert.match((recorded.failed.get('b') as Error).message, /b broke/)
    assert.deepEqual([...recorded.blocked], [['c', 'b']])
    assert.throws(() => recorded.valueOf('c'), { code: 'HDL_NO_RESULT' })
    assert.deepEqual(again.calls, [])
    const resumed = await run(again.graph, { journal, key, resume: true })
    assert.deepEqual([resumed.ok, resumed.run], [true, begun.run])
    assert.deepEqual(again.calls, ['b', 'c'])
  })

  test(`${kind}: a key whose run was interrupted resumes it`, async (t) => {
    const journal = await openEmpty(t)
    const first = new CountedGraph().add({ a: [], b: ['a'] })
    first.failing.add('b')
    const begun = await run(first.graph, { journal, key })
    // Left open, as by a process that was killed.
    const by = { pid: 1, host: 'h', command: 'c' }
    await (await journal.resumeRun(begun.run!, by))[Symbol.asyncDispose]()
    assert.equal((await journal.snapshot(begun.run!)).state, 'interrupted')
    const again = new CountedGraph().add({ a: [], b: ['a'] })
    const result = await run(again.graph, { journal, key })
    assert.deepEqual([result.ok, result.run, again.calls], [true, begun.run, ['b']])
  })

  for (const [moment, isResumed] of [
    ['snapshot', false],
    ['results', false],
    ['in results', false],
    ['snapshot', true],
    ['results', true],
    ['resumeRun', true],
  ] as const) {
    const title = `${isResumed ? 'a failed run is resumed' : 'an answer is read'}, at ${moment}`
    test(`${kind}: a key whose run is pruned while ${title}, is free`, async (t) => {
      const journal = await openEmpty(t)
      const first = new CountedGraph().add({ a: [], b: ['a'] })
      if (isResumed) first.failing.add('b')
      const begun = await run(first.graph, { journal, key })
      const again = new CountedGraph().add({ a: [], b: ['a'] })
      const pruned = prunedAt(journal, moment)
      const kernel = { ...systemKernel, clock: hurried }
      const result = await run(again.graph, { journal: pruned, key, resume: isResumed, kernel })
      const values = [result.valueOf('a'), result.valueOf('b')]
      assert.deepEqual([result.ok, values], [true, ['call a()', 'call b(call a())']])
      // In memory what is being read is whole, also when it is removed meanwhile.
      const isAnswer = kind === 'memory' && moment === 'in results'
      assert.equal(result.run === begun.run, isAnswer)
      assert.deepEqual(again.calls, isAnswer ? [] : ['a', 'b'])
      assert.equal((await journal.runs()).length, isAnswer ? 0 : 1)
    })
  }

  test(`${kind}: S1 callers at the same moment make one run, and all get its result`, async (t) => {
    const journal = await openEmpty(t)
    const graphs = Array.from({ length: 4 }, () => new CountedGraph().add({ a: [], b: ['a'] }))
    const results = await Promise.all(graphs.map(({ graph }) => run(graph, { journal, key })))
    assert.equal(new Set(results.map((result) => result.run)).size, 1)
    assert.ok(results.every((result) => result.ok && result.valueOf('b') === 'call b(call a())'))
    assert.equal(graphs.flatMap(({ calls }) => calls).length, 2)
    assert.equal((await journal.runs()).length, 1)
  })

  test(`${kind}: S3 another graph under the key is refused, whatever the run does`, async (t) => {
    const journal = await openEmpty(t)
    const changed = new CountedGraph().add({ a: [], other: ['a'] })
    const isChanged = (error: unknown): boolean => isError(error, 'HDL_GRAPH_CHANGED')
    const { graph, started, finish } = gated()
    const running = run(graph, { journal, key })
    await started
    await assert.rejects(run(changed.graph, { journal, key }), isChanged)
    finish('done')
    await running
    await assert.rejects(run(changed.graph, { journal, key }), isChanged)
    const allowed = run(changed.graph, { journal, key, allowChanges: true })
    await assert.rejects(allowed, (error) => isError(error, 'HDL_RUN_FINISHED'))
    assert.deepEqual(changed.calls, [])
  })
}

async function memory(t: TestContext): Promise<Journal> {
  return journals['memory']!(t)
}

test('S2: a caller that waits checks at least once a second, and can leave without affecting the run', async (t) => {
  const journal = await memory(t)
  const { graph, started, finish } = gated()
  const running = run(graph, { journal, key })
  await started
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const waiting = run(gated().graph, { journal, key, kernel })
  const controller = new AbortController()
  const leaving = run(gated().graph, { journal, key, kernel, signal: controller.signal })
  while (clock.pending < 2) await new Promise((turn) => setImmediate(turn))
  for (let look = 0; look < 3; look++) {
    await clock.advance(500)
    while (clock.pending < 2) await new Promise((turn) => setImmediate(turn))
    assert.equal(getEventListeners(controller.signal, 'abort').length, 1, 'one for each look')
  }
  controller.abort(new Error('no time'))
  await assert.rejects(leaving, (error) => isError(error, 'HDL_CANCELLED'))
  finish('done')
  const { run: id } = await running
  await clock.advance(1000)
  const result = await waiting
  assert.deepEqual([result.run, result.valueOf('a')], [id, 'done'])
  assert.equal(clock.pending, 0)
})

test('a key needs a journal, and no id of a run beside it', async (t) => {
  const { graph } = new CountedGraph().add({ a: [] })
  const isBad = (error: unknown): boolean => isError(error, 'HDL_BAD_OPTION')
  await assert.rejects(run(graph, { key }), isBad)
  const journal = await memory(t)
  await assert.rejects(run(graph, { journal, key, resume: 'some-id' }), isBad)
  await assert.rejects(run(graph, { journal, key: '' }), isBad)
  await assert.rejects(run(graph, { journal, journalRetry: { for: 1 } }), isBad)
})

test('J9: a cancel that is posted to a run cancels it', async (t) => {
  const journal = await journals['sqlite']!(t)
  const graph = new Graph()
  const started = Promise.withResolvers<void>()
  const wait = job({ name: 'wait' }, (_: void, { signal }) => {
    started.resolve()
    return new Promise<void>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  })
  graph.add('a', wait)
  const begun = await startRun(graph, { journal, key, cancelGrace: 0, abortGrace: 0 })
  await started.promise
  await journal.post!(begun.id!, { kind: 'cancel', by: 'a test' })
  const result = await begun.result
  assert.equal(result.state, 'cancelled')
  const states = (await historyOf(journal, begun.id!)).flatMap((row) =>
    row.kind === 'run' ? [row.state] : [],
  )
  assert.deepEqual(states, ['running', 'running', 'draining', 'cancelled'])
})
