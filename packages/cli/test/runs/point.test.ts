import { zero } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidArgumentError } from 'commander'
import { parsePoint } from '../../src/runs/point.ts'

test('a point is a row, a time since the start, or a time', () => {
  assert.deepEqual(parsePoint('1234'), { position: 1234 })
  assert.deepEqual(parsePoint('+0'), { since: 0 })
  assert.deepEqual(parsePoint('+1500'), { since: 1_500 })
  assert.deepEqual(parsePoint('+90s'), { since: 90_000 })
  assert.deepEqual(parsePoint('2026-11-15T22:45:01Z'), { time: zero })
  assert.deepEqual(parsePoint('2026-11-15 22:45:01'), { time: zero })
  for (const wrong of ['', 'yesterday', '-5', '+', '22:45', '2026-13-45T00:00:00']) {
    assert.throws(() => parsePoint(wrong), InvalidArgumentError, wrong)
  }
})
