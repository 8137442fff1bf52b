import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Queue } from '../../src/sync/queue.ts'
import { testKernel, turn, watch, withCode } from './support.ts'

function drain<T>(queue: Queue<T>): T[] {
  const items: T[] = []
  for (let ticket = queue.tryTake(); ticket; ticket = queue.tryTake()) {
    items.push(ticket.item)
    ticket.done()
  }
  return items
}

test('S31 items are first in, first out inside a priority', () => {
  const queue = new Queue<number>({ capacity: 10 })
  for (let i = 0; i < 6; i++) queue.tryPut(i)
  assert.deepEqual(drain(queue), [0, 1, 2, 3, 4, 5])
})

test('S32 items of priority 0 are taken first', () => {
  const queue = new Queue<string>({ capacity: 20 })
  for (let i = 0; i < 10; i++) queue.tryPut(`p1 ${i}`, { priority: 1 })
  queue.tryPut('p0', { priority: 0 })
  assert.equal(queue.tryTake()?.item, 'p0')
  assert.equal(queue.tryTake()?.item, 'p1 0')
})

test('S33 equal keys with payloads that cannot be compared keep their order', () => {
  const queue = new Queue<object>({ capacity: 1000, kernel: testKernel() })
  const items = Array.from({ length: 1000 }, (_, i) =>
    i % 2 === 0 ? Object.create(null) : { valueOf: () => NaN },
  )
  for (const item of items) queue.tryPut(item, { priority: 3 })
  assert.deepEqual(
    drain(queue).map((item) => items.indexOf(item)),
    items.map((_, i) => i),
  )
})

test('S34 aging: an endless stream of priority 0 delays priority 3 by at most 3 × aging', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 100, aging: 1000, kernel })
  queue.tryPut('low', { priority: 3 })
  let waited = -1
  for (let i = 0; waited < 0 && i < 1000; i++) {
    // Never empty of urgent work: two come for each one that is taken, up to a backlog.
    queue.tryPut(`urgent ${i}`, { priority: 0 })
    if (queue.size < 50) queue.tryPut(`urgent too ${i}`, { priority: 0 })
    await kernel.clock.advance(100)
    const ticket = queue.tryTake()
    if (ticket?.item === 'low') waited = ticket.waited
    ticket?.done()
  }
  assert.ok(waited >= 3000, `priority 0 goes first until then, but it waited ${waited}`)
  // P2: what came within 3000 ms after it goes first; that backlog is served at one per 100 ms.
  assert.ok(waited <= 3000 + 31 * 100, `waited ${waited}`)
})

test('P2: priority p is overtaken only by items that arrive less than p × aging after it', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 10, aging: 100, kernel })
  queue.tryPut('p2 at 0', { priority: 2 })
  await kernel.clock.advance(199)
  queue.tryPut('p0 at 199', { priority: 0 })
  await kernel.clock.advance(2)
  queue.tryPut('p0 at 201', { priority: 0 })
  await kernel.clock.advance(10_000)
  assert.deepEqual(drain(queue), ['p0 at 199', 'p2 at 0', 'p0 at 201'])
})

test('aging: Infinity is strict priority, 0 is arrival order', async () => {
  for (const { aging, expected } of [
    { aging: Infinity, expected: ['urgent', 'low'] },
    { aging: 0, expected: ['low', 'urgent'] },
  ]) {
    const kernel = testKernel()
    const queue = new Queue<string>({ capacity: 10, aging, kernel })
    queue.tryPut('low', { priority: 9 })
    await kernel.clock.advance(1_000_000)
    queue.tryPut('urgent', { priority: 0 })
    assert.deepEqual(drain(queue), expected)
  }
})

test('S35 remove from the queue: the item is never taken, and the remaining order is kept', () => {
  const queue = new Queue<number>({ capacity: 1000 })
  for (let i = 0; i < 1000; i++) queue.tryPut(i)
  assert.equal(queue.has(500), true)
  assert.equal(queue.remove(500), true)
  assert.equal(queue.has(500), false)
  assert.equal(queue.remove(500), false)
  const left = drain(queue)
  assert.equal(left.length, 999)
  assert.equal(left.includes(500), false)
  assert.deepEqual(
    left,
    left.toSorted((a, b) => a - b),
  )
})

test('among several equal items the one put last is removed', () => {
  const queue = new Queue<string>({ capacity: 10 })
  for (const item of ['a', 'b', 'a', 'c', 'a']) queue.tryPut(item)
  assert.equal(queue.remove('a'), true)
  assert.equal(queue.tryTake()?.item, 'a')
  assert.equal(queue.has('a'), true)
  assert.deepEqual(drain(queue), ['b', 'a', 'c'])
  assert.equal(queue.has('a'), false)
})

