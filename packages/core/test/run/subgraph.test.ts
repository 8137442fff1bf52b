import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, startRun, type Job, type NodeRef } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { cutOff, historyOf, journals } from './kit.ts'

const two = job({ name: 'two' }, () => 2)

/** Calls of jobs, and a graph with a sub-graph of as many nodes as its dependency says, and one inside. */
function growing(calls: string[], extra = ''): { graph: Graph; sum: NodeRef<number> } {
  const counted = (name: string, value: number): ReturnType<typeof job<unknown, number>> =>
    job({ name: `${name}${extra}` }, () => {
      calls.push(name)
      return value
    })
  const graph = new Graph()
  const count = graph.add('count', two)
  const sum = graph.subgraph(
    'train',
    (of) => {
      const inner = new Graph()
      const parts = Array.from({ length: of(count) }, (_, index) =>
        inner.add(`part ${index}`, counted(`part ${index}`, index + 1)),
      )
      inner.subgraph('nested', () => {
        const deep = new Graph()
        deep.add('leaf', counted('leaf', 1))
        return deep
      })
      const add = job({ name: 'add' }, (numbers: number[]) => {
        calls.push('sum')
        return numbers.reduce((a, b) => a + b, 0)
      })
      const total = inner.add('sum', add, { after: parts, input: (o) => parts.map((p) => o(p)) })
      return { graph: inner, result: total }
    },
    { after: [count] },
  )
  return { graph, sum }
}

test('G6: nodes of a sub-graph join the run under its name, and its result is the one that is named', async () => {
  const calls: string[] = []
  const { graph, sum } = growing(calls)
  const joined: string[] = []
  const result = await run(graph, {
    observer: (event) => {
      if (event.type === 'nodes') joined.push(...event.added.map(({ name }) => name))
    },
  })
  assert.equal(result.ok, true)
  assert.equal(result.of(sum), 3)
  assert.deepEqual(joined, [
    'train/part 0',
    'train/part 1',
    'train/nested',
    'train/sum',
    'train/nested/leaf',
  ])
  assert.deepEqual(result.succeeded.toSorted(), [...joined, 'count', 'train'].toSorted())
  assert.equal(result.valueOf('train/part 1'), 2)
})

test('a sub-graph without a result is void; an empty one succeeds; a value that is not a graph fails it', async () => {
  const graph = new Graph()
  const empty = graph.subgraph('empty', async () => new Graph())
  graph.subgraph('wrong', () => 7 as never)
  const result = await run(graph)
  assert.equal(result.of(empty), undefined)
  assert.equal((result.failed.get('wrong') as { code: string }).code, 'HDL_BAD_OPTION')
})

test('a failed node fails its sub-graph, which blocks its dependents', async () => {
  const graph = new Graph()
  const train = graph.subgraph('train', () => {
    const inner = new Graph()
    const bad = inner.add(
      'bad',
      job({ name: 'bad' }, () => Promise.reject(new Error('no'))),
    )
    inner.add('behind', two, { after: [bad] })
    return inner
  })
  graph.add('after', two, { after: [train] })
  const result = await run(graph)
  const error = result.failed.get('train') as Error & { code: string }
  assert.equal(error.code, 'HDL_SUBGRAPH_FAILED')
  assert.match(error.message, /"train\/bad" failed \(no\)/)
  assert.equal(result.blocked.get('train/behind'), 'train/bad')
  assert.equal(result.blocked.get('after'), 'train')
})

test('names of a sub-graph must be free, and a graph that has been run takes no more nodes', async () => {
  const graph = new Graph()
  graph.add('train/one', two)
  const inner = new Graph()
  inner.add('one', two)
  graph.subgraph('train', () => inner)
  const result = await run(graph)
  assert.equal((result.failed.get('train') as { code: string }).code, 'HDL_DUPLICATE_NODE')
  assert.throws(() => graph.add('late', two), { code: 'HDL_GRAPH_STARTED' })
  assert.throws(() => inner.add('late', two), { code: 'HDL_GRAPH_STARTED' })
})

test('a suspended sub-graph says how far it has come; cancel skips its nodes and ends it as cancelled', async () => {
  const clock = new VirtualClock()
  const graph = new Graph()
  const slow = job(
    { name: 'slow' },
    () => new Promise((done) => void clock.setTimer(10, () => done(1))),
  )
  graph.subgraph('train', () => {
    const inner = new Graph()
    const first = inner.add('first', slow)
    inner.add('second', slow, { after: [first] })
    return inner
  })
  const started = await startRun(graph, { kernel: { ...systemKernel, clock } })
  await clock.advance(5)
  const { state, text } = started.scheduler.explain('train')
  assert.equal(state, 'suspended')
  assert.equal(text, '0 of 2 nodes of the sub-graph have ended')
  started.scheduler.cancel()
  const result = await clock.runUntil(started.result)
  assert.deepEqual(result.succeeded, ['train/first'])
  assert.deepEqual(result.skipped, ['train/second'])
  assert.deepEqual(result.cancelled, ['train'])
  assert.equal(clock.pending, 0)
})

