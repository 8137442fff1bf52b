import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, isError, job, run, startRun } from '@heddle/core'
import type { Journal } from '@heddle/core/lowlevel'
import { CountedGraph, cutOff, historyOf, journals, steps, successes } from './kit.ts'

const diamond = { a: [], b: ['a'], c: ['a'], d: ['b', 'c'] }

function onlyRun(journal: Journal): Promise<string> {
  return journal.runs().then(([last]) => last!.id)
}

for (const [kind, openEmpty] of Object.entries(journals)) {
  test(`${kind}: R1, R2, R3 hold after a crash behind any row`, async (t) => {
    const journal = await openEmpty(t)
    const whole = new CountedGraph().add(diamond)
    const first = await run(whole.graph, { journal, concurrency: 1 })
    const history = await historyOf(journal, first.run!)
    assert.ok(history.length >= 2 + 3 * 4 + 1)

    const crashed = await openEmpty(t)
    // The last row is the end of the run: a run that has it is finished.
    for (let rows = 2; rows < history.length; rows++) {
      const id = await cutOff(journal, first.run!, rows, crashed)
      const done = [...successes(history.slice(0, rows)).keys()]
      const again = new CountedGraph().add(diamond)
      const result = await run(again.graph, { journal: crashed, resume: true, concurrency: 1 })
      assert.equal(result.ok, true)
      assert.equal(result.run, id)
      assert.deepEqual(result.reused, done, `row ${rows}`)
      const left = Object.keys(diamond).filter((name) => !done.includes(name))
      assert.deepEqual(again.calls, left, `R1 behind row ${rows}`)
      for (const name of Object.keys(diamond)) {
        assert.deepEqual(result.valueOf(name), first.valueOf(name), 'R3')
      }
      const counts = successes(await historyOf(crashed, id))
      assert.deepEqual(Object.fromEntries(counts), { a: 1, b: 1, c: 1, d: 1 }, 'R2')
      assert.equal((await crashed.snapshot(id)).state, 'finished')
      const calls = again.calls.length
      const recorded = await run(again.graph, { journal: crashed, resume: true })
      assert.deepEqual([recorded.ok, recorded.run], [true, id], 'there is nothing left to resume')
      assert.equal(again.calls.length, calls)
    }
  })

  test(`${kind}: a run that has succeeded is answered with its recorded result`, async (t) => {
    const journal = await openEmpty(t)
    const { graph, calls } = new CountedGraph().add(diamond)
    const { run: id } = await run(graph, { journal })
    const before = await historyOf(journal, id!)
    for (const resume of [id!, true]) {
      const result = await run(graph, { journal, resume })
      assert.deepEqual([result.ok, result.run], [true, id])
      assert.equal(result.valueOf('d'), await journal.valueOf(id!, 'd'))
    }
    assert.equal(calls.length, 4)
    assert.deepEqual(await historyOf(journal, id!), before, 'nothing was written')
  })

  test(`${kind}: a cancelled run resumes, and nodes that had succeeded are not run again`, async (t) => {
    const journal = await openEmpty(t)
    const first = new CountedGraph().add(diamond)
    const { scheduler, result, id } = await startRun(first.graph, { journal, concurrency: 1 })
    scheduler.observe((event) => {
      if (event.type === 'node' && event.state === 'succeeded' && event.name === 'b') {
        scheduler.cancel()
      }
    })
    const cancelled = await result
    assert.equal(cancelled.state, 'cancelled')
    assert.equal((await journal.snapshot(id!)).state, 'cancelled')

    const second = new CountedGraph().add(diamond)
    const ended = await run(second.graph, { journal, resume: true, concurrency: 1 })
    assert.equal(ended.ok, true)
    assert.deepEqual([...cancelled.succeeded, ...second.calls], ['a', 'b', 'c', 'd'])
    const { state, counts } = await journal.snapshot(id!)
    assert.deepEqual([state, counts], ['finished', { succeeded: 4 }])
  })

  test(`${kind}: in a run that finished with failures, only failed and blocked nodes run`, async (t) => {
    const journal = await openEmpty(t)
    const first = new CountedGraph().add(diamond)
    first.failing.add('b')
    const failed = await run(first.graph, { journal })
    assert.deepEqual([failed.ok, failed.state], [false, 'finished'])

    const second = new CountedGraph().add(diamond)
    const ended = await run(second.graph, { journal, resume: true })
    assert.equal(ended.run, failed.run)
    assert.deepEqual(second.calls, ['b', 'd'])
    const { nodes } = await journal.snapshot(failed.run!)
    const b = nodes.find(({ name }) => name === 'b')!
    assert.deepEqual(
      b.errors.map(({ message }) => message),
      ['b broke'],
      'what went wrong before is still there',
    )
  })

  test(`${kind}: resuming a run that is under way is refused`, async (t) => {
    const journal = await openEmpty(t)
    const { graph: other } = new CountedGraph().add({ z: [] })
    const interrupted = await openEmpty(t)
    await run(other, { journal: interrupted })
    await cutOff(interrupted, await onlyRun(interrupted), 3, journal)

    const gate = Promise.withResolvers<void>()
    const graph = new Graph()
    graph.add(
      'waits',
      job({ name: 'waits' }, () => gate.promise),
    )
    const busy = await startRun(graph, { journal })
    const { graph: same, calls } = new CountedGraph().add({ z: [] })
    await run(same, { journal, resume: true })
    assert.deepEqual(calls, ['z'])
    await assert.rejects(run(graph, { journal, resume: busy.id! }), (error) =>
      isError(error, 'HDL_LOCKED'),
    )
    gate.resolve()
    assert.equal((await busy.result).ok, true)
  })

  test(`${kind}: every difference between the graph and the journaled one is named`, async (t) => {
    const journal = await openEmpty(t)
    const source = await openEmpty(t)
    const fixed = job({ name: 'fixed' }, (n: number) => n)
    const before = new CountedGraph().add({ gone: [], root: [], leaf: ['root'] })
    before.addNode('other job', [])
    before.graph.add('fixed', fixed, { input: 1 })
    await run(before.graph, { journal: source })
    await cutOff(source, await onlyRun(source), 3, journal)

    const now = new CountedGraph().add({ root: [], extra: [], leaf: ['extra'] })
    now.addNode('other job', [], 'another')
    now.graph.add('fixed', fixed, { input: 2 })
    await assert.rejects(run(now.graph, { journal, resume: true }), (error) => {
      assert.ok(isError(error, 'HDL_GRAPH_CHANGED'))
      assert.deepEqual(error.details.differences.toSorted(), [
        '"extra" is new',
        '"gone" is gone',
        '"leaf" now needs "extra", no longer needs "root"',
        '"other job" runs another instead of call',
        'the input of "fixed" changed',
      ])
      return true
    })
    assert.deepEqual(now.calls, [])
    assert.equal((await journal.runs())[0]!.state, 'interrupted', 'the run is as it was')
  })

  test(`${kind}: with allowChanges only valid results are kept, also over a second crash`, async (t) => {
    const source = await openEmpty(t)
    const nodes = { a: [], b: ['a'], c: ['b'], x: [], gone: ['x'] }
    const before = new CountedGraph().add(nodes)
    before.failing.add('gone')
    const { run: id } = await run(before.graph, { journal: source })

    const change = (): CountedGraph => {
      const changed = new CountedGraph().add({ x: [] })
      changed.addNode('a', [], 'another')
      return changed.add({ b: ['a'], c: ['b'], late: ['x'] })
    }
    await assert.rejects(run(change().graph, { journal: source, resume: id! }), (error) =>
      isError(error, 'HDL_GRAPH_CHANGED'),
    )
    const earlier = (await historyOf(source, id!)).length
    const changed = change()
    const ended = await run(changed.graph, {
      journal: source,
      resume: id!,
      allowChanges: true,
      concurrency: 1,
    })
    assert.deepEqual(ended.reused, ['x'])
    assert.deepEqual(changed.calls.toSorted(), ['a', 'b', 'c', 'late'])
    assert.equal(ended.ok, true)

    // Once allowed, the changed graph is the run's graph: a crash behind any row of the second run.
    const history = await historyOf(source, id!)
    const crashed = await openEmpty(t)
    for (let rows = earlier + 1; rows < history.length; rows++) {
      const resume = await cutOff(source, id!, rows, crashed)
      const done = new Set(['x'])
      for (const row of history.slice(earlier, rows)) {
        if (row.kind === 'node' && row.state === 'succeeded') done.add(row.node)
      }
      const again = change()
      const result = await run(again.graph, { journal: crashed, resume, allowChanges: true })
      assert.equal(result.ok, true)
      assert.deepEqual(new Set(result.reused), done, `row ${rows}`)
      assert.equal(result.valueOf('c'), ended.valueOf('c'))
    }
  })

  test(`${kind}: R4: a change is allowed once; a result that fell with it stays fallen`, async (t) => {
    const journal = await openEmpty(t)
    const before = new CountedGraph().add({ a: [], b: ['a'], x: [] })
    before.failing.add('x')
    const { run: id } = await run(before.graph, { journal })
    const change = (): CountedGraph => {
      const changed = new CountedGraph().add({ x: [] })
      changed.addNode('a', [], 'another')
      return changed.add({ b: ['a'], late: ['x'] })
    }
    // Ends before b has run again: its result of the first run was made from the old a.
    const second = change()
    const stop = await startRun(second.graph, {
      journal,
      resume: id!,
      allowChanges: true,
      concurrency: 1,
    })
    stop.scheduler.observe((event) => {
      if (event.type === 'node' && event.name === 'a' && event.state === 'succeeded') {
        stop.scheduler.cancel()
      }
    })
    await stop.result
    assert.ok(!second.calls.includes('b'))

    const third = change()
    const ended = await run(third.graph, { journal, resume: id! })
    assert.equal(ended.ok, true)
    assert.ok(!third.calls.includes('a'), 'a has succeeded as it is now')
    assert.ok(third.calls.includes('b'))
    const { nodes } = await journal.snapshot(id!)
    const names = nodes.map((node) => `${node.name} ${node.job}`)
    assert.deepEqual(names.toSorted(), ['a another', 'b call', 'late call', 'x call'])
  })

  test(`${kind}: a resumed run reads back the returned values`, async (t) => {
    const value = {
      nested: {
        list: [1, -0, NaN, Infinity, 2 ** 60],
        hole: Object.assign([], { 2: 'third' }),
        nothing: undefined,
        no: null,
      },
      text: 'Ünïcödé \ud83d\ude00 \ud800',
      big: -(2n ** 80n),
      date: new Date(123_456_789),
      map: new Map<unknown, unknown>([[{ key: 1 }, new Set(['x'])]]),
      bytes: new Uint8Array([0, 255]),
      floats: new Float64Array([1.5, -0]),
      long: 'x'.repeat(200_000),
    }
    const makeGraph = (ran: string[], fails: boolean): Graph => {
      const graph = new Graph()
      const given = job({ name: 'given' }, () => {
        ran.push('given')
        return value
      })
      const nothing = job({ name: 'nothing' }, () => void ran.push('nothing'))
      const last = job({ name: 'last' }, (): void => {
        if (fails) throw new Error('not yet')
      })
      const a = graph.add('given', given)
      const b = graph.add('nothing', nothing)
      graph.add('last', last, { after: [a, b] })
      return graph
    }
    const journal = await openEmpty(t)
    const ran: string[] = []
    await run(makeGraph(ran, true), { journal })
    const result = await run(makeGraph(ran, false), { journal, resume: true })
    assert.deepEqual(ran, ['given', 'nothing'])
    assert.equal(result.ok, true)
    assert.deepStrictEqual(result.valueOf('given'), value)
    assert.equal(result.valueOf('nothing'), undefined)
  })
}

