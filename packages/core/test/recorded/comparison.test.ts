import { build, node, told, zero, type Row, type Story } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareRuns, isRegression, type Comparison } from '../../src/recorded/comparison.ts'
import { readRecord, type RunRecord } from '../../src/recorded/run-record.ts'

async function recordOf(story: Story): Promise<RunRecord> {
  await using journal = await told(story)
  return await readRecord(journal, '20261115-224501-k3f9q2', { now: zero })
}

async function compared(before: Story, now: Story): Promise<Comparison> {
  return compareRuns(await recordOf(before), await recordOf(now))
}

/** Nodes that run one after the other or side by side: name, start, end, after. */
type Plan = readonly (readonly [name: string, from: number, to: number, ...after: string[]])[]

function ran(plan: Plan, more: Partial<Story> = {}): Story {
  const rows = plan.flatMap(([name, from, to]): Row[] => [
    [from, name, 'ready'],
    [from, name, 'running'],
    [to, name, 'succeeded'],
  ])
  const last = Math.max(...plan.map(([, , to]) => to))
  return {
    nodes: plan.map(([name, , , ...after]) => node(name, ...after)),
    rows: [...rows.sort((a, b) => a[0] - b[0]), [last, 'finished']],
    ...more,
  }
}

test('a change is ranked by its effect on the total, not by its size', async () => {
  const before = ran([
    ['a', 0, 100],
    ['long', 100, 900, 'a'],
    ['hidden', 100, 300, 'a'],
    ['end', 900, 1_000, 'long', 'hidden'],
  ])
  const now = ran([
    ['a', 0, 150],
    ['long', 150, 940, 'a'],
    ['hidden', 150, 750, 'a'],
    ['end', 940, 1_000, 'long', 'hidden'],
  ])
  const { nodes, total, criticalPath, same } = await compared(before, now)
  assert.deepEqual(
    nodes.map(({ node: name, change, effect }) => [name, change, effect]),
    [
      ['a', 50, 50],
      ['end', -40, -40],
      ['hidden', 400, 0],
    ],
  )
  assert.equal(same, 1, '10 ms of 800 are noise')
  assert.equal(total.change, 0)
  assert.equal(criticalPath.before, 1_000)
})

test('where slots are the limit, a change counts although it is on no critical path', async () => {
  const before = ran(
    [
      ['a', 0, 100],
      ['b', 100, 200],
      ['c', 200, 300],
      ['long', 0, 150],
    ],
    { options: { concurrency: 1 } },
  )
  const now = ran(
    [
      ['a', 0, 200],
      ['b', 200, 300],
      ['c', 300, 400],
      ['long', 0, 150],
    ],
    { options: { concurrency: 1 } },
  )
  const { nodes } = await compared(before, now)
  assert.deepEqual(nodes, [
    { node: 'a', before: 100, now: 200, change: 100, percent: 100, effect: 100 },
  ])
})

test('a job of another outcome has no duration to compare', async () => {
  const good = ran([
    ['a', 0, 100],
    ['b', 100, 200, 'a'],
  ])
  const bad: Story = {
    nodes: [node('a'), node('b', 'a')],
    rows: [
      [0, 'a', 'ready'],
      [0, 'a', 'running'],
      [900, 'a', 'failed', { error: 'no' }],
      [900, 'b', 'blocked', { blockedBy: 'a' }],
      [900, 'finished'],
    ],
  }
  const { nodes, outcomes } = await compared(good, bad)
  assert.deepEqual(nodes, [])
  assert.deepEqual(outcomes, [
    { node: 'a', before: 'succeeded', now: 'failed', durations: [100, 900] },
    { node: 'b', before: 'succeeded', now: 'blocked', durations: [100, null] },
  ])
})

test('nodes, edges and limits that are not the same', async () => {
  const before = ran([
    ['a', 0, 10],
    ['b', 10, 20, 'a'],
    ['old', 0, 20],
  ])
  const now = ran(
    [
      ['a', 0, 10],
      ['b', 0, 20],
      ['new', 0, 20],
    ],
    { options: { concurrency: 9, timeout: 5 } },
  )
  const { graph, limits } = await compared(before, now)
  assert.deepEqual(graph, [
    { kind: 'dependencies', node: 'b', gained: [], lost: ['a'] },
    { kind: 'added', node: 'new' },
    { kind: 'removed', node: 'old' },
  ])
  assert.deepEqual(limits, [
    { limit: 'concurrency', before: 2, now: 9 },
    { limit: 'retries', before: 1, now: undefined },
    { limit: 'timeout', before: undefined, now: 5 },
  ])
})

test('a regression is a longer total, or a run that did not succeed as the first did', async () => {
  const fast = ran([['a', 0, 100]])
  const slow = ran([['a', 0, 120]])
  assert.equal(isRegression(await compared(fast, slow), 10), true)
  assert.equal(isRegression(await compared(fast, slow), 20), false)
  assert.equal(isRegression(await compared(slow, fast), 0), false)
  assert.equal(isRegression(await compared(fast, fast), 0), false)
  assert.equal(isRegression(await compared(fast, build), 1e9), true)
  assert.equal(isRegression(await compared(build, build), 0), false)
})

test('with very many changes only the large ones are simulated', async () => {
  const many = (ms: number): Story =>
    ran(Array.from({ length: 300 }, (_, i) => [`n${i}`, 0, ms * (i + 1)] as const))
  const { nodes } = await compared(many(20), many(40))
  assert.equal(nodes.length, 300)
  assert.equal(nodes.filter(({ effect }) => effect === null).length, 100)
})
