import assert from 'node:assert/strict'
import test from 'node:test'
import { TurnTime } from '../../src/kernel/turn-time.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('the clock is read once in a turn of the loop, and again in the next', async () => {
  let reads = 0
  class CountingClock extends VirtualClock {
    override now(): number {
      reads++
      return super.now()
    }
  }
  const clock = new CountingClock()
  const time = new TurnTime(clock)
  const first = time.now()
  const before = reads
  assert.equal(time.now(), first)
  assert.equal(reads, before)
  await clock.advance(10)
  assert.equal(time.now(), first + 10)
})
