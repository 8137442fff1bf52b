import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Slices, sliceBudget } from '../../src/kernel/slices.ts'
import { systemClock, type Clock } from '../../src/kernel/clock.ts'

function fakeClock(): Clock & { time: number; queue: (() => void)[] } {
  const queue: (() => void)[] = []
  const clock = { ...systemClock, time: 0, queue, now: () => clock.time }
  clock.afterIo = (callback) => {
    queue.push(callback)
  }
  return clock
}

const reactions = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await Promise.resolve()
}

test('a slice is due when its time is used up, and the next one starts from zero', async () => {
  const clock = fakeClock()
  const slices = new Slices(clock, 1)
  assert.equal(slices.due, false)
  clock.time = sliceBudget
  assert.equal(slices.due, true)
  const next = slices.next()
  clock.queue.shift()!()
  await next
  assert.equal(slices.due, false)
})

test('the clock is read once in a number of calls', () => {
  const clock = fakeClock()
  const slices = new Slices(clock)
  clock.time = sliceBudget
  const due = Array.from({ length: 128 }, () => slices.due)
  assert.deepEqual(
    due.flatMap((isDue, index) => (isDue ? [index] : [])),
    [63, 127],
  )
})

test('works side by side take turns: one of them continues in each turn of the loop', async () => {
  const clock = fakeClock()
  const log: string[] = []
  const work = async (name: string): Promise<void> => {
    const slices = new Slices(clock)
    for (let i = 0; i < 2; i++) {
      await slices.next()
      log.push(name)
    }
  }
  void work('a')
  void work('b')
  const other = new Slices(fakeClock())
  void other.next()
  for (let turn = 0; turn < 4; turn++) {
    assert.equal(clock.queue.length, 1, 'one callback at a time')
    clock.queue.shift()!()
    await reactions()
    assert.equal(log.length, turn + 1)
  }
  assert.deepEqual(log, ['a', 'b', 'a', 'b'])
  assert.equal(clock.queue.length, 0)
})
