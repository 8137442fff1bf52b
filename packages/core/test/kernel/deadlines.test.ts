import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Clock } from '../../src/kernel/clock.ts'
import { Deadlines, type Due } from '../../src/kernel/deadlines.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

interface Item extends Due {
  readonly id: number
}

const item = (id: number): Item => ({ id, dueAt: 0, heapIndex: -1 })

/** Records which deadlines fell due, and when. */
function watched(clock: VirtualClock): { deadlines: Deadlines<Item>; fired: [number, number][] } {
  const fired: [number, number][] = []
  const deadlines = new Deadlines<Item>(clock, ({ id }) => fired.push([id, clock.now()]))
  return { deadlines, fired }
}

test('items fall due in the order of their times', async () => {
  const clock = new VirtualClock()
  const { deadlines, fired } = watched(clock)
  deadlines.set(item(1), 30)
  deadlines.set(item(2), 10)
  deadlines.set(item(3), 20)
  await clock.advance(30)
  assert.deepEqual(fired, [
    [2, 10],
    [3, 20],
    [1, 30],
  ])
  assert.deepEqual([deadlines.size, clock.pending], [0, 0])
})

test('10,000 deadlines cost one timer', () => {
  const clock = new VirtualClock()
  const { deadlines } = watched(clock)
  for (let id = 0; id < 10_000; id++) deadlines.set(item(id), 600_000 + id)
  assert.equal(clock.pending, 1)
  deadlines.close()
  assert.deepEqual([deadlines.size, clock.pending], [0, 0])
})

test('short jobs under a long limit set the timer once, not once each', async () => {
  const clock = new VirtualClock()
  let set = 0
  const counting: Clock = {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    afterIo: (callback) => clock.afterIo(callback),
    setTimer: (delay, callback) => {
      set++
      return clock.setTimer(delay, callback)
    },
  }
  const deadlines = new Deadlines<Item>(counting, () => assert.fail('every job ended in time'))
  for (let id = 0; id < 1_000; id++) {
    const job = item(id)
    deadlines.set(job, clock.now() + 600_000)
    await Promise.resolve()
    assert.equal(deadlines.delete(job), true)
  }
  assert.equal(set, 1)
  deadlines.releaseTimer()
  assert.equal(clock.pending, 0)
})

test('an earlier deadline moves the timer forward, and an abandoned one only wakes it', async () => {
  const clock = new VirtualClock()
  const { deadlines, fired } = watched(clock)
  const early = item(1)
  deadlines.set(item(2), 100)
  deadlines.set(early, 10)
  deadlines.delete(early)
  await clock.advance(10)
  assert.deepEqual(fired, [])
  assert.equal(clock.pending, 1, 'armed again for the one that is left')
  await clock.advance(90)
  assert.deepEqual(fired, [[2, 100]])
  assert.equal(clock.pending, 0)
})

test('setting an item again moves it, both ways', async () => {
  const clock = new VirtualClock()
  const { deadlines, fired } = watched(clock)
  const later = item(1)
  const sooner = item(2)
  deadlines.set(later, 10)
  deadlines.set(later, 50)
  deadlines.set(sooner, 90)
  deadlines.set(sooner, 20)
  assert.equal(deadlines.size, 2)
  await clock.advance(100)
  assert.deepEqual(fired, [
    [2, 20],
    [1, 50],
  ])
})

test('a callback may set and delete deadlines', async () => {
  const clock = new VirtualClock()
  const fired: number[] = []
  const second = item(2)
  const third = item(3)
  const deadlines: Deadlines<Item> = new Deadlines<Item>(clock, ({ id }) => {
    fired.push(id)
    if (id !== 1) return
    deadlines.delete(second)
    deadlines.set(third, clock.now())
    deadlines.set(item(4), clock.now() + 5)
  })
  deadlines.set(item(1), 10)
  deadlines.set(second, 10)
  await clock.advance(20)
  assert.deepEqual(fired, [1, 3, 4])
  assert.deepEqual([deadlines.size, clock.pending], [0, 0])
})

test('a timer that fires a fraction early does not fire the deadline early', async () => {
  const clock = new VirtualClock()
  const rounding: Clock = {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    afterIo: (callback) => clock.afterIo(callback),
    setTimer: (delay, callback) => clock.setTimer(Math.floor(delay) || delay, callback),
  }
  const at: number[] = []
  const deadlines = new Deadlines<Item>(rounding, () => at.push(clock.now()))
  deadlines.set(item(1), 10.75)
  await clock.advance(20)
  assert.deepEqual(at, [10.75])
})

test('releaseTimer() keeps the timer while something waits; Infinity never falls due', async () => {
  const clock = new VirtualClock()
  const { deadlines, fired } = watched(clock)
  deadlines.set(item(1), Infinity)
  assert.equal(clock.pending, 0)
  deadlines.set(item(2), 10)
  deadlines.releaseTimer()
  assert.equal(clock.pending, 1)
  await clock.advance(10_000)
  assert.deepEqual(fired, [[2, 10]])
  deadlines.close()
  assert.deepEqual([deadlines.size, clock.pending], [0, 0])
})

test('any mix of set, move and delete fires exactly the due entries, when they are due', async () => {
  const commands = fc.array(
    fc.tuple(fc.constantFrom('set', 'delete'), fc.nat({ max: 9 }), fc.nat({ max: 50 })),
    { maxLength: 40 },
  )
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      const clock = new VirtualClock()
      const { deadlines, fired } = watched(clock)
      const items = Array.from({ length: 10 }, (_, id) => item(id))
      const expected = new Map<number, number>()
      for (const [action, id, at] of list) {
        if (action === 'set') {
          deadlines.set(items[id]!, at)
          expected.set(id, at)
        } else {
          assert.equal(deadlines.delete(items[id]!), expected.delete(id))
        }
      }
      assert.equal(deadlines.size, expected.size)
      await clock.advance(50)
      assert.deepEqual(new Map(fired), expected)
      assert.deepEqual([deadlines.size, clock.pending], [0, 0])
    }),
    { numRuns: 50 },
  )
})

test('many deadlines that fall due together are notified in slices, and other work has its turn between', async () => {
  const clock = new VirtualClock()
  let spent = 0
  const slow: Clock = {
    now: () => clock.now() + spent,
    wallTime: () => clock.wallTime(),
    setTimer: (delay, callback) => clock.setTimer(delay, callback),
    afterIo: (callback) => clock.afterIo(callback),
  }
  const told: number[] = []
  const deadlines = new Deadlines<Item>(slow, ({ id }) => {
    told.push(id)
    spent += 0.1
  })
  for (let id = 0; id < 200; id++) deadlines.set(item(id), 10)
  const between: number[] = []
  clock.setTimer(10, () => between.push(told.length))
  await clock.advance(10)
  assert.deepEqual(
    told.toSorted((a, b) => a - b),
    Array.from({ length: 200 }, (_, id) => id),
  )
  assert.deepEqual(between, [63])
  assert.deepEqual([deadlines.size, clock.pending], [0, 0])
})