test('S39 upgrade: the queued item moves, it is not queued twice', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 10, kernel })
  queue.tryPut('x', { priority: 1 })
  queue.tryPut('wanted', { priority: 1 })
  queue.tryPut('y', { priority: 0 })
  assert.equal(queue.move('wanted', 0), true)
  assert.equal(queue.size, 3)
  assert.equal(queue.tryTake()?.item, 'y')
  const ticket = queue.tryTake()
  assert.equal(ticket?.item, 'wanted')
  assert.equal(ticket?.priority, 0)
  assert.equal(queue.tryTake()?.item, 'x')
  assert.equal(queue.move('wanted', 0), false)
  assert.throws(() => queue.move('x', 10), withCode('HDL_BAD_OPTION'))
})

test('a raised item is never served later than it would have been', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 10, aging: 100, kernel })
  queue.tryPut('old', { priority: 1 })
  await kernel.clock.advance(150)
  // These come too late to overtake it.
  queue.tryPut('urgent 1', { priority: 0 })
  queue.tryPut('urgent 2', { priority: 0 })
  assert.equal(queue.move('old', 0), true)
  const first = queue.tryTake()
  assert.equal(first?.item, 'old')
  assert.equal(first?.priority, 0)
})

test('a lowered item goes to the end of its new line', () => {
  const queue = new Queue<string>({ capacity: 10, kernel: testKernel() })
  queue.tryPut('a', { priority: 0 })
  queue.tryPut('b', { priority: 2 })
  assert.equal(queue.move('a', 2), true)
  assert.equal(queue.move('a', 2), true)
  assert.deepEqual(queue.stats().sizeByPriority, [0, 0, 2, 0, 0, 0, 0, 0, 0, 0])
  assert.deepEqual(drain(queue), ['b', 'a'])
})

test('Q1, Q2: putters wait while the queue is full and are let in by order of arrival', async () => {
  const queue = new Queue<number>({ capacity: 2 })
  await queue.put(0)
  await queue.put(1)
  assert.equal(queue.tryPut(9), false)
  const putters = [2, 3, 4].map((item) => watch(queue.put(item)))
  await turn()
  assert.equal(queue.size, 2)
  assert.equal(queue.stats().waitingPutters, 3)

  assert.equal(queue.tryTake()?.item, 0)
  assert.equal(queue.size, 2)
  assert.equal(queue.tryPut(9), false)
  queue.remove(1)
  await turn()
  assert.deepEqual(
    putters.map((each) => each.state),
    ['fulfilled', 'fulfilled', 'pending'],
  )
  assert.deepEqual(drain(queue), [2, 3, 4])
})

test('Q2: getters wait while the queue is empty and are served by order of arrival', async () => {
  const queue = new Queue<string>({ capacity: 2 })
  const getters = [queue.take(), queue.take(), queue.take()].map(watch)
  assert.equal(queue.stats().waitingGetters, 3)
  await queue.put('a')
  queue.tryPut('b')
  await turn()
  assert.deepEqual(
    getters.map((each) => each.value?.item),
    ['a', 'b', undefined],
  )
  assert.equal(queue.size, 0)
  assert.equal(queue.stats().taken, 2)
})

test('Q6: close wakes every waiting caller; queued items can still be taken', async () => {
  const full = new Queue<string>({ name: 'jobs', capacity: 1 })
  full.tryPut('a')
  const putter = watch(full.put('b'))
  full.close()
  full.close()
  await turn()
  assert.match(String(putter.error), /Queue "jobs" is closed/)
  await assert.rejects(full.put('c'), withCode('HDL_CLOSED'))
  assert.throws(() => full.tryPut('c'), withCode('HDL_CLOSED'))
  const idle = watch(full.waitIdle())
  const ticket = await full.take()
  assert.equal(ticket.item, 'a')
  await assert.rejects(full.take(), withCode('HDL_CLOSED'))
  assert.equal(full.tryTake(), undefined)
  assert.equal(idle.state, 'pending')
  ticket.done()
  await turn()
  assert.equal(idle.state, 'fulfilled')
  assert.equal(full.isClosed, true)

  const empty = new Queue<string>({ capacity: 1 })
  const getter = watch(empty.take())
  empty.close()
  await turn()
  withCode('HDL_CLOSED')(getter.error)
})