test('resume without a journal is refused instead of running everything', async () => {
  const { graph, calls } = new CountedGraph().add(diamond)
  await assert.rejects(run(graph, { resume: true }), (error) => isError(error, 'HDL_BAD_OPTION'))
  assert.deepEqual(calls, [])
  assert.equal((await run(graph, { resume: false })).ok, true)
})

test('resume: true takes a run of its own title, and none that is older than a success', async (t) => {
  const journal = await journals['memory']!(t)
  const fails = { current: true }
  const graphOf = (ran: string[]): Graph => {
    const graph = new Graph()
    const first = graph.add(
      'build',
      job({ name: 'build' }, () => void ran.push('build')),
    )
    const deploy = job({ name: 'deploy' }, (): void => {
      ran.push('deploy')
      if (fails.current) throw new Error('not yet')
    })
    graph.add('deploy', deploy, { after: [first] })
    return graph
  }
  const ran: string[] = []
  const staging = await run(graphOf(ran), { journal, title: 'staging' })
  fails.current = false
  await assert.rejects(
    run(graphOf(ran), { journal, title: 'prod', resume: true }),
    (error) => isError(error, 'HDL_UNKNOWN_RUN') && error.message.includes('of "prod"'),
  )
  assert.deepEqual(ran, ['build', 'deploy'], 'nothing ran for prod')
  await run(graphOf(ran), { journal, title: 'staging' })
  const newer = await run(graphOf(ran), { journal, title: 'staging', resume: true })
  assert.notEqual(newer.run, staging.run, 'a newer run has succeeded')
  assert.deepEqual([newer.ok, ran.length], [true, 4])
  const resumed = await run(graphOf(ran), { journal, resume: staging.run! })
  assert.equal(resumed.ok, true, 'by its id it is resumed all the same')
  assert.deepEqual(resumed.reused, ['build'])
})

