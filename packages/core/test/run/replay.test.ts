import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replayRun, type RecordedRun, type Replay } from '../../src/run/replay.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

async function replayed(run: RecordedRun): Promise<Replay> {
  const clock = new VirtualClock()
  const replay = await replayRun(run, { clock })
  assert.equal(clock.pending, 0, 'timers are left')
  return replay
}

test('stand-ins end when and as their attempts did; the scheduler decides the starts', async () => {
  const { starts, ends, states } = await replayed({
    concurrency: 2,
    nodes: [
      { name: 'a', attempts: [{ endsAt: 30 }] },
      { name: 'b', attempts: [{ endsAt: 10 }] },
      { name: 'c', attempts: [{ endsAt: 40, error: { name: 'TypeError', message: 'no' } }] },
      { name: 'd', after: ['a'], attempts: [{ endsAt: 35 }] },
      { name: 'e', after: ['c', 'd'] },
    ],
  })
  assert.deepEqual(starts, ['a', 'b', 'c', 'd'])
  assert.deepEqual(ends, ['b', 'a', 'd', 'c'])
  assert.deepEqual(Object.fromEntries(states), {
    a: 'succeeded',
    b: 'succeeded',
    c: 'failed',
    d: 'succeeded',
    e: 'blocked',
  })
})

test('an attempt that failed is tried again after the recorded time, with its slot free in between', async () => {
  const { starts, ends, states } = await replayed({
    concurrency: 1,
    nodes: [
      {
        name: 'flaky',
        attempts: [{ endsAt: 10, error: { message: 'once' }, retryIn: 50 }, { endsAt: 80 }],
      },
      { name: 'other', attempts: [{ endsAt: 40 }] },
      { name: 'last', attempts: [{ endsAt: 90 }] },
    ],
  })
  assert.deepEqual(starts, ['flaky', 'other', 'last', 'flaky'])
  assert.deepEqual(ends, ['flaky', 'other', 'last', 'flaky'])
  assert.equal(states.get('flaky'), 'succeeded')
})

test('pause, resume, cancel and abort are done again', async () => {
  const nodes = [
    { name: 'a', attempts: [{ endsAt: 10 }] },
    { name: 'b', attempts: [{ endsAt: 60 }] },
    { name: 'c' },
  ]
  const paused = await replayed({
    concurrency: 1,
    nodes,
    controls: [
      { at: 5, action: 'pause' },
      { at: 50, action: 'resume' },
      { at: 55, action: 'cancel' },
    ],
  })
  assert.deepEqual(paused.starts, ['a', 'b'])
  assert.deepEqual([...paused.states.values()], ['succeeded', 'succeeded', 'skipped'])
  const aborted = await replayed({
    concurrency: 1,
    nodes,
    controls: [
      { at: 20, action: 'cancel' },
      { at: 30, action: 'abort' },
    ],
  })
  assert.deepEqual([...aborted.states.values()], ['succeeded', 'cancelled', 'skipped'])
})

test('a recording that was cut off ends where it was cut, and leaves nothing behind', async () => {
  const { starts, ends, states } = await replayed({
    concurrency: 2,
    cutAt: 25,
    nodes: [
      { name: 'early', done: true, value: 1 },
      { name: 'a', after: ['early'], attempts: [{ endsAt: 10 }] },
      { name: 'b', attempts: [{}] },
      { name: 'c', after: ['a'], attempts: [{}] },
      { name: 'd', after: ['c'] },
    ],
  })
  assert.deepEqual(starts, ['a', 'b', 'c'])
  assert.deepEqual(ends, ['a'])
  assert.deepEqual(
    [...states.values()],
    ['succeeded', 'succeeded', 'running', 'running', 'waiting'],
  )
})

test('nodes that are added later start when they are added', async () => {
  const { starts, states } = await replayed({
    concurrency: Infinity,
    nodes: [
      { name: 'second', addedAt: 20, attempts: [{ endsAt: 25 }] },
      { name: 'first', addedAt: 10, attempts: [{ endsAt: 40, error: { message: 'no' } }] },
      { name: 'blocked', after: ['first'], addedAt: 41 },
    ],
  })
  assert.deepEqual(starts, ['first', 'second'])
  assert.equal(states.get('blocked'), 'blocked')
})
