import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../src/kernel/clock.ts'
import { Ticker } from '../../src/kernel/ticker.ts'
import { manualClock } from './manual-clock.ts'

/** Counts the timers that are set. */
function countingClock() {
  const clock = manualClock()
  const set = { timers: 0 }
  const counting: Clock = {
    ...clock,
    setTimer(milliseconds, callback) {
      set.timers++
      return clock.setTimer(milliseconds, callback)
    },
  }
  return { clock, counting, set }
}

test('C1 a thousand watchers share one timer, and the last one ends it', () => {
  const { clock, counting, set } = countingClock()
  const ticker = new Ticker(counting, 1_000)
  const ends = Array.from({ length: 1_000 }, () => ticker.watch())
  assert.equal(set.timers, 1)
  clock.advance(3_000)
  assert.deepEqual([set.timers, ticker.now.value], [4, 3_000])
  for (const end of ends.slice(1)) end()
  ends[1]!()
  clock.advance(1_000)
  assert.equal(ticker.now.value, 4_000)
  ends[0]!()
  clock.advance(60_000)
  assert.deepEqual([set.timers, ticker.now.value], [5, 4_000])
})

test('C2 the time is current when the first watcher comes', () => {
  const { clock, counting } = countingClock()
  const ticker = new Ticker(counting, 1_000)
  clock.advance(7_300)
  assert.equal(ticker.now.value, 0)
  ticker.watch()
  assert.equal(ticker.now.value, 7_300)
})
