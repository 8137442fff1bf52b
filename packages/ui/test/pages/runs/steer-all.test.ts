import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunSummary } from '../../../src/api/contract.ts'
import { cancellable, resumable, steerAll } from '../../../src/pages/runs/steer-all.ts'

function run(id: string, more: Partial<RunSummary> = {}): RunSummary {
  return {
    id,
    title: 'nightly.ts',
    key: null,
    graph: null,
    outcome: 'running',
    ended_at: null,
    elapsed_ms: null,
    is_steerable: true,
    ...more,
  } as RunSummary
}

test('C1 C2 all pages are cancelled, a few at a time, and a failure stops nothing', async () => {
  const pages = [
    { runs: Array.from({ length: 30 }, (_, i) => run(`a${i}`)), next: 'second' },
    {
      runs: [
        run('b'),
        run('done', { ended_at: 5, outcome: 'succeeded' }),
        run('x', { title: 'other' }),
      ],
      next: null,
    },
  ]
  let open = 0
  let most = 0
  const seen: string[] = []
  const result = await steerAll({
    filter: { state: 'active', q: 'nightly' },
    isEligible: cancellable,
    list: async (cursor) => pages[cursor === undefined ? 0 : 1]!,
    steer: async (id) => {
      most = Math.max(most, ++open)
      await Promise.resolve()
      open--
      seen.push(id)
      if (id === 'a3') throw new Error('it has ended')
    },
  })
  assert.deepEqual(result, { done: 30, failed: 1 })
  assert.ok(most <= 6)
  assert.ok(!seen.includes('x') && !seen.includes('done') && seen.includes('b'))
})

test('C3 failed runs whose graph is served are resumed once each, also when they fail again at once', async () => {
  const failed = (id: string, graph: string | null): RunSummary =>
    run(id, { outcome: 'failed', ended_at: 5, graph })
  const pages = [
    { runs: [failed('a', 'nightly'), failed('b', null)], next: 'second' },
    { runs: [failed('c', 'nightly'), run('d')], next: null },
  ]
  const asked: (string | undefined)[] = []
  const seen: string[] = []
  const result = await steerAll({
    filter: { state: 'failed', q: '' },
    isEligible: resumable,
    list: async (cursor) => {
      asked.push(cursor)
      return pages[cursor === undefined ? 0 : 1]!
    },
    steer: async (id) => seen.push(id),
  })
  assert.deepEqual(
    [asked, seen],
    [
      [undefined, 'second'],
      ['a', 'c'],
    ],
  )
  assert.deepEqual(result, { done: 2, failed: 0 })
})
