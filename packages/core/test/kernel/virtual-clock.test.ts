import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('time stands still until it is moved', async () => {
  const clock = new VirtualClock()
  const wall = clock.wallTime()
  await clock.settle()
  assert.equal(clock.now(), 0)
  await clock.advance(250)
  assert.deepEqual([clock.now(), clock.wallTime() - wall], [250, 250])
})

test('the time of day can be chosen', () => {
  assert.equal(new VirtualClock({ wallTime: 5_000 }).wallTime(), 5_000)
})

test('timers fire at their time, and equal times in the order of creation', async () => {
  const clock = new VirtualClock()
  const fired: string[] = []
  for (const [name, delay] of [
    ['c', 20],
    ['a', 10],
    ['d', 20],
    ['b', 10],
  ] as const) {
    clock.setTimer(delay, () => fired.push(`${name}${clock.now()}`))
  }
  await clock.advance(9)
  assert.deepEqual(fired, [])
  await clock.advance(1)
  assert.deepEqual(fired, ['a10', 'b10'])
  await clock.advance(100)
  assert.deepEqual(fired, ['a10', 'b10', 'c20', 'd20'])
  assert.equal(clock.now(), 110)
})

test('a timer set by a timer fires in the same advance when it falls into it', async () => {
  const clock = new VirtualClock()
  const at: number[] = []
  const again = (): void => {
    at.push(clock.now())
    if (at.length < 5) clock.setTimer(10, again)
  }
  clock.setTimer(10, again)
  await clock.advance(35)
  assert.deepEqual(at, [10, 20, 30])
  assert.equal(clock.pending, 1)
})

test('reactions of one timer run before the next timer fires, as in Node', async () => {
  const clock = new VirtualClock()
  const order: string[] = []
  clock.setTimer(5, () => {
    order.push('first')
    void Promise.resolve().then(() => order.push('reaction'))
    clock.afterIo(() => order.push('after io'))
  })
  clock.setTimer(5, () => order.push('second'))
  await clock.advance(5)
  assert.deepEqual(order, ['first', 'reaction', 'after io', 'second'])
})

test('a cancelled timer does not fire and is not pending', async () => {
  const clock = new VirtualClock()
  const timer = clock.setTimer(5, () => assert.fail('it was cancelled'))
  clock.setTimer(6, () => undefined)
  assert.equal(clock.pending, 2)
  timer.cancel()
  timer.cancel()
  assert.equal(clock.pending, 1)
  await clock.advance(10)
  assert.equal(clock.pending, 0)
})

test('a delay below zero fires at the next move, not in the past', async () => {
  const clock = new VirtualClock()
  await clock.advance(10)
  let at = -1
  clock.setTimer(-100, () => (at = clock.now()))
  await clock.advance(0)
  assert.equal(at, 10)
})

test('runUntil() jumps from timer to timer until the work settles', async () => {
  const clock = new VirtualClock()
  const sleep = (delay: number): Promise<void> =>
    new Promise((done) => void clock.setTimer(delay, done))
  const work = async (): Promise<string> => {
    await sleep(60_000)
    await sleep(3_600_000)
    return 'done'
  }
  clock.setTimer(10_000_000, () => assert.fail('after the end'))
  assert.equal(await clock.runUntil(work()), 'done')
  assert.equal(clock.now(), 3_660_000)
  assert.equal(clock.pending, 1)
})

test('runUntil() passes on a rejection', async () => {
  const clock = new VirtualClock()
  await assert.rejects(clock.runUntil(Promise.reject(new Error('broken'))), /broken/)
})

test('runUntil() reports a deadlock instead of hanging', async () => {
  const clock = new VirtualClock()
  clock.setTimer(5, () => undefined)
  await assert.rejects(clock.runUntil(new Promise(() => undefined)), /Deadlock/)
})

test('time never goes back, even when two moves overlap', async () => {
  const clock = new VirtualClock()
  await Promise.all([clock.advance(1_000), clock.advance(10)])
  assert.equal(clock.now(), 1_000)
})