test('clear returns everything that was queued, in order, and lets waiting putters in', async () => {
  const queue = new Queue<string>({ capacity: 2 })
  queue.tryPut('low', { priority: 5 })
  queue.tryPut('urgent', { priority: 0 })
  const putter = watch(queue.put('later'))
  assert.deepEqual(queue.clear(), ['urgent', 'low'])
  await turn()
  assert.equal(putter.state, 'fulfilled')
  assert.deepEqual(queue.clear(), ['later'])
  await queue.waitIdle()
})

test('items(): a loop finishes the item it leaves, however it is left', async () => {
  const queue = new Queue<number>({ capacity: 10 })
  for (let i = 0; i < 4; i++) queue.tryPut(i)
  const seen: number[] = []
  for await (const item of queue.items()) {
    assert.equal(queue.stats().taken, 1)
    seen.push(item)
    if (item === 1) break
  }
  assert.equal(queue.stats().taken, 0)
  await assert.rejects(async () => {
    for await (const item of queue.items()) throw new Error(`failed at ${item}`)
  }, /failed at 2/)
  assert.equal(queue.stats().taken, 0)
  queue.close()
  for await (const item of queue.items()) seen.push(item)
  assert.deepEqual(seen, [0, 1, 3])
  await queue.waitIdle()

  const controller = new AbortController()
  const open = new Queue<number>({ capacity: 1 })
  const loop = watch(open.items({ signal: controller.signal }).next())
  controller.abort()
  await turn()
  withCode('HDL_CANCELLED')(loop.error)
})

test('aborted and late putters and getters leave nothing behind', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 1, kernel })
  const controller = new AbortController()
  const { signal } = controller
  const getters = [watch(queue.take({ signal })), watch(queue.take({ deadline: 10 }))]
  await kernel.clock.advance(10)
  queue.tryPut('for the first')
  await turn()
  assert.equal(getters[0]?.value?.item, 'for the first')
  withCode('HDL_TIMEOUT')(getters[1]?.error)

  queue.tryPut('a')
  const putters = [watch(queue.put('b', { signal })), watch(queue.put('c', { deadline: 10 }))]
  controller.abort()
  await kernel.clock.advance(10)
  withCode('HDL_CANCELLED')(putters[0]?.error)
  withCode('HDL_TIMEOUT')(putters[1]?.error)
  assert.deepEqual(drain(queue), ['a'])
  assert.equal(kernel.clock.pending, 0)

  await assert.rejects(queue.put('d', { signal }), withCode('HDL_CANCELLED'))
  await assert.rejects(queue.take({ signal }), withCode('HDL_CANCELLED'))
  await assert.rejects(queue.waitIdle({ signal }), withCode('HDL_CANCELLED'))
  assert.equal(queue.size, 0)
})

test('W4: an item is not handed to a getter whose signal has aborted', async () => {
  const queue = new Queue<string>({ capacity: 1 })
  const controller = new AbortController()
  controller.signal.addEventListener('abort', () => queue.tryPut('a'))
  const doomed = watch(queue.take({ signal: controller.signal }))
  controller.abort()
  await turn()
  withCode('HDL_CANCELLED')(doomed.error)
  assert.equal(queue.size, 1)
  assert.equal(queue.stats().taken, 0)
})

test('waitIdle ends by its deadline', async () => {
  const kernel = testKernel()
  const queue = new Queue<string>({ capacity: 1, kernel })
  queue.tryPut('a')
  const idle = watch(queue.waitIdle({ deadline: 10 }))
  await kernel.clock.advance(10)
  withCode('HDL_TIMEOUT')(idle.error)
  assert.equal(kernel.clock.pending, 0)
})

test('options are checked', async () => {
  for (const capacity of [0, -1, 1.5, NaN, Infinity]) {
    assert.throws(() => new Queue({ capacity }), withCode('HDL_BAD_OPTION'))
  }
  const queue = new Queue<string>({ capacity: 1 })
  for (const priority of [-1, 10, 0.5, NaN]) {
    await assert.rejects(queue.put('a', { priority }), withCode('HDL_BAD_OPTION'))
  }
  assert.equal(queue.size, 0)
})

test('W4: a slot freed by an abort listener does not go to a putter of the same signal', async () => {
  const queue = new Queue<string>({ capacity: 1 })
  queue.tryPut('first')
  const controller = new AbortController()
  controller.signal.addEventListener('abort', () => queue.remove('first'))
  const doomed = watch(queue.put('doomed', { signal: controller.signal }))
  const next = watch(queue.put('next'))
  controller.abort()
  await turn()
  withCode('HDL_CANCELLED')(doomed.error)
  assert.equal(next.state, 'fulfilled')
  assert.deepEqual(drain(queue), ['next'])
})
