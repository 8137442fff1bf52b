import assert from 'node:assert/strict'
import test from 'node:test'
import type { NodeState, RunEvent } from '@heddle/core'
import { Graph, Scheduler, job as defineJob } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import fc from 'fast-check'
import { RunModel, type ListedState } from '../../src/model/run-model.ts'
import { graphOf } from '../support/graphs.ts'

const node = (name: string, state: NodeState, more: object = {}): RunEvent => ({
  type: 'node',
  at: 0,
  name,
  state,
  attempt: 0,
  ...more,
})

const states: NodeState[] = [
  'waiting',
  'ready',
  'running',
  'retrying',
  'suspended',
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
]

const listed: NodeState[] = ['running', 'suspended', 'retrying', 'failed', 'blocked', 'cancelled']

function check(model: RunModel): void {
  const sum = states.reduce((total, state) => total + model.counts[state], 0)
  assert.equal(sum, model.total, 'M1')
  for (const state of states) {
    const rows = model.rows.filter((row) => row.state === state)
    assert.equal(model.counts[state], rows.length, `M1 ${state}`)
    if (listed.includes(state)) {
      assert.deepEqual(new Set(model.in(state as ListedState)), new Set(rows), `M2 ${state}`)
    }
  }
  const jobs = new Set(model.rows.map(({ job }) => job))
  for (const job of jobs) {
    const rows = model.rows.filter((row) => row.job === job)
    assert.equal(job.total, rows.length, 'M3')
    for (const state of states) {
      assert.equal(job.counts[state], rows.filter((row) => row.state === state).length, 'M3')
    }
    assert.deepEqual(job.running, new Set(rows.filter(({ state }) => state === 'running')), 'M3')
    assert.equal(model.runningJobs.has(job), job.running.size > 0, 'M3')
  }
}

test('M1, M2: counts and lists agree with the scheduler after every event of real runs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat(20), { maxLength: 3 }), { minLength: 1, maxLength: 12 }),
      fc.nat(),
      fc.integer({ min: 1, max: 4 }),
      async (edges, seed, concurrency) => {
        const names = edges.map((_, i) => `n${i}`)
        const after = edges.map((list, i) =>
          [...new Set(list.filter((k) => k < i))].map((k) => `n${k}`),
        )
        const graph = graphOf(...names.map((name, i) => [name, ...after[i]!].join(':')))
        const model = new RunModel(graph, { title: 'test', retries: 1 })
        const clock = new VirtualClock()
        const random = seededRandom(seed)
        const s = new Scheduler({
          concurrency,
          retries: 1,
          kernel: { clock, random },
          observer: (event) => {
            model.apply(event)
            check(model)
          },
        })
        for (const [i, name] of names.entries()) s.add(name, { after: after[i]! })
        const result = await clock.runUntil(
          s.run(async () => {
            await new Promise<void>((done) => void clock.setTimer(random.next() * 50, done))
            if (random.next() < 0.3) throw new Error('no')
            if (random.next() < 0.05) s.cancel()
          }),
        )
        assert.equal(model.ended, model.total)
        assert.equal(model.counts.succeeded, result.succeeded.length)
        assert.equal(model.counts.failed, result.failed.size)
        assert.equal(model.counts.blocked, result.blocked.size)
        assert.equal(model.state, result.state)
      },
    ),
    { numRuns: 100 },
  )
})

test('a node that succeeds before the run starts was finished by an earlier run', () => {
  const model = new RunModel(graphOf('a', 'b'), { title: 't', retries: 0 })
  model.apply(node('a', 'succeeded'))
  assert.equal(model.get('a')!.reused, true)
  assert.equal(model.recent.size, 0)
  model.apply(node('b', 'running'))
  model.apply(node('b', 'succeeded'))
  assert.deepEqual(
    [...model.recent].map(({ name }) => name),
    ['b'],
  )
})

