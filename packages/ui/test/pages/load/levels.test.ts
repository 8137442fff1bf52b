import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stretchesOf, timesOf } from '../../../src/pages/load/levels.ts'

test('equal levels in a row are one stretch, which lasts until the next begins', () => {
  const at = [0, 1_000, 2_000, 3_000, 4_000]
  const found = stretchesOf(at, ['loaded', 'loaded', 'full', 'loaded', 'loaded'])
  assert.deepEqual(found, [
    { level: 'loaded', from: 0, to: 2_000 },
    { level: 'full', from: 2_000, to: 3_000 },
    { level: 'loaded', from: 3_000, to: 4_000 },
  ])
  assert.deepEqual(timesOf(found), [
    ['loaded', 3_000],
    ['full', 1_000],
  ])
  assert.deepEqual(stretchesOf([], []), [])
})
