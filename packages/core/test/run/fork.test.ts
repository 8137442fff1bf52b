import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, type Job } from '@heddle/core'
import { readRecord, type Journal } from '@heddle/core/lowlevel'
import { historyOf, journals } from './kit.ts'

/** Counts the calls of jobs, and makes what each returns depend on how often it was called. */
class Calls {
  readonly list: string[] = []
  broken: string | undefined

  job(name: string): Job<unknown, string> {
    return job({ name }, () => {
      this.list.push(name)
      if (this.broken === name) throw new Error(`${name} is broken`)
      return `${name} ${this.list.filter((each) => each === name).length}`
    })
  }

  take(): string[] {
    return this.list.splice(0).toSorted()
  }
}

/** a ─▶ b ─▶ d, a ─▶ c, and a sub-graph s with s/x ─▶ s/y, s/z after c. */
function sample(calls: Calls): Graph {
  const graph = new Graph()
  const a = graph.add('a', calls.job('a'))
  const b = graph.add('b', calls.job('b'), { after: [a] })
  const c = graph.add('c', calls.job('c'), { after: [a] })
  graph.subgraph(
    's',
    () => {
      const inner = new Graph()
      const x = inner.add('x', calls.job('x'))
      inner.add('y', calls.job('y'), { after: [x] })
      const z = inner.add('z', calls.job('z'))
      return { graph: inner, result: z }
    },
    { after: [c] },
  )
  graph.add('d', calls.job('d'), { after: [b] })
  return graph
}

async function rowsOf(journal: Journal, id: string): Promise<string> {
  return JSON.stringify(await historyOf(journal, id))
}

const cases: readonly (readonly [from: string, again: readonly string[]])[] = [
  ['a', ['a', 'b', 'c', 'd', 'x', 'y', 'z']],
  ['b', ['b', 'd']],
  ['c', ['c', 'x', 'y', 'z']],
  ['d', ['d']],
  ['s', ['x', 'y', 'z']],
  ['s/x', ['x', 'y']],
  ['s/z', ['z']],
]

for (const [kind, open] of Object.entries(journals)) {
  test(`K1, K2, ${kind}: a new run from a node runs it and everything computed from it, and the old run is unchanged`, async (t) => {
    const journal = await open(t)
    const calls = new Calls()
    const first = await run(sample(calls), { journal, key: 'nightly', title: 'graph' })
    assert.equal(first.ok, true)
    assert.equal(calls.take().length, 7)
    const before = await rowsOf(journal, first.run!)
    for (const [from, again] of cases) {
      const forked = await run(sample(calls), { journal, resume: first.run!, from, title: 'graph' })
      assert.equal(forked.ok, true, from)
      assert.deepEqual(calls.take(), again, from)
      assert.notEqual(forked.run, first.run)
      const { key, options } = await journal.snapshot(forked.run!)
      assert.equal(key, undefined)
      assert.deepEqual(options['forkedFrom'], { run: first.run, node: from })
      // Also a reader of the journal sees all results.
      assert.match(String(await journal.valueOf(forked.run!, 's/y')), /^y 1$/)
    }
    assert.equal(await rowsOf(journal, first.run!), before)
    const recorded = await run(sample(calls), { journal, key: 'nightly' })
    assert.equal(recorded.run, first.run)
    assert.deepEqual(calls.take(), [])
  })

  test(`K1, ${kind}: unfinished nodes run too, with the elements and steps that have succeeded`, async (t) => {
    const journal = await open(t)
    const calls: number[] = []
    let broken: number | undefined = 2
    const one = job({ name: 'one' }, (n: number) => {
      calls.push(n)
      if (n === broken) throw new Error('broken')
      return n * 10
    })
    const other = job({ name: 'other' }, () => 'other')
    const graph = (): Graph => {
      const made = new Graph()
      made.map('all', one, { over: () => [1, 2, 3], window: 1 })
      made.add(
        'steps',
        job({ name: 'steps' }, async (_: void, ctx) => {
          const first = await ctx.run(one, 7)
          if (broken !== undefined) throw new Error('broken')
          return first
        }),
      )
      made.add('other', other)
      return made
    }
    const first = await run(graph(), { journal })
    assert.equal(first.ok, false)
    assert.deepEqual(
      calls.splice(0).toSorted((a, b) => a - b),
      [1, 2, 7],
    )
    broken = undefined
    const forked = await run(graph(), { journal, resume: first.run!, from: 'other' })
    assert.equal(forked.ok, true)
    assert.deepEqual(calls, [2, 3])
    assert.deepEqual(forked.valueOf('all'), [10, 20, 30])
    assert.equal(forked.valueOf('steps'), 70)
  })
}