test('a failure knows how many nodes it blocks; a retry when it is due', () => {
  const model = new RunModel(graphOf('a', 'b:a', 'c:b'), { title: 't', retries: 2 })
  model.apply(node('a', 'running', { at: 5 }))
  model.apply(node('a', 'retrying', { at: 10, attempt: 1, delay: 90, error: new Error('first') }))
  assert.equal(model.get('a')!.retryAt, 100)
  model.apply(node('a', 'ready', { at: 100, attempt: 1 }))
  model.apply(node('a', 'running', { at: 100, attempt: 1 }))
  assert.equal(model.get('a')!.startedAt, 5)
  model.apply(node('a', 'failed', { at: 110, attempt: 1, error: new TypeError('two\nlines') }))
  model.apply(node('b', 'blocked', { blockedBy: 'a' }))
  model.apply(node('c', 'blocked', { blockedBy: 'a' }))
  assert.equal(model.get('a')!.blocks, 2)
  assert.equal(model.get('a')!.problem, 'TypeError: two lines')
  assert.equal(model.get('c')!.blockedBy, 'a')
  assert.deepEqual(
    [...model.trouble].map(({ name }) => name),
    ['a'],
  )
})

/** Like graphOf(), with a separate job for each node. */
function graphOfJobs(...nodes: readonly string[]): Graph {
  const graph = new Graph()
  for (const text of nodes) {
    const [name = '', dependency] = text.split(':')
    const own = defineJob({ name }, () => undefined)
    graph.add(name, own, { after: dependency === undefined ? [] : [dependency] })
  }
  return graph
}

test('upcoming: ready and waiting nodes share the places, in order', () => {
  const model = new RunModel(graphOfJobs('a', 'b', 'c', 'd', 'e:a', 'f:a', 'g:a'), {
    title: 't',
    retries: 0,
  })
  const names = (limit: number): string[] => model.upcoming(limit).map(({ name }) => name)
  assert.deepEqual(names(3), ['a', 'b', 'c'])
  for (const name of ['a', 'b', 'c', 'd']) model.apply(node(name, 'ready'))
  assert.deepEqual(names(4), ['a', 'b', 'e', 'f'])
  model.apply(node('a', 'running'))
  model.apply(node('b', 'running'))
  model.apply(node('c', 'running'))
  assert.deepEqual(names(4), ['d', 'e', 'f', 'g'])
  model.apply(node('e', 'skipped'))
  assert.deepEqual(names(2), ['d', 'f'])
})

test('names, titles and messages become printable', () => {
  const model = new RunModel(graphOf('a\u001b[2J'), { title: 't\u0007', retries: 0 })
  assert.equal(model.title, 't␇')
  assert.equal(model.rows[0]!.name, 'a')
  assert.equal(model.rows[0]!.key, 'a\u001b[2J')
  model.apply({ type: 'log', at: 0, name: 'a\u001b[2J', attempt: 0, text: 'x\u001b[H\ny' })
  assert.deepEqual([...model.log], [{ at: 0, name: 'a', lines: ['x', 'y'] }])
})

test('M4: looking back is bounded', () => {
  const names = Array.from({ length: 100 }, (_, i) => `n${i}`)
  const model = new RunModel(graphOf(...names), { title: 't', retries: 0 })
  for (const [i, name] of names.entries()) {
    model.apply(node(name, 'running'))
    model.apply(node(name, i % 2 === 0 ? 'succeeded' : 'failed'))
    for (let k = 0; k < 5; k++) model.apply({ type: 'log', at: 0, name, attempt: 0, text: 'x' })
  }
  assert.deepEqual([model.recent.size, model.trouble.size, model.log.size], [30, 30, 200])
})

test('an event of a node that is not in the graph changes nothing', () => {
  const model = new RunModel(graphOf('a'), { title: 't', retries: 0 })
  model.apply(node('ghost', 'failed'))
  check(model)
})

test('the progress of an attempt is kept until the next attempt', () => {
  const model = new RunModel(graphOf('a'), { title: 'test', retries: 1 })
  model.apply(node('a', 'running'))
  model.apply({ type: 'progress', at: 0, name: 'a', attempt: 0, fraction: 0.4, text: 'page 4' })
  assert.equal(model.get('a')!.progress, '40 %: page 4')
  model.apply(node('a', 'suspended'))
  assert.equal(model.get('a')!.progress, '40 %: page 4')
  model.apply(node('a', 'retrying', { attempt: 1, delay: 5 }))
  assert.equal(model.get('a')!.progress, undefined)
})

