import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunSummary } from '../../../src/api/contract.ts'
import { fits, takeIn } from '../../../src/pages/runs/list-store.ts'
import { makeRun } from '../../stand-in/made-run.ts'

function run(id: string, startedAt: number, more: Partial<RunSummary> = {}): RunSummary {
  return { ...makeRun({ id, title: 'nightly', items: 1, startedAt }).summary, ...more }
}
const ids = (list: { runs: readonly RunSummary[] }): string[] => list.runs.map(({ id }) => id)

test('U1 a run is in the list once, newest first', () => {
  const list = takeIn(
    { runs: [run('b', 2), run('a', 1)], next: null },
    [run('c', 3), run('a', 1, { outcome: 'failed' })],
    [],
    { state: '', q: '' },
  )
  assert.deepEqual(ids(list), ['c', 'b', 'a'])
  assert.equal(list.runs[2]!.outcome, 'failed')
})

test('U2 runs leave and enter as they fit the filter', () => {
  const filter = { state: 'active', q: '' }
  const list = {
    runs: [run('b', 5, { outcome: 'running' }), run('a', 4, { outcome: 'paused' })],
    next: 'cursor',
  }
  const next = takeIn(
    list,
    [run('b', 5), run('old', 1, { outcome: 'running' }), run('new', 9, { outcome: 'running' })],
    [],
    filter,
  )
  assert.deepEqual(ids(next), ['new', 'a'])
  assert.deepEqual(ids(takeIn(list, [], ['a'], filter)), ['b'])
})

test('U3 a list stays bounded', () => {
  const many = Array.from({ length: 2_500 }, (_, i) => run(`r${i}`, i))
  assert.equal(takeIn({ runs: [], next: null }, many, [], { state: '', q: '' }).runs.length, 2_000)
})

test('fits: state groups and text, as the server does', () => {
  const done = run('01ABC', 1, { key: 'nightly-7' })
  assert.ok(
    fits(done, { state: 'finished', q: '' }) &&
      fits(done, { state: 'succeeded', q: 'abc' }) &&
      fits(done, { state: '', q: 'LY-7' }),
  )
  assert.ok(!fits(done, { state: 'active', q: '' }) && !fits(done, { state: '', q: 'zzz' }))
})
