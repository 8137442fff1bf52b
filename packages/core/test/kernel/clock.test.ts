import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soon, systemClock } from '../../src/kernel/clock.ts'

test('a timer fires once and not before its time', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let fired = 0
  systemClock.setTimer(50, () => fired++)
  t.mock.timers.tick(49)
  assert.equal(fired, 0)
  t.mock.timers.tick(1)
  assert.equal(fired, 1)
  t.mock.timers.tick(1_000)
  assert.equal(fired, 1)
})

test('a delay over 2^31 ms is waited for in full, where a native timer would fire at once', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const longest = 2 ** 31 - 1
  let fired = 0
  systemClock.setTimer(2 * longest + 5, () => fired++)
  t.mock.timers.tick(longest)
  t.mock.timers.tick(longest)
  t.mock.timers.tick(4)
  assert.equal(fired, 0)
  t.mock.timers.tick(1)
  assert.equal(fired, 1)
})

test('a long timer can be cancelled in each of its pieces', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const longest = 2 ** 31 - 1
  const timer = systemClock.setTimer(2 * longest, () => assert.fail('it was cancelled'))
  t.mock.timers.tick(longest)
  timer.cancel()
  timer.cancel()
  t.mock.timers.tick(longest)
})

test('a delay below zero counts as zero', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let fired = 0
  systemClock.setTimer(-5, () => fired++)
  t.mock.timers.tick(1)
  assert.equal(fired, 1)
})

test('cancelling after the timer fired is harmless', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let fired = 0
  const timer = systemClock.setTimer(1, () => fired++)
  t.mock.timers.tick(1)
  timer.cancel()
  assert.equal(fired, 1)
})

test('now() never goes back', () => {
  let last = systemClock.now()
  for (let i = 0; i < 1_000; i++) {
    const next = systemClock.now()
    assert.ok(next >= last)
    last = next
  }
})

test('wallTime() is the time of day', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_234 })
  assert.equal(systemClock.wallTime(), 1_234)
})

test('afterIo() lets promise reactions and soon() go first', async () => {
  const order: string[] = []
  const done = new Promise<void>((resolve) => {
    systemClock.afterIo(() => {
      order.push('afterIo')
      resolve()
    })
  })
  soon(() => order.push('soon'))
  void Promise.resolve().then(() => order.push('reaction'))
  order.push('now')
  await done
  assert.deepEqual(order, ['now', 'soon', 'reaction', 'afterIo'])
})