test('M1 to M3: nodes of a sub-graph join the model, by the names of their jobs', () => {
  const model = new RunModel(graphOf('train'), { title: 't', retries: 0 })
  model.apply(node('train', 'ready'))
  model.apply(node('train', 'running'))
  model.apply(node('train', 'suspended'))
  const joined = { job: 'fit', place: 'thread', after: [] } as const
  model.apply({
    type: 'nodes',
    at: 0,
    name: 'train',
    added: [
      { ...joined, name: 'train/one' },
      { ...joined, name: 'train/two' },
    ],
  })
  check(model)
  assert.equal(model.total, 3)
  assert.deepEqual(
    model.upcoming(5).map(({ name }) => name),
    ['train/one', 'train/two'],
  )
  assert.equal(model.get('train/one')!.job, model.get('train/two')!.job)
  model.apply(node('train/one', 'ready'))
  model.apply(node('train/one', 'running'))
  model.apply({ type: 'part', at: 0, name: 'train/one', path: '[0]', state: 'running', attempt: 0 })
  check(model)
})

test('upcoming: many ready nodes of one job are one entry, and do not hide others', () => {
  const graph = graphOfJobs('approve', 'compute')
  const parse = defineJob({ name: 'parse' }, () => undefined)
  for (let i = 0; i < 40; i++) graph.add(`parse ${i}`, parse)
  const model = new RunModel(graph, { title: 't', retries: 0 })
  for (let i = 0; i < 40; i++) model.apply(node(`parse ${i}`, 'ready'))
  for (const name of ['approve', 'compute']) model.apply(node(name, 'ready'))
  const names = (): string[] => model.upcoming(4).map(({ name }) => name)
  assert.deepEqual(names(), ['parse 0', 'approve', 'compute'])
  model.apply(node('parse 0', 'running'))
  model.apply(node('compute', 'running'))
  assert.deepEqual(names(), ['parse 1', 'approve'])
})

const part = (name: string, path: string, state: NodeState): RunEvent => ({
  type: 'part',
  at: 0,
  name,
  path,
  state,
  attempt: 0,
})

test('M5: a map whose elements run is shown as running, and as suspended when all of them wait', () => {
  const model = new RunModel(graphOf('m', 'other'), { title: 't', retries: 0 })
  const stateNow = (): NodeState => {
    check(model)
    return model.get('m')!.state
  }
  for (const state of ['ready', 'running', 'suspended'] as const) model.apply(node('m', state))
  assert.equal(stateNow(), 'suspended')
  model.apply(part('m', '[0]', 'ready'))
  assert.equal(stateNow(), 'suspended')
  model.apply(part('m', '[0]', 'running'))
  assert.equal(stateNow(), 'running')
  model.apply(part('m', '[1]', 'ready'))
  model.apply(part('m', '[0]', 'succeeded'))
  assert.equal(stateNow(), 'running', 'the next element is ready')
  model.apply(part('m', '[1]', 'running'))
  model.apply(part('m', '[1]', 'suspended'))
  assert.equal(stateNow(), 'suspended')
  assert.deepEqual(model.get('m')!.activity, { running: 0, waiting: 0, suspended: 1 })
  model.apply(part('m', '[1]', 'running'))
  model.apply(part('m', '[1]', 'failed'))
  model.apply(node('m', 'running'))
  model.apply(node('m', 'succeeded'))
  assert.equal(stateNow(), 'succeeded')
  assert.equal(model.get('m')!.parts!.size, 0)
})

test('M5: a sub-graph is shown as running while one of its nodes runs', () => {
  const model = new RunModel(graphOf('train'), { title: 't', retries: 0 })
  for (const state of ['ready', 'running', 'suspended'] as const) model.apply(node('train', state))
  const added = ['train/one'].map((name) => ({
    name,
    job: 'fold',
    place: 'loop' as const,
    after: [],
  }))
  model.apply({ type: 'nodes', at: 0, name: 'train', added })
  model.apply(node('train/one', 'ready'))
  assert.equal(model.get('train')!.state, 'suspended')
  model.apply(node('train/one', 'running'))
  assert.equal(model.get('train')!.state, 'running')
  model.apply(node('train/one', 'suspended'))
  assert.equal(model.get('train')!.state, 'suspended')
  check(model)
})