test('a value that is not a graph is refused with the node that built it', async () => {
  const graph = new Graph()
  const odd: unknown[] = [undefined, 7, { nodes() {} }, { graph: { nodes() {} } }]
  for (const [index, built] of odd.entries()) graph.subgraph(`s${index}`, () => built as Graph)
  const { failed } = await run(graph)
  assert.equal(failed.size, odd.length)
  for (const [name, error] of failed) {
    assert.ok(String(error).includes(`"build of ${name}"`), String(error))
  }
  await assert.rejects(run({ nodes() {} } as unknown as Graph), { code: 'HDL_BAD_OPTION' })
})

/** Sub-graphs inside one another, with a job in the innermost that runs until it is aborted. */
function nested(levels: number, onLeaf: () => void): Graph {
  const graph = new Graph()
  const wait = (_: unknown, { signal }: { signal: AbortSignal }): Promise<void> => {
    onLeaf()
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  }
  if (levels > 0) graph.subgraph('s', () => nested(levels - 1, onLeaf))
  else graph.add('leaf', job({ name: 'leaf' }, wait))
  return graph
}

test('900 sub-graphs inside one another are aborted without a deep stack', async () => {
  const clock = new VirtualClock()
  const levels = 900
  const atLeaf = Promise.withResolvers<void>()
  const kernel = { ...systemKernel, clock }
  const started = await startRun(nested(levels, atLeaf.resolve), { kernel })
  await clock.runUntil(atLeaf.promise)
  started.scheduler.cancel({ abort: true })
  const result = await clock.runUntil(started.result)
  assert.equal(result.cancelled.length, levels + 1)
})

test('a sub-graph that is stopped takes all nodes inside it out of the run', async () => {
  const clock = new VirtualClock()
  const graph = new Graph()
  const atLeaf = Promise.withResolvers<void>()
  graph.subgraph('out', () => nested(2, atLeaf.resolve))
  const started = await startRun(graph, { kernel: { ...systemKernel, clock } })
  await clock.runUntil(atLeaf.promise)
  started.scheduler.remove('out')
  const result = await clock.runUntil(started.result)
  assert.deepEqual(result.cancelled.toSorted(), ['out', 'out/s', 'out/s/s', 'out/s/s/leaf'])
  assert.equal(clock.pending, 0)
})

test('a builder that returns the graph it is inside of is refused at once, also through another builder', async () => {
  const own = new Graph()
  let builds = 0
  own.subgraph('s', () => (builds++, own))
  const { failed } = await run(own, { retries: 2 })
  assert.equal(failed.size, 1)
  assert.equal(builds, 1)
  const error = failed.get('s') as Error & { code: string }
  assert.equal(error.code, 'HDL_GRAPH_INSIDE_ITSELF')
  assert.match(error.message, /"s" returned a graph that it is inside of: the graph of the run\.$/)

  const [top, middle, inmost] = [new Graph(), new Graph(), new Graph()]
  top.subgraph('a', () => middle)
  middle.subgraph('b', () => inmost)
  inmost.subgraph('c', () => ({ graph: middle, result: { name: 'b' } }))
  const inner = (await run(top)).failed
  assert.deepEqual([...inner.keys()].toSorted(), ['a', 'a/b', 'a/b/c'])
  const cycle = inner.get('a/b/c') as Error & { code: string }
  assert.equal(cycle.code, 'HDL_GRAPH_INSIDE_ITSELF')
  assert.match(cycle.message, /"a\/b\/c" returned .*: that of the sub-graph "a"\.$/)
})

test('one graph may be built by two sub-graphs side by side', async () => {
  const shared = new Graph()
  shared.add('one', two)
  const graph = new Graph()
  graph.subgraph('left', () => shared)
  graph.subgraph('right', () => shared)
  const { ok, succeeded } = await run(graph)
  assert.equal(ok, true)
  assert.deepEqual(succeeded.toSorted(), ['left', 'left/one', 'right', 'right/one'])
})

test('a builder that never ends is refused at 1,000 levels', async () => {
  const endless = (): Graph => {
    const graph = new Graph()
    graph.subgraph('s', endless)
    return graph
  }
  const { failed } = await run(endless())
  assert.equal(failed.size, 1_001)
  assert.ok(String(failed.get('s')).length < 1_000)
  assert.match(String(failed.get('s/'.repeat(1_000) + 's')), /at most 1000 sub-graphs inside/)
})

test('a name that exists in the run fails the sub-graph and leaves the journal unchanged', async (t) => {
  const journal = await journals['memory']!(t)
  let inner = 'a'
  const calls: string[] = []
  const make = (): Graph => {
    const graph = new Graph()
    graph.add(
      's/a',
      job({ name: 'top' }, () => void calls.push('top')),
    )
    graph.subgraph('s', () => {
      const built = new Graph()
      built.add(
        inner,
        job({ name: 'inner' }, () => void calls.push('inner')),
      )
      return built
    })
    return graph
  }
  const first = await run(make(), { journal })
  assert.match(String(first.failed.get('s')), /"s\/a"/)
  inner = 'b'
  const second = await run(make(), { journal, resume: first.run! })
  assert.equal(second.ok, true)
  assert.deepEqual(calls, ['top', 'inner'])
})

