import assert from 'node:assert/strict'
import test from 'node:test'
import { seededRandom } from '../../src/kernel/random.ts'
import {
  backoff,
  final,
  isRetryable,
  requestedDelay,
  retryAfter,
} from '../../src/attempts/retry.ts'

test('20 back-off bounds: doubling from the base, capped at 60 s', () => {
  const delays = Array.from({ length: 8 }, (_, n) => backoff(n, 1_000, { next: () => 1 }))
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  assert.equal(backoff(7, 1_000, { next: () => 0 }), 0)
})

test('21 the jitter is uniform: Kolmogorov-Smirnov over 1,000 draws at attempt 3', () => {
  const random = seededRandom(21)
  const draws = Array.from({ length: 1_000 }, () => backoff(3, 1_000, random) / 8_000).toSorted(
    (a, b) => a - b,
  )
  assert.ok(draws[0]! >= 0 && draws.at(-1)! <= 1)
  const distance = Math.max(...draws.map((x, i) => Math.max((i + 1) / 1_000 - x, x - i / 1_000)))
  assert.ok(distance < 1.36 / Math.sqrt(1_000), `KS distance ${distance} exceeds the 5 % bound`)
})

test('final errors and retryAfter', () => {
  assert.equal(isRetryable(new Error('x')), true)
  assert.equal(isRetryable('a string'), true)
  assert.equal(isRetryable(final(new Error('x'))), false)
  assert.equal(requestedDelay(retryAfter(250)), 250)
  assert.equal(requestedDelay(new Error('x')), undefined)
  assert.equal(requestedDelay({ retryAfter: 'soon' }), undefined)
})
