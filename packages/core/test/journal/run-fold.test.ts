import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CountFold, RunFold } from '../../src/journal/run-fold.ts'
import { storedNodeStates } from '../../src/journal/states.ts'

const moves = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'),
    state: fc.constantFrom(...storedNodeStates),
  }),
)

test('counts are by the last state of each node', () => {
  fc.assert(
    fc.property(moves, (steps) => {
      const counted = new CountFold()
      const run = new RunFold()
      const last = new Map<string, string>()
      for (const [position, { name, state }] of steps.entries()) {
        counted.add(name, state)
        run.add({ kind: 'node', position, node: name, state, attempt: 0, at: 0 }, false)
        last.set(name, state)
      }
      const expected: Record<string, number> = {}
      for (const state of last.values()) expected[state] = (expected[state] ?? 0) + 1
      assert.deepEqual(counted.counts(), expected)
      assert.deepEqual(run.counts(), expected)
    }),
  )
})

test('announcing a node again changes its header, not how it stands', () => {
  const fold = new RunFold()
  const header = { name: 'a', job: 'old', place: 'loop', after: [] } as const
  fold.add({ kind: 'nodes', position: 1, at: 0, added: [header] }, false)
  fold.add({ kind: 'node', position: 2, node: 'a', state: 'failed', attempt: 1, at: 5 }, false)
  fold.add({ kind: 'nodes', position: 3, at: 0, added: [{ ...header, job: 'new' }] }, false)
  const [node] = fold.nodes()
  assert.equal(node?.job, 'new')
  assert.equal(node.state, 'failed')
  const counted = new CountFold()
  counted.add('a', 'failed')
  counted.addNodes([header])
  assert.deepEqual(counted.counts(), { failed: 1 })
})

test('a node that starts again is not ended, and is blocked no more', () => {
  const fold = new RunFold()
  const row = { kind: 'node', node: 'a', attempt: 0 } as const
  fold.add({ ...row, position: 1, state: 'blocked', at: 5, blockedBy: 'b' }, false)
  assert.deepEqual([fold.nodes()[0]?.endedAt, fold.nodes()[0]?.blockedBy], [5, 'b'])
  fold.add({ ...row, position: 2, state: 'ready', at: 6 }, false)
  const [node] = fold.nodes()
  assert.deepEqual([node?.endedAt, node?.blockedBy, node?.readyAt], [undefined, undefined, 6])
})

test('the wait of a suspended node is known until it is over, or the node has ended', () => {
  const fold = new RunFold()
  let position = 0
  const part = (state: 'suspended' | 'succeeded', path: string, until?: number): void => {
    const detail = { path, ...(until !== undefined && { until }) }
    const row = { node: 'a', state, attempt: 0, at: 0, part: detail } as const
    fold.add({ kind: 'part', position: ++position, ...row }, false)
  }
  fold.add({ kind: 'node', position, node: 'a', state: 'suspended', attempt: 0, at: 0 }, false)
  part('suspended', 'wait:legal%20%2F%20ok#0', 90)
  part('suspended', '[3]/sleep#1', 70)
  part('suspended', 'run:pay#0')
  // It has lost a race: its second row is not another wait.
  part('suspended', 'wait:legal%20%2F%20ok#0', 90)
  assert.deepEqual(fold.nodes()[0]?.waits, [
    { path: 'wait:legal%20%2F%20ok#0', signal: 'legal / ok', until: 90 },
    { path: '[3]/sleep#1', until: 70 },
  ])
  part('succeeded', 'wait:legal%20%2F%20ok#0')
  assert.deepEqual(fold.nodes()[0]?.waits, [{ path: '[3]/sleep#1', until: 70 }])
  fold.add({ kind: 'node', position, node: 'a', state: 'failed', attempt: 0, at: 0 }, false)
  assert.equal(fold.nodes()[0]?.waits, undefined)
})

test('the first hundred waits of a node are remembered', () => {
  const fold = new RunFold()
  fold.add({ kind: 'node', position: 1, node: 'a', state: 'suspended', attempt: 0, at: 0 }, false)
  for (let i = 0; i < 300; i++) {
    const part = { path: `[${i}]/wait:go#0` }
    const row = { kind: 'part', node: 'a', state: 'suspended', attempt: 0, at: 0 } as const
    fold.add({ ...row, position: i, part }, false)
  }
  assert.equal(fold.nodes()[0]?.waits?.length, 100)
})
