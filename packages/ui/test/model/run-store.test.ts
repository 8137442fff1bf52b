import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunChange } from '../../src/api/contract.ts'
import { RunStore } from '../../src/model/run-store.ts'
import { makeRun } from '../stand-in/made-run.ts'

const made = makeRun({ id: 'r', title: 't', items: 3, startedAt: 1_000 })

function loaded(): RunStore {
  const store = new RunStore('r')
  store.setHead({ ...made.head, outcome: 'running', ended_at: null, position: 5 })
  store.addNodes(made.nodes)
  store.addEdges(made.edges)
  store.addBars(made.timeline)
  return store
}

const change = (position: number, more: Partial<RunChange>): RunChange => ({
  position,
  at: 2_000,
  counts: { succeeded: 14 },
  added: [],
  nodes: [],
  log: [],
  progress: [],
  ...more,
})

test('R1 nodes that are announced later come behind, with their edges and their parent', () => {
  const store = loaded()
  const before = store.nodes.count
  const train = { name: 'train', job: 'train', place: 'thread', after: ['merge'] } as const
  const one = { name: 'train/one', job: 'step', place: 'loop', after: ['train'] } as const
  store.apply(
    change(6, {
      added: [
        { ...train, after: ['merge'] },
        { ...one, after: ['train'] },
      ],
    }),
  )
  assert.equal(store.nodes.indexOf.get('fetch 001'), 0)
  assert.equal(store.nodes.indexOf.get('train'), before)
  assert.equal(store.nodes.parent[before + 1], before)
  const { edges } = store
  assert.equal(edges.count, before + 2)
  assert.equal(edges.after[edges.offsets[before]!], store.nodes.indexOf.get('merge'))
  assert.equal(edges.after[edges.offsets[before + 1]!], before)
})

test('R2 a change that is known already changes nothing', () => {
  const store = loaded()
  assert.equal(store.apply(change(6, { nodes: [['merge', 5, 0, 1_500, 'no']] })), true)
  const version = store.version.peek()
  assert.equal(store.apply(change(6, { nodes: [['merge', 2, 0, 1_500, null]] })), false)
  assert.equal(store.nodes.stateOf(store.nodes.indexOf.get('merge')!), 'failed')
  assert.equal(store.version.peek(), version)
})

test('R2 another outcome without a new row is taken in, and an older change is not', () => {
  const store = loaded()
  store.apply(change(6, { nodes: [['merge', 2, 0, 1_500, null]] }))
  // The server saw the pause before its row: the row comes with the next change, which does not name the outcome again.
  assert.equal(store.apply(change(6, { outcome: 'paused' })), false)
  assert.equal(store.head.peek()?.outcome, 'paused')
  store.apply(change(7, {}))
  assert.equal(store.head.peek()?.outcome, 'paused')
  store.apply(change(5, { outcome: 'running' }))
  assert.equal(store.head.peek()?.outcome, 'paused')
})

test('R3 counts and outcome match the last change, and a run that ended has an end', () => {
  const store = loaded()
  store.apply(change(7, { counts: { succeeded: 13, failed: 1 }, outcome: 'failed' }))
  const head = store.head.peek()!
  assert.deepEqual(
    [head.counts, head.outcome, head.ended_at],
    [{ succeeded: 13, failed: 1 }, 'failed', 2_000],
  )
  assert.equal(store.isLive, false)
})

test('R4 only attempts that have not ended are read again', () => {
  const store = loaded()
  assert.equal(store.bars.firstOpen(), store.bars.count)
  store.addBars({ ...made.timeline, outcome: made.timeline.outcome.with(4, 0) })
  assert.equal(store.bars.firstOpen(), 4)
  const tail = { ...made.timeline, from: 4 }
  for (const key of ['node', 'attempt', 'lane', 'queued', 'started', 'ended', 'outcome'] as const) {
    tail[key] = made.timeline[key].slice(4)
  }
  store.addBars(tail)
  assert.equal(store.bars.firstOpen(), store.bars.count)
  assert.equal(store.bars.count, made.timeline.total)
})

test('edges of several pages are put together', () => {
  const store = new RunStore('r')
  store.addEdges({ position: 1, total: 4, from: 0, next: 2, offsets: [0, 0, 1], after: [0] })
  store.addEdges({
    position: 1,
    total: 4,
    from: 2,
    next: null,
    offsets: [0, 1, 3],
    after: [1, 0, 2],
  })
  assert.deepEqual([...store.edges.offsets], [0, 0, 1, 2, 4])
  assert.deepEqual([...store.edges.after], [0, 1, 0, 2])
})