test('K3: a new run that was interrupted is resumed like any other', async (t) => {
  const journal = await journals['memory']!(t)
  const calls = new Calls()
  const first = await run(sample(calls), { journal })
  calls.take()
  calls.broken = 'd'
  const forked = await run(sample(calls), { journal, resume: first.run!, from: 'b' })
  assert.deepEqual([forked.ok, calls.take()], [false, ['b', 'd']])
  calls.broken = undefined
  const resumed = await run(sample(calls), { journal, resume: forked.run! })
  assert.deepEqual([resumed.ok, resumed.run, calls.take()], [true, forked.run, ['d']])
})

test('a new run takes the last one of its title, and a key of its own', async (t) => {
  const journal = await journals['memory']!(t)
  const calls = new Calls()
  const options = { journal, title: 'mine' }
  const first = await run(sample(calls), { ...options, key: 'one' })
  await run(sample(calls), { journal, title: 'another' })
  calls.take()
  const forked = await run(sample(calls), { ...options, from: 'd', key: 'two' })
  assert.deepEqual(calls.take(), ['d'])
  const { key, options: recorded } = await journal.snapshot(forked.run!)
  assert.deepEqual([key, recorded['forkedFrom']], ['two', { run: first.run, node: 'd' }])
  assert.equal((await readRecord(journal, forked.run!, { now: 0 })).sessions.length, 1)
  const taken = { code: 'HDL_KEY_TAKEN' }
  await assert.rejects(run(sample(calls), { ...options, from: 'b', key: 'two' }), taken)
  await assert.rejects(run(sample(calls), { ...options, from: 'd', key: 'one' }), taken)
})

test('a new run with a key is made once: then it is resumed, or its recorded result returned', async (t) => {
  const journal = await journals['memory']!(t)
  const calls = new Calls()
  const options = { journal, title: 'mine' }
  const first = await run(sample(calls), { ...options, key: 'one' })
  calls.take()
  calls.broken = 'd'
  const asked = { ...options, from: 'b', key: 'two' }
  const forked = await run(sample(calls), asked)
  assert.deepEqual([forked.ok, calls.take()], [false, ['b', 'd']])
  const again = await run(sample(calls), asked)
  assert.deepEqual([again.run, again.ok, calls.take()], [forked.run, false, []])
  calls.broken = undefined
  const resumed = await run(sample(calls), { ...asked, resume: true })
  assert.deepEqual([resumed.run, resumed.ok, calls.take()], [forked.run, true, ['d']])
  const recorded = await run(sample(calls), { ...asked, resume: first.run! })
  assert.deepEqual([recorded.run, recorded.ok, calls.take()], [forked.run, true, []])
  const other = { ...asked, resume: forked.run! }
  await assert.rejects(run(sample(calls), other), { code: 'HDL_KEY_TAKEN' })
})

for (const [kind, open] of Object.entries(journals)) {
  test(`a run of a part of the graph is not the run of its title: ${kind}`, async (t) => {
    const journal = await open(t)
    const calls = new Calls()
    const options = { journal, title: 'mine' }
    const missing = run(sample(calls).only(['b']), { ...options, from: 'a' })
    await assert.rejects(missing, /There is no earlier run of "mine" to take results from in/)
    calls.broken = 'd'
    const whole = await run(sample(calls), options)
    const part = await run(sample(calls).only(['b']), options)
    assert.deepEqual((await journal.snapshot(part.run!)).options['only'], ['b'])
    calls.broken = undefined
    calls.take()
    const resumed = await run(sample(calls), { ...options, resume: true })
    assert.deepEqual([resumed.run, calls.take()], [whole.run, ['d']])
    await run(sample(calls).only(['b']), options)
    calls.take()
    const forked = await run(sample(calls), { ...options, from: 'd' })
    assert.deepEqual([forked.ok, calls.take()], [true, ['d']])
    const same = await run(sample(calls).only(['b']), { ...options, from: 'b' })
    assert.deepEqual([same.ok, calls.take()], [true, ['b']])
    const other = run(sample(calls).only(['c']), { ...options, resume: true })
    await assert.rejects(other, {
      code: 'HDL_UNKNOWN_RUN',
      message: /Run \S+ was limited to "b"\./,
    })
    // A part that is the whole graph is the whole graph.
    const all = await run(sample(calls).only(['s', 'd']), { ...options, resume: true })
    assert.equal(all.run, forked.run)
  })
}