test('a run that is not there is an error, by name and by "the last"', async (t) => {
  const journal = await journals['memory']!(t)
  const { graph } = new CountedGraph().add(diamond)
  for (const resume of [true, '20260101-000000-bcdfgh'] as const) {
    await assert.rejects(run(graph, { journal, resume }), (error) =>
      isError(error, 'HDL_UNKNOWN_RUN'),
    )
  }
})

test('a success whose result was lost is computed again, with everything computed from it', async (t) => {
  const journal = await journals['memory']!(t)
  const nodes = { a: [], b: ['a'], c: ['b'], x: [], last: ['c', 'x'] }
  const first = new CountedGraph().add(nodes)
  first.failing.add('last')
  const { run: id } = await run(first.graph, { journal })
  const results = journal.results.bind(journal)
  journal.results = async function* (of) {
    for await (const each of results(of)) if (each[0] !== 'b') yield each
  }
  const second = new CountedGraph().add(nodes)
  const ended = await run(second.graph, { journal, resume: id! })
  assert.equal(ended.ok, true)
  assert.deepEqual(new Set(ended.reused), new Set(['a', 'x']))
  assert.deepEqual(second.calls, ['b', 'c', 'last'])
})

test('a job that moved to another place has not changed', async (t) => {
  const journal = await journals['memory']!(t)
  const makeGraph = (place: 'loop' | 'thread', fails: boolean): Graph => {
    const graph = new Graph()
    // Two versions of one program: each is a module of its own in this process.
    const module = `${import.meta.url}?${place}`
    const moved = job({ name: 'moved', place, module }, () => 1)
    const last = job({ name: 'last' }, (): void => {
      if (fails) throw new Error('not yet')
    })
    graph.add('last', last, { after: [graph.add('moved', moved)] })
    return graph
  }
  const { run: id } = await run(makeGraph('loop', true), { journal })
  const result = await run(makeGraph('thread', false), { journal, resume: id! })
  assert.deepEqual(result.reused, ['moved'])
  const { nodes } = await journal.snapshot(id!)
  assert.equal(nodes.find(({ name }) => name === 'moved')!.place, 'thread', 'the journal knows')
})

