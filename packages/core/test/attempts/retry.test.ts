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

test('back-off doubles from the base and is capped at 60 s', () => {
  const delays = Array.from({ length: 8 }, (_, n) => backoff(n, 1_000, { next: () => 1 }))
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  assert.equal(backoff(7, 1_000, { next: () => 0 }), 0)
})

test('the jitter is uniform: Kolmogorov-Smirnov over 1,000 draws at attempt 3', () => {
  const random = seededRandom(21)
  const draws = Array.from({ length: 1_000 }, () => backoff(3, 1_000, random) / 8_000).toSorted(
    (a, b) => a - b,
  )
  assert.ok(draws[0]! >= 0 && draws.at(-1)! <= 1)
  const distance = Math.max(...draws.map((x, i) => Math.max((i + 1) / 1_000 - x, x - i / 1_000)))
  assert.ok(distance < 1.36 / Math.sqrt(1_000), `KS distance ${distance} exceeds the 5 % bound`)
})

test('final errors and retryAfter decide about a retry', () => {
  assert.equal(isRetryable(new Error('x')), true)
  assert.equal(isRetryable('a string'), true)
  assert.equal(isRetryable(final(new Error('x'))), false)
  assert.equal(requestedDelay(retryAfter(250)), 250)
  assert.equal(requestedDelay(new Error('x')), undefined)
  assert.equal(requestedDelay({ retryAfter: 'soon' }), undefined)
})

test('final() takes anything: a value that is not an object becomes an error with that message', () => {
  const text = final('no such version')
  assert.ok(text instanceof Error)
  assert.equal(text.message, 'no such version')
  for (const thrown of ['text', 5, undefined, null, Symbol('s'), { code: 5 }, Object.freeze([])]) {
    assert.equal(isRetryable(final(thrown)), false)
  }
  const thrown = { code: 5 }
  assert.equal(final(thrown), thrown)
})

test('final() of another copy of the package counts as well', async () => {
  const copy = '../../src/attempts/retry.ts?copy'
  const other = (await import(copy)) as { final: typeof final }
  assert.notEqual(other.final, final)
  assert.equal(isRetryable(other.final(new Error('x'))), false)
})

test('retryAfter() says why, where a cause is given', () => {
  assert.equal(retryAfter(250).message, 'The job asked to be tried again in 250 ms.')
  assert.equal(
    retryAfter(250, new Error('429 from api.')).message,
    '429 from api: the job asked to be tried again in 250 ms.',
  )
})
