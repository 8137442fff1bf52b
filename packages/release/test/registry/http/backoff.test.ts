import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defaultBackoff, jitter, retryAfterOf } from '../../../src/registry/http/backoff.ts'

const always = (value: number): { next: () => number } => ({ next: () => value })

test('the delay doubles from 0.5 s up to 60 s, with full jitter below', () => {
  const delays = [0, 1, 2, 3, 6, 7, 8, 500].map((n) => jitter(n, always(1), defaultBackoff))
  assert.deepEqual(delays, [500, 1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000])
  assert.equal(jitter(3, always(0), defaultBackoff), 0)
  assert.equal(jitter(3, always(0.25), defaultBackoff), 1000)
})

test('scenario 87: Retry-After in seconds and as a date, in milliseconds', () => {
  const now = Date.UTC(2026, 0, 1)
  assert.equal(retryAfterOf('7', now), 7000)
  assert.equal(retryAfterOf(' 0 ', now), 0)
  assert.equal(retryAfterOf('86400', now), 86_400_000)
  assert.equal(retryAfterOf('Thu, 01 Jan 2026 00:00:20 GMT', now), 20_000)
  assert.equal(retryAfterOf('Thu, 01 Jan 2026 09:00:00 GMT', now), 9 * 3_600_000)
  assert.equal(retryAfterOf('Wed, 31 Dec 2025 00:00:00 GMT', now), 0, 'a date that has passed')
  assert.equal(retryAfterOf('soon', now), undefined)
  assert.equal(retryAfterOf(undefined, now), undefined)
})

test('whatever a server sends, the wait is within bounds or unknown', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer(), (header, now) => {
      const wait = retryAfterOf(header, now)
      assert.ok(wait === undefined || (wait >= 0 && wait <= 30 * 86_400_000))
    }),
  )
})
