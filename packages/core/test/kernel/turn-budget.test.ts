import assert from 'node:assert/strict'
import test from 'node:test'
import { sliceBudget } from '../../src/kernel/slices.ts'
import { TurnBudget } from '../../src/kernel/turn-budget.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('T1 T2: a turn is spent after its time, until I/O has had its chance', async () => {
  const clock = new VirtualClock()
  const ends: boolean[] = []
  const turn = new TurnBudget(clock, (wasSpent) => ends.push(wasSpent))
  assert.equal(turn.isOver(100), false)
  assert.equal(turn.isOver(100 + sliceBudget - 1), false)
  assert.equal(turn.isOver(100 + sliceBudget), true)
  assert.equal(turn.isOver(100), true, 'also for a look with an older time')
  assert.deepEqual([turn.isSpent, turn.startedAt, ends], [true, 100, []])
  await clock.settle()
  assert.deepEqual([turn.isSpent, ends], [false, [true]])
  assert.equal(turn.isOver(200), false)
  await clock.settle()
  assert.deepEqual([turn.startedAt, ends], [200, [true, false]])
})
