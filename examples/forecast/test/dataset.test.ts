import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDataset } from '../dataset.ts'
import type { Reading, Upload } from '../upload.ts'

const minute = 60_000

function upload(readings: readonly Reading[]): Upload {
  return { format: 'plain', readings, other: 0, unreadable: 0 }
}

/** One reading every five minutes. */
function series(count: number, from = 0): Reading[] {
  return Array.from({ length: count }, (_, i) => ({ at: (from + i) * 5 * minute, value: 100 + i }))
}

test('short gaps are filled by a straight line, duplicates and impossible values are left out', () => {
  const all = series(50)
  const readings = [
    ...all.slice(0, 10),
    all[9]!,
    { at: all[9]!.at + minute, value: 900 },
    ...all.slice(13),
  ]
  const { values, step, quality } = makeDataset(upload(readings))
  assert.equal(step, 5)
  assert.deepEqual(
    values.map((value) => Math.round(value)),
    all.map(({ value }) => value),
  )
  const { duplicates, impossible, filled, gaps } = quality
  assert.deepEqual(
    { duplicates, impossible, filled, gaps },
    { duplicates: 1, impossible: 1, filled: 3, gaps: 0 },
  )
})

test('after a long gap only later values count; too few are refused with the reason', () => {
  const { values, quality } = makeDataset(upload([...series(20), ...series(40, 30)]))
  assert.deepEqual([values.length, quality.gaps], [40, 1])
  assert.throws(
    () => makeDataset(upload([...series(50), ...series(10, 70)])),
    /expected at least 36 readings, got 10 after the last of 1 long gaps/,
  )
  assert.throws(() => makeDataset(upload([])), /got 0\./)
})