test('steps of a resumed run follow those of the first in one history', async (t) => {
  const journal = await journals['sqlite']!(t)
  const first = new CountedGraph().add({ a: [], b: ['a'] })
  first.failing.add('b')
  const { run: id } = await run(first.graph, { journal })
  await run(new CountedGraph().add({ a: [], b: ['a'] }).graph, { journal, resume: id! })
  const history = await historyOf(journal, id!)
  assert.deepEqual(steps(history), [
    'a ready',
    'a running',
    'a succeeded',
    'b ready',
    'b running',
    'b failed',
    'b ready',
    'b running',
    'b succeeded',
  ])
  const positions = history.map(({ position }) => position)
  assert.deepEqual(
    positions,
    [...new Set(positions)].toSorted((x, y) => x - y),
  )
})

test('R1: a clean-up runs again after a failed node has run again, and stays done when nothing failed', async (t) => {
  const journal = await journals['memory']!(t)
  const calls: string[] = []
  let isBroken = true
  const build = (): Graph => {
    const graph = new Graph()
    const work = (name: string, end: () => string) =>
      job({ name }, () => {
        calls.push(name)
        return end()
      })
    const opened = graph.add(
      'open',
      work('open', () => 'open'),
    )
    const used = graph.add(
      'use',
      work('use', () => {
        if (isBroken) throw new Error('broken')
        return 'used'
      }),
      { after: [opened] },
    )
    graph.add(
      'drop',
      work('drop', () => 'dropped'),
      { after: [opened, used], when: 'always' },
    )
    const noted = graph.add(
      'note',
      work('note', () => 'noted'),
      { after: [opened], when: 'always' },
    )
    graph.add(
      'last',
      work('last', () => 'last'),
      { after: [used, noted] },
    )
    return graph
  }
  const first = await run(build(), { journal, concurrency: 1 })
  assert.deepEqual([first.ok, calls.toSorted()], [false, ['drop', 'note', 'open', 'use']])
  calls.length = 0
  isBroken = false
  const second = await run(build(), { journal, resume: true, concurrency: 1 })
  assert.deepEqual([second.ok, calls.toSorted()], [true, ['drop', 'last', 'use']])
  assert.ok(calls.indexOf('use') < calls.indexOf('drop'))
  assert.deepEqual([...second.reused].toSorted(), ['note', 'open'])
})
