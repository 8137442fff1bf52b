import { zero } from '../runs/kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAgo, formatDateTime } from '../../src/text/times.ts'

test('times of the past are formatted', () => {
  assert.equal(formatDateTime(zero), '2026-11-15 22:45:01')
  assert.equal(formatAgo(400), 'just now')
  assert.equal(formatAgo(-5_000), 'just now')
  assert.equal(formatAgo(59_900), '59 s ago')
  assert.equal(formatAgo(200_000), '3 min ago')
  assert.equal(formatAgo(7_300_000), '2 h ago')
  assert.equal(formatAgo(86_400_000), '1 day ago')
  assert.equal(formatAgo(86_400_000 * 40), '40 days ago')
})
