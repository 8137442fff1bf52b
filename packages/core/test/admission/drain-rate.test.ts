import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DrainRate, RetryAfter } from '../../src/admission/drain-rate.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { withCode } from '../sync/support.ts'

test('S46 the interval is the mean time between completions while work runs', async () => {
  const clock = new VirtualClock()
  const rate = new DrainRate(clock)
  assert.equal(rate.interval, undefined)
  rate.started()
  rate.started()
  for (let i = 0; i < 5; i++) {
    await clock.advance(100)
    rate.stopped()
    rate.completed()
    rate.started()
  }
  assert.equal(rate.interval, 100)
})

test('S46 completions in bursts count by their number', async () => {
  const clock = new VirtualClock()
  const rate = new DrainRate(clock)
  for (let i = 0; i < 4; i++) rate.started()
  for (let burst = 0; burst < 50; burst++) {
    await clock.advance(400)
    for (let i = 0; i < 4; i++) {
      rate.started()
      rate.stopped()
      rate.completed()
    }
  }
  assert.ok(rate.interval! > 70 && rate.interval! < 140, String(rate.interval))
})

test('S46 time in which nothing ran is left out', async () => {
  const clock = new VirtualClock()
  const rate = new DrainRate(clock)
  rate.started()
  await clock.advance(10)
  rate.stopped()
  rate.completed()
  await clock.advance(36_000_000)
  rate.started()
  await clock.advance(10)
  rate.stopped()
  rate.completed()
  assert.equal(rate.interval, 10)
})

test('S46 a stall counts while it lasts', async () => {
  const clock = new VirtualClock()
  const rate = new DrainRate(clock)
  rate.started()
  rate.started()
  await clock.advance(10)
  rate.stopped()
  rate.completed()
  await clock.advance(5000)
  assert.equal(rate.interval, 5000)
})

test('S46 the hint is completions times interval, bounded, jittered upwards only', () => {
  const hint = new RetryAfter({ least: 100, most: 10_000, jitter: 0.5 }, seededRandom(7))
  const hints = Array.from({ length: 200 }, () => hint.after(4, 250))
  assert.ok(hints.every((ms) => ms >= 1000 && ms <= 1500 && Number.isInteger(ms)))
  assert.ok(new Set(hints).size > 50, 'those refused together do not come back together')
  const plain = new RetryAfter({ least: 100, most: 10_000, jitter: 0 }, seededRandom(7))
  assert.equal(plain.after(1, 1), 100)
  assert.equal(plain.after(1000, 1000), 10_000)
  assert.equal(plain.after(5, undefined), 1000, 'nothing measured yet')
  assert.deepEqual(
    Array.from({ length: 3 }, () => new RetryAfter({}, seededRandom(3)).after(2, 500)),
    Array.from({ length: 3 }, () => new RetryAfter({}, seededRandom(3)).after(2, 500)),
    'the seed reproduces it',
  )
})

test('options are checked', () => {
  for (const options of [{ jitter: 2 }, { jitter: NaN }, { least: -1 }, { most: NaN }]) {
    assert.throws(() => new RetryAfter(options, seededRandom(1)), withCode('HDL_BAD_OPTION'))
  }
})
