import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatPercent,
  formatTime,
  formatTimeExactly,
  formatTimeTicks,
  labelsOf,
  plural,
  shortId,
} from '../../src/parts/format.ts'

test('durations have the unit that people would use, also at the edges', () => {
  const expected: readonly (readonly [number, string])[] = [
    [0, '0 ms'],
    [0.2, '< 1 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [9_940, '9.9 s'],
    [9_960, '10 s'],
    [59_940, '60 s'],
    [59_960, '1 min 00 s'],
    [3_599_400, '59 min 59 s'],
    [3_600_000, '1 h 00 min'],
    [100_000_000, '1 d 4 h'],
  ]
  for (const [ms, text] of expected) assert.equal(formatDuration(ms), text)
})

test('ages, bytes, shares, counts and ids', () => {
  assert.deepEqual(
    [formatAge(0, 500), formatAge(0, 12_000), formatAge(0, 240_000), formatAge(60_000, 0)],
    ['just now', '12 s ago', '4 min ago', 'in 1 min'],
  )
  assert.deepEqual(
    [formatBytes(999), formatBytes(12_400), formatBytes(999_600)],
    ['999 B', '12 kB', '1.0 MB'],
  )
  assert.deepEqual(
    [formatPercent(0), formatPercent(0.034), formatPercent(0.5)],
    ['0 %', '3.4 %', '50 %'],
  )
  assert.deepEqual([plural(1, 'node'), plural(12_000, 'node')], ['1 node', '12,000 nodes'])
  assert.equal(shortId('01JQ8W4T6S1VF3'), '01JQ8W…1VF3')
})

test('ticks of an axis that read alike are written once', () => {
  assert.deepEqual(
    labelsOf([0, 0.5, 1, 2], (value) => value.toFixed(0)),
    ['0', '1', '', '2'],
  )
  assert.deepEqual(labelsOf([], String), [])
})

test('times of another day say which one', () => {
  const evening = new Date(2026, 10, 17, 23, 59, 58, 7).getTime()
  const night = new Date(2026, 10, 18, 0, 0, 2).getTime()
  assert.equal(formatTime(evening, evening - 3_600_000), '23:59:58')
  assert.equal(formatTime(night, evening), '18 Nov, 00:00:02')
  assert.equal(formatTimeExactly(evening, evening), '23:59:58.007')
  assert.equal(formatTimeExactly(evening, night), '17 Nov, 23:59:58.007')
  assert.deepEqual(formatTimeTicks([evening, night, night + 2_000], evening), [
    '23:59:58',
    '18 Nov',
    '00:00:04',
  ])
  assert.deepEqual(formatTimeTicks([evening], night), ['17 Nov'])
})

test('only the whole is 100 %', () => {
  assert.deepEqual(
    [formatPercent(0.994), formatPercent(0.9951), formatPercent(0.99999), formatPercent(1)],
    ['99 %', '99.5 %', '99.9 %', '100 %'],
  )
})
