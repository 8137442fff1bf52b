import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeatRate } from '../../src/admission/seat-rate.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/testing.ts'

test('seats that become free every two seconds: come back in two to two and a half', async () => {
  const clock = new VirtualClock()
  const rate = new SeatRate({ kernel: { clock, random: seededRandom(1) } })
  const [least, most] = [1_000, 1_250]
  assert.ok(rate.retryAfter() >= least && rate.retryAfter() <= most, 'nothing was measured')
  for (let n = 0; n < 10; n++) rate.taken()
  for (let n = 0; n < 5; n++) {
    await clock.advance(2_000)
    rate.freed()
  }
  const hint = rate.retryAfter()
  assert.ok(hint >= 2_000 && hint <= 2_500, `${hint}`)
  // A stall counts while it lasts.
  await clock.advance(30_000)
  assert.ok(rate.retryAfter() >= 30_000)
})
