import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { RateLimits } from '../../src/people/rate-limits.ts'

function tries(limits: RateLimits, key: string, count: number): number {
  let taken = 0
  for (let i = 0; i < count; i++) {
    try {
      limits.take(key, 'It')
      taken++
    } catch (error) {
      assert.ok(isError(error, 'HDL_TOO_MANY_REQUESTS'))
      assert.ok(error.details.retryAfter > 0)
    }
  }
  return taken
}

test('R1 a burst passes, then a steady rate', async () => {
  const clock = new VirtualClock()
  const limits = new RateLimits({ perSecond: 10, burst: 20 }, clock)
  assert.equal(tries(limits, 'a', 50), 20)
  assert.deepEqual(limits.budget('a').remaining, 0)
  await clock.advance(1_000)
  assert.equal(tries(limits, 'a', 50), 10)
  assert.equal(tries(limits, 'b', 50), 20, 'another key has its own')
})

test('R2 S140 twenty thousand keys are tracked, and no more', () => {
  const limits = new RateLimits({ perSecond: 1, burst: 1 }, new VirtualClock())
  for (let i = 0; i < 20_000; i++) limits.take(`key ${i}`, 'It')
  assert.equal(tries(limits, 'key 0', 1), 0, 'the first one is still known')
  limits.take('one more', 'It')
  assert.equal(limits.size, 20_000)
})
