import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSample, ratesOf, type Health, type Sample } from '../../../src/pages/load/health.ts'

const sample = (at: number, gaps: number): Sample => ({
  at,
  health: { loop: { longest_gap_ms: 0, gaps } } as Health,
})

test('rates are changes for each second, also over a restart of the server', () => {
  const history = [sample(10, 100), sample(12, 140), sample(13, 5), sample(14, 7)]
  assert.deepEqual(
    ratesOf(history, ({ loop }) => loop.gaps),
    [null, 20, 0, 2],
  )
})

test('ten minutes are kept', () => {
  let history: readonly Sample[] = []
  for (let at = 0; at < 700; at++) history = addSample(history, sample(at, 0))
  assert.deepEqual([history.length, history[0]!.at], [600, 100])
})
