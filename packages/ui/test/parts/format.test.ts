import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatPercent,
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
