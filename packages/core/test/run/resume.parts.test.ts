/** R7: what runs again starts from nothing, at every depth. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Graph, job, run, type Job, type NodeRef } from '@heddle/core'
import type { Journal } from '@heddle/core/lowlevel'
import { cutOff, historyOf, journals } from './kit.ts'

/** Leaves what a crash leaves right after the first row that `isLast`. */
async function crashAfter(
  t: TestContext,
  whole: Journal,
  id: string,
  isLast: (node: string, path: string) => boolean,
): Promise<{ journal: Journal; resume: string }> {
  const history = await historyOf(whole, id)
  const rows = history.findIndex(
    (row) => row.kind === 'part' && row.state === 'succeeded' && isLast(row.node, row.part.path),
  )
  assert.ok(rows >= 0)
  const journal = await journals['memory']!(t)
  return { journal, resume: await cutOff(whole, id, rows + 1, journal) }
}

/** A job that says in which version of the program it ran. */
function says(text: string): Job<unknown, string> {
  return job({ name: 'says' }, () => text)
}

for (const [kind, open] of Object.entries(journals)) {
  test(`R7, ${kind}: steps and sleeps of another version of their job do not stand, also not later`, async (t) => {
    const make = (version: string): Graph => {
      const graph = new Graph()
      const flow = job({ name: 'flow', version }, async (_: void, ctx) => {
        await ctx.sleep(1)
        return [
          await ctx.run(job({ name: 'one' }, () => `one of ${version}`)),
          await ctx.run(job({ name: 'two' }, () => `two of ${version}`)),
        ]
      })
      graph.add('flow', flow)
      return graph
    }
    const whole = await open(t)
    const first = await run(make('1'), { journal: whole })
    const { journal, resume } = await crashAfter(
      t,
      whole,
      first.run!,
      (_, path) => path === 'run:one#0',
    )
    await assert.rejects(run(make('2'), { journal, resume }), { code: 'HDL_GRAPH_CHANGED' })
    const second = await run(make('2'), { journal, resume, allowChanges: true })
    assert.deepEqual(second.valueOf('flow'), ['one of 2', 'two of 2'])
    // Interrupted once more, in the second version: what that has done stands.
    const again = await crashAfter(t, journal, resume, (_, path) => path === 'run:two#0')
    const third = await run(make('2'), again)
    assert.deepEqual(third.valueOf('flow'), ['one of 2', 'two of 2'])
    const rows = await Array.fromAsync(again.journal.parts(again.resume, 'flow'))
    const successes = rows.filter(({ state }) => state === 'succeeded').map(({ value }) => value)
    assert.deepEqual(successes, [undefined, 'one of 1', undefined, 'one of 2', 'two of 2'])
  })
}

test('R7: a clean-up with steps cleans up again after every try', async (t) => {
  const calls: string[] = []
  let isBroken = true
  const make = (): Graph => {
    const work = job({ name: 'work' }, () => {
      if (isBroken) throw new Error('broken')
    })
    const drop = job({ name: 'drop' }, (what: string) => void calls.push(what))
    const steps = (what: string): Job =>
      job({ name: 'steps' }, (_: unknown, ctx) => ctx.run(drop, what))
    const graph = new Graph()
    const worked = graph.add('work', work)
    graph.add('clean', steps('node'), { after: [worked], when: 'always' })
    const cleaning = (): Graph => {
      const inner = new Graph()
      inner.add('steps', steps('sub-graph'))
      inner.map('map', drop, { over: () => ['element'] })
      return inner
    }
    graph.subgraph('cleaning', cleaning, { after: [worked], when: 'always' })
    graph.subgraph('inside', () => {
      const inner = new Graph()
      const innerWork = inner.add('work', work)
      inner.add('clean', steps('inner node'), { after: [innerWork], when: 'always' })
      return inner
    })
    return graph
  }
  const all = ['element', 'inner node', 'node', 'sub-graph']
  const journal = await journals['memory']!(t)
  const first = await run(make(), { journal })
  assert.deepEqual(calls.splice(0).toSorted(), all)
  isBroken = false
  const second = await run(make(), { journal, resume: first.run! })
  assert.equal(second.ok, true)
  assert.deepEqual(calls.toSorted(), all)
})

/** A node `a`, and a sub-graph made from it with a node, a map and a sub-graph of its own. */
function grown(version: string, inner: { version?: string; extra?: boolean } = {}): Graph {
  const graph = new Graph()
  const a = graph.add(
    'a',
    job({ name: 'a', version }, () => version),
  )
  graph.subgraph(
    's',
    (of) => {
      const text = of(a)
      const child = new Graph()
      const own = inner.version === undefined ? {} : { version: inner.version }
      const mark = (element: number): string => `${text}-${inner.version ?? ''}${element}`
      const m = child.map('m', job({ name: 'm', ...own }, mark), { over: () => [1, 2, 3] })
      child.add('x', says(text))
      if (inner.extra === true) child.add('extra', says(text))
      child.subgraph('deep', () => {
        const deepest = new Graph()
        deepest.add('y', says(text))
        return deepest
      })
      const last: NodeRef = child.add(
        'last',
        job({ name: 'last' }, (list: string[]) => list.join(' ')),
        { after: [m], input: (o) => o(m) },
      )
      return { graph: child, result: last }
    },
    { after: [a] },
  )
  return graph
}

