import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Rate, makeRate } from '../../src/capacity/rate.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('R1 property: in no interval of `per` there are more than `limit`, and none waits longer than it must', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 3 })), { maxLength: 60 }),
      async (limit, per, steps) => {
        const clock = new VirtualClock()
        const rate = new Rate({ limit, per }, clock)
        const times: number[] = []
        for (const [wait, wanted] of steps) {
          await clock.advance(wait)
          const count = Math.min(wanted, limit)
          const now = clock.now()
          const inside = times.filter((time) => time + per > now).length
          assert.equal(rate.used, inside)
          assert.equal(rate.hasRoom(count), inside + count <= limit)
          const delay = rate.opensIn(count)
          const free = (at: number): boolean =>
            times.filter((time) => time + per > at).length + count <= limit
          assert.ok(free(now + delay), 'it opens then')
          assert.ok(delay === 0 || !free(now + delay - 1), 'and not before')
          if (!rate.hasRoom(count)) continue
          rate.take(count)
          await clock.settle()
          for (let i = 0; i < count; i++) times.push(now)
        }
        for (let i = limit; i < times.length; i++) assert.ok(times[i]! - times[i - limit]! >= per)
      },
    ),
    { numRuns: 500 },
  )
})

test('R2 a start counts from when the code that was started has given the loop back', async () => {
  const clock = new VirtualClock()
  let now = 0
  const rate = new Rate({ limit: 1, per: 100 }, { ...clockOf(clock), now: () => now })
  rate.take(1)
  now = 7
  await clock.settle()
  now = 100
  assert.equal(rate.hasRoom(1), false)
  now = 107
  assert.equal(rate.hasRoom(1), true)
})

test('more than the limit can never start; wrong options are refused', () => {
  const clock = new VirtualClock()
  const rate = makeRate('resources.api', { limit: 2, per: 100 }, clock)
  assert.equal(rate.canEverHave(2), true)
  assert.equal(rate.canEverHave(3), false)
  assert.equal(rate.opensIn(3), Infinity)
  assert.throws(() => makeRate('resources.api', { limit: 0, per: 1 }, clock), /resources.api.limit/)
  assert.throws(() => makeRate('resources.api', { limit: 1, per: -1 }, clock), /resources.api.per/)
})

function clockOf(clock: VirtualClock): ConstructorParameters<typeof Rate>[1] {
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    setTimer: (delay, callback) => clock.setTimer(delay, callback),
    afterIo: (callback) => clock.afterIo(callback),
  }
}