for (const [name, open] of Object.entries(journals)) {
  test(`G3, ${name}: cut off after any row, nodes of sub-graphs that succeeded are not run again`, async (t) => {
    const calls: string[] = []
    const whole = await open(t)
    const { run: id } = await run(growing(calls).graph, { journal: whole, concurrency: 1 })
    const rows = (await historyOf(whole, id!)).length
    for (let cut = 2; cut < rows; cut++) {
      const crashed = await open(t)
      const again = await cutOff(whole, id!, cut, crashed)
      const before = await crashed.snapshot(again)
      const done = before.nodes.filter(
        ({ state, job: { length } }) => state === 'succeeded' && length > 0,
      )
      calls.length = 0
      const { graph, sum } = growing(calls)
      const result = await run(graph, { journal: crashed, resume: again, concurrency: 1 })
      assert.equal(result.ok, true)
      assert.equal(result.of(sum), 3)
      const repeated = done.filter(({ name: node }) => calls.includes(node.replace(/^.*\//, '')))
      assert.deepEqual(repeated, [], `cut ${cut}`)
      const { nodes } = await crashed.snapshot(again)
      assert.ok(nodes.every(({ state }) => state === 'succeeded'))
      const parents = nodes.map(({ name: node, parent }) => [node, parent])
      assert.deepEqual(
        parents.find(([node]) => node === 'train/nested/leaf'),
        ['train/nested/leaf', 'train/nested'],
      )
    }
  })
}

test('nodes of a sub-graph are compared when its builder has run again', async (t) => {
  const whole = await journals['memory']!(t)
  const { run: id } = await run(growing([]).graph, { journal: whole, concurrency: 1 })
  const history = await historyOf(whole, id!)
  const cut = history.findIndex((row) => row.kind === 'node' && row.node === 'train/part 1')
  const crashed = await journals['memory']!(t)
  const again = await cutOff(whole, id!, cut, crashed)
  const refused = await run(growing([], '!').graph, { journal: crashed, resume: again })
  const error = refused.failed.get('train') as Error & { code: string }
  assert.equal(error.code, 'HDL_GRAPH_CHANGED')
  assert.match(error.message, /"train\/part 0" runs part 0! instead of part 0/)
  const allowed = await run(growing([], '!').graph, {
    journal: crashed,
    resume: again,
    allowChanges: true,
  })
  assert.equal(allowed.ok, true)
})

for (const [kind, open] of Object.entries(journals)) {
  test(`G7, ${kind}: nodes of a nested sub-graph that has ended are in the result of a resumed run`, async (t) => {
    const calls: string[] = []
    const make = (): Graph => {
      const call = (name: string): Job<void, string> =>
        job({ name }, () => {
          calls.push(name)
          return `${name} value`
        })
      const graph = new Graph()
      graph.subgraph('s', () => {
        const outer = new Graph()
        const deep = outer.subgraph('deep', () => {
          const inner = new Graph()
          const x = inner.add('x', call('x'))
          inner.subgraph('deeper', () => new Graph())
          inner.add('y', call('y'), { after: [x] })
          return inner
        })
        outer.add('last', call('last'), { after: [deep] })
        return outer
      })
      return graph
    }
    const whole = await open(t)
    const first = await run(make(), { journal: whole })
    const history = await historyOf(whole, first.run!)
    const rows = history.findIndex(
      (row) => row.kind === 'node' && row.node === 's/deep' && row.state === 'succeeded',
    )
    const journal = await open(t)
    const resume = await cutOff(whole, first.run!, rows + 1, journal)
    calls.length = 0
    const joined: string[] = []
    const second = await run(make(), {
      journal,
      resume,
      observer: (event) => {
        if (event.type === 'nodes') joined.push(...event.added.map(({ name }) => name))
      },
    })
    assert.deepEqual(calls, ['last'])
    assert.equal(second.valueOf('s/deep/y'), 'y value')
    assert.equal(second.stateOf('s/deep/deeper'), 'succeeded')
    const ended = [...second.succeeded, ...second.reused]
    assert.deepEqual(ended.toSorted(), first.succeeded.toSorted())
    const grown = ['s/deep', 's/deep/deeper', 's/deep/x', 's/deep/y', 's/last']
    assert.deepEqual(joined.toSorted(), grown)
  })
}

test('a sub-graph reports how many of its nodes have ended, from the start', async () => {
  const graph = new Graph()
  graph.subgraph('train', () => {
    const inner = new Graph()
    for (const name of ['a', 'b']) {
      inner.add(
        name,
        job({ name }, () => 1),
      )
    }
    return inner
  })
  const said: (string | undefined)[] = []
  await run(graph, { observer: (event) => event.type === 'progress' && said.push(event.text) })
  assert.deepEqual(said, ['0 of 2', '1 of 2', '2 of 2'])
})