test('R7: the nodes of a sub-graph become invalid with the results it was made from, with their elements, at every depth', async (t) => {
  const whole = await journals['memory']!(t)
  const first = await run(grown('v1'), { journal: whole })
  for (const last of ['[0]', '[1]', '[2]']) {
    const crashed = await crashAfter(t, whole, first.run!, (_, path) => path === last)
    const second = await run(grown('v2'), { ...crashed, allowChanges: true })
    assert.equal(second.valueOf('s'), 'v2-1 v2-2 v2-3')
    assert.equal(second.valueOf('s/x'), 'v2')
    assert.equal(second.valueOf('s/deep/y'), 'v2')
  }
})

test('R7: cut off after any row of the second version, nothing of the first one comes back', async (t) => {
  const whole = await journals['memory']!(t)
  const first = await run(grown('v1', { extra: true }), { journal: whole })
  const crashed = await crashAfter(t, whole, first.run!, (node) => node === 's/m')
  const second = await run(grown('v2'), { ...crashed, allowChanges: true })
  assert.equal(second.ok, true)
  const history = await historyOf(crashed.journal, crashed.resume)
  const changed = history.findIndex(
    (row) => row.kind === 'nodes' && row.added.some(({ version }) => version === 'v2'),
  )
  for (let rows = changed + 1; rows < history.length; rows++) {
    const journal = await journals['memory']!(t)
    const resume = await cutOff(crashed.journal, crashed.resume, rows, journal)
    const third = await run(grown('v2'), { journal, resume })
    assert.equal(third.valueOf('s'), 'v2-1 v2-2 v2-3', `cut off after ${rows} rows`)
    const results = new Map(await Array.fromAsync(journal.results(resume)))
    assert.equal(results.get('s/deep/y'), 'v2', `cut off after ${rows} rows`)
    const { nodes } = await journal.snapshot(resume)
    const left = nodes.filter(({ state }) => state !== 'succeeded').map(({ name }) => name)
    assert.deepEqual(left, ['s/extra'])
  }
})

test('R7: elements of a map in a sub-graph fall with the version of their own job', async (t) => {
  const whole = await journals['memory']!(t)
  const first = await run(grown('v1', { version: 'm1' }), { journal: whole })
  const crashed = await crashAfter(t, whole, first.run!, (_, path) => path === '[1]')
  const refused = await run(grown('v1', { version: 'm2' }), crashed)
  assert.equal((refused.failed.get('s') as { code: string }).code, 'HDL_GRAPH_CHANGED')
  const second = await run(grown('v1', { version: 'm2' }), { ...crashed, allowChanges: true })
  assert.equal(second.valueOf('s'), 'v1-m21 v1-m22 v1-m23')
})

test('G8: a step of another version of its job is refused, and runs with another version of the job that makes it', async (t) => {
  const make = (step: string, flow?: string): Graph => {
    const graph = new Graph()
    const inner = job({ name: 'inner', version: step }, () => step)
    const own = flow === undefined ? {} : { version: flow }
    graph.add(
      'flow',
      job({ name: 'flow', ...own }, async (_: void, ctx) => {
        const result = await ctx.run(inner)
        await ctx.run(says('end'))
        return result
      }),
    )
    return graph
  }
  const whole = await journals['memory']!(t)
  const first = await run(make('1'), { journal: whole })
  const crashed = await crashAfter(t, whole, first.run!, (_, path) => path === 'run:inner#0')
  const refused = await run(make('2'), { ...crashed, allowChanges: true })
  const error = refused.failed.get('flow') as { code: string; message: string }
  assert.equal(error.code, 'HDL_STEP_CHANGED')
  assert.match(
    error.message,
    /recorded with version 1 of "inner", and is now called with version 2/,
  )
  const changed = await run(make('2', 'new'), { ...crashed, allowChanges: true })
  assert.equal(changed.valueOf('flow'), '2')
})

test('R7: a map whose result is made in another way is named, and starts from nothing once that is allowed', async (t) => {
  const make = (options: object): { graph: Graph; doubled: NodeRef } => {
    const graph = new Graph()
    const double = job({ name: 'double' }, (n: number) => n * 2)
    const doubled = graph.map('double', double, { over: () => [1, 2], ...options } as never)
    return { graph, doubled }
  }
  const whole = await journals['memory']!(t)
  const first = await run(make({}).graph, { journal: whole })
  const { journal, resume } = await crashAfter(t, whole, first.run!, (_, path) => path === '[0]')
  const counts = make({ collect: false })
  await assert.rejects(run(counts.graph, { journal, resume }), {
    code: 'HDL_GRAPH_CHANGED',
    message: /the option "collect" of the map "double" is false instead of true/,
  })
  const second = await run(make({ collect: false }).graph, { journal, resume, allowChanges: true })
  assert.deepEqual(second.valueOf('double'), { elements: 2, succeeded: 2, failed: 0 })
  const again = await crashAfter(t, whole, first.run!, (_, path) => path === '[0]')
  const third = await run(make({ window: 1, timeout: 60_000 }).graph, again)
  assert.deepEqual(third.valueOf('double'), [2, 4])
})