test('a new run of another graph, or from an unknown node, is refused and leaves nothing', async (t) => {
  const journal = await journals['memory']!(t)
  const calls = new Calls()
  const first = await run(sample(calls), { journal })
  calls.take()
  const changed = (): Graph => {
    const graph = sample(calls)
    graph.add('e', calls.job('e'), { after: ['c'] })
    return graph
  }
  const fork = { journal, resume: first.run! }
  await assert.rejects(run(changed(), { ...fork, from: 'b' }), { code: 'HDL_GRAPH_CHANGED' })
  await assert.rejects(run(sample(calls), { ...fork, from: 'bb' }), { code: 'HDL_UNKNOWN_NODE' })
  await assert.rejects(run(sample(calls), { from: 'b' }), { code: 'HDL_BAD_OPTION' })
  assert.equal((await journal.runs()).length, 1)
  const allowed = await run(changed(), { ...fork, from: 'b', allowChanges: true })
  assert.deepEqual([allowed.ok, calls.take()], [true, ['b', 'd', 'e']])
})

for (const [kind, open] of Object.entries(journals)) {
  test(`K4, ${kind}: a new run has the artifacts of the results it uses, also when the old run is removed`, async (t) => {
    const journal = await open(t)
    const write = job({ name: 'write' }, async (text: string, ctx) => {
      await ctx.artifact(`${text}.txt`, text)
      return text
    })
    const steps = job({ name: 'steps' }, async (_: unknown, ctx) => {
      await ctx.run(write, 'step', { key: 's' })
      if (isBroken) throw new Error('later')
    })
    let isBroken = true
    const graph = new Graph()
    const a = graph.add('a', write, { input: 'a' })
    graph.map('m', write, { over: () => ['e0', 'e1'] })
    graph.add('n', steps)
    graph.add('b', write, { input: 'b', after: [a] })
    graph.subgraph('s', () => {
      const inner = new Graph()
      inner.add('x', write, { input: 'x' })
      return inner
    })
    const first = await run(graph, { journal, title: 'graph' })
    assert.deepEqual([...first.failed.keys()], ['n'])
    const store = journal.artifacts!
    const before = await store.list(first.run!)
    assert.equal(before.length, 6)
    isBroken = false
    const forked = await run(graph, { journal, title: 'graph', from: 'b' })
    assert.equal(forked.ok, true)
    const names = (await store.list(forked.run!)).map(({ name, by }) => `${name} by ${by}`)
    const expected = before.map(({ name, by }) => `${name} by ${by}`)
    assert.deepEqual(names.toSorted(), expected.toSorted())
    const { length: kept } = await store.list(first.run!)
    assert.equal(kept, 6)
    await store.remove(first.run!)
    await using opened = await store.open(forked.run!, 'e1.txt')
    assert.equal(Buffer.concat(await Array.fromAsync(opened.bytes)).toString(), 'e1')
    // What runs again writes its own.
    const again = await run(graph, { journal, title: 'graph', from: 'a', resume: forked.run! })
    assert.equal((await store.list(again.run!)).length, 6)
  })
}

test('K4: artifacts are found whatever their nodes are called', async (t) => {
  const journal = await journals['memory']!(t)
  const write = job({ name: 'write' }, (name: string, ctx) => ctx.artifact(name, 'text'))
  const steps = job({ name: 'steps' }, (name: string, ctx) => ctx.run(write, `${name}, a step`))
  // `a r` is the beginning of the name of a step of `a`; the others could be taken for parts, or are quoted as such names are.
  const names = ['a', 'a r', 'report [eu]', 'a run:write#0', '"quoted"', '"\\q"', '"x[0]"']
  const graph = new Graph()
  for (const name of names) graph.add(name, steps, { input: name })
  graph.add('last', write, { input: 'last', after: names })
  const first = await run(graph, { journal })
  const again = await run(graph, { journal, from: 'last', resume: first.run! })
  const artifacts = await journal.artifacts!.list(again.run!)
  assert.deepEqual(
    artifacts.map(({ name }) => name).toSorted(),
    ['last', ...names.map((name) => `${name}, a step`)].toSorted(),
  )
  const other = await run(graph, { journal, from: 'a r', resume: first.run! })
  assert.ok(other.reused.includes('a'))
  assert.equal((await journal.artifacts!.list(other.run!)).length, names.length + 1)
})
