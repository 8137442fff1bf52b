import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { HeddleError, isError } from '../../src/errors.ts'
import { mostAtOnce } from '../../src/kernel/abort.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { WaiterList } from '../../src/kernel/waiters.ts'

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

test('callers are woken in the order in which they came', async () => {
  const list = new WaiterList<string>(new VirtualClock())
  const woken: string[] = []
  const waits = ['a', 'b', 'c'].map(async (name) => {
    woken.push(name + (await list.wait(name)))
  })
  assert.equal(list.wakeFirst('1'), true)
  assert.equal(list.wakeFirst('2'), true)
  assert.equal(list.wakeFirst('3'), true)
  assert.equal(list.wakeFirst('4'), false)
  await Promise.all(waits)
  assert.deepEqual(woken, ['a1', 'b2', 'c3'])
})

test('W1: a caller is in the list exactly while its promise is pending', async () => {
  const clock = new VirtualClock()
  const list = new WaiterList<number>(clock)
  const controller = new AbortController()
  const woken = list.wait('woken')
  const late = list.wait('late', { deadline: 10 })
  const aborted = list.wait('aborted', { signal: controller.signal })
  const failed = list.wait('failed')
  assert.equal(list.size, 4)
  list.wakeFirst(1)
  assert.equal(list.size, 3)
  assert.equal(await woken, 1)
  await Promise.all([assert.rejects(late, { code: 'HDL_TIMEOUT' }), clock.advance(10)])
  assert.equal(list.size, 2)
  controller.abort()
  assert.equal(list.size, 1)
  await assert.rejects(aborted, { code: 'HDL_CANCELLED' })
  list.failAll(new HeddleError('HDL_CLOSED', { what: 'It' }))
  assert.equal(list.size, 0)
  await assert.rejects(failed, { code: 'HDL_CLOSED' })
})

test('W2: timer and listener leave with the caller, whatever ends the wait', async (t) => {
  const endings: Record<string, (list: WaiterList<number>, abort: () => void) => unknown> = {
    wake: (list) => list.wakeFirst(1),
    wakeAll: (list) => list.wakeAll(1),
    fail: (list) => list.failAll(new Error('failed')),
    abort: (_list, abort) => abort(),
  }
  for (const [name, end] of Object.entries(endings)) {
    await t.test(name, async () => {
      const clock = new VirtualClock()
      const list = new WaiterList<number>(clock)
      const controller = new AbortController()
      const wait = list.wait('It', { signal: controller.signal, deadline: 1_000 })
      assert.deepEqual([clock.pending, listeners(controller.signal)], [1, 1])
      end(list, () => controller.abort())
      await Promise.allSettled([wait])
      assert.deepEqual([list.size, clock.pending, listeners(controller.signal)], [0, 0, 0])
    })
  }
  await t.test('deadline', async () => {
    const clock = new VirtualClock()
    const list = new WaiterList<number>(clock)
    const { signal } = new AbortController()
    const wait = list.wait('It', { signal, deadline: 1_000 })
    await Promise.all([assert.rejects(wait, { code: 'HDL_TIMEOUT' }), clock.advance(1_000)])
    assert.deepEqual([list.size, clock.pending, listeners(signal)], [0, 0, 0])
  })
})

test('W3: of wake, abort and deadline the first wins, in every order', async () => {
  const causes = ['wake', 'abort', 'deadline'] as const
  const outcome = { wake: 'woken', abort: 'HDL_CANCELLED', deadline: 'HDL_TIMEOUT' }
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([...causes], { minLength: 1 }), async (order) => {
      const clock = new VirtualClock()
      const list = new WaiterList<string>(clock)
      const controller = new AbortController()
      const wait = list.wait('It', { signal: controller.signal, deadline: 5 }).then(
        (value) => value,
        (error: unknown) => (error as HeddleError).code,
      )
      for (const cause of order) {
        if (cause === 'wake') list.wakeFirst('woken')
        else if (cause === 'abort') controller.abort()
        else await clock.advance(5)
      }
      assert.equal(await wait, outcome[order[0]!])
      assert.deepEqual([list.size, listeners(controller.signal), clock.pending], [0, 0, 0])
    }),
  )
})

test('W4: a caller whose signal has aborted is skipped, and the value goes to the next', async () => {
  const list = new WaiterList<string>(new VirtualClock())
  const controller = new AbortController()
  let given: boolean | undefined
  // Runs before the listener of the list: it was added first.
  controller.signal.addEventListener('abort', () => {
    given = list.wakeFirst('value')
  })
  const aborted = list.wait('first', { signal: controller.signal })
  const next = list.wait('second')
  controller.abort()
  assert.equal(given, true)
  assert.equal(await next, 'value')
  await assert.rejects(aborted, { code: 'HDL_CANCELLED' })
  assert.equal(list.size, 0)
})

test('W5: a full list refuses, and has room again when a caller leaves', async () => {
  const list = new WaiterList<number>(new VirtualClock(), 2)
  const waits = [list.wait('It'), list.wait('It')]
  await assert.rejects(list.wait('It'), {
    code: 'HDL_TOO_MANY_WAITERS',
    message: 'It already has 2 waiters.',
    retryable: true,
  })
  list.wakeFirst(1)
  waits.push(list.wait('It'))
  assert.equal(list.size, 2)
  assert.equal(list.wakeAll(2), 2)
  assert.deepEqual(await Promise.all(waits), [1, 2, 2])
})

test('nothing is parked for a signal that has aborted or a deadline that has passed', async () => {
  const clock = new VirtualClock()
  const list = new WaiterList<number>(clock)
  const signal = AbortSignal.abort(new Error('shut down'))
  await assert.rejects(list.wait('Lock', { signal }), {
    code: 'HDL_CANCELLED',
    message: 'Lock was cancelled (user): shut down.',
  })
  for (const deadline of [0, -1, Number.NaN]) {
    await assert.rejects(list.wait('Lock', { deadline }), { code: 'HDL_TIMEOUT' })
  }
  assert.deepEqual([list.size, clock.pending], [0, 0])
})

test('waitUnless() parks no caller when the state is reached, and refuses an aborted caller even then', async () => {
  const list = new WaiterList<string>(new VirtualClock())
  assert.equal(await list.waitUnless(true, 'now', 'idle'), 'now')
  await assert.rejects(
    list.waitUnless(true, 'now', 'idle', { signal: AbortSignal.abort(new Error('gone')) }),
    (error) => isError(error, 'HDL_CANCELLED'),
  )
  const later = list.waitUnless(false, 'now', 'idle')
  assert.equal(list.size, 1)
  list.wakeAll('later')
  assert.equal(await later, 'later')
})

test('an infinite deadline sets no timer', () => {
  const clock = new VirtualClock()
  const list = new WaiterList<number>(clock)
  void list.wait('It', { deadline: Infinity })
  assert.equal(clock.pending, 0)
})

test('errors name the awaited thing, the waiting time and the canceller', async () => {
  const clock = new VirtualClock()
  const list = new WaiterList<number>(clock)
  const late = list.wait('Mutex "db"', { deadline: 25 })
  await Promise.all([
    assert.rejects(late, { message: 'Mutex "db" timed out after 25 ms.' }),
    clock.advance(25),
  ])
  const cancelling = new AbortController()
  const stopped = list.wait('Mutex "db"', { signal: cancelling.signal })
  const reason = new HeddleError('HDL_CANCELLED', {
    what: 'Run 7',
    source: 'disconnect',
    by: 'client 3',
  })
  cancelling.abort(reason)
  await assert.rejects(stopped, (error) => error === reason)
})

test('onLeave is called after an abort, a deadline and a failure, never after a wake', async () => {
  const clock = new VirtualClock()
  const list = new WaiterList<number>(clock)
  const sizes: number[] = []
  list.onLeave = () => sizes.push(list.size)
  const controller = new AbortController()
  const waits = [
    list.wait('woken'),
    list.wait('aborted', { signal: controller.signal }),
    list.wait('late', { deadline: 1 }),
    list.wait('failed'),
  ]
  list.wakeFirst(1)
  assert.deepEqual(sizes, [])
  controller.abort()
  assert.deepEqual(sizes, [2], 'called when the waiter is gone already')
  const settled = Promise.allSettled(waits)
  await clock.advance(1)
  list.failAll(new Error('failed'))
  await settled
  assert.deepEqual(sizes, [2, 1, 0])
})

test('wakeAll() wakes only current waiters, not those that come back', async () => {
  const list = new WaiterList<number>(new VirtualClock())
  let rounds = 0
  const loop = async (): Promise<void> => {
    while ((await list.wait('It')) >= 0) rounds++
  }
  const loops = [loop(), loop()]
  assert.equal(list.wakeAll(1), 2)
  await new VirtualClock().settle()
  assert.deepEqual([rounds, list.size], [2, 2])
  list.wakeAll(-1)
  await Promise.all(loops)
})

test('100,000 callers wait on one signal with one listener and leave in linear time', async () => {
  const clock = new VirtualClock()
  const list = new WaiterList<number>(clock)
  const controller = new AbortController()
  const waits = Array.from({ length: 100_000 }, () =>
    list.wait('It', { signal: controller.signal }),
  )
  assert.equal(listeners(controller.signal), 1)
  const settled = Promise.allSettled(waits)
  // Half of them from the middle, one by one; the rest at once.
  let every = 0
  for (const waiter of list) if (every++ % 2 === 0) waiter.wake(every)
  assert.equal(list.size, 50_000)
  controller.abort()
  const outcomes = await settled
  assert.deepEqual([list.size, listeners(controller.signal)], [0, 0])
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 50_000)
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assert.ok(isError(outcome.reason, 'HDL_CANCELLED'))
  }
})

test('weight and tag stay with the waiter', () => {
  const list = new WaiterList<number>(new VirtualClock())
  void list.wait('It', {}, 3, 'tag')
  assert.deepEqual([list.first?.weight, list.first?.tag, list.first?.what], [3, 'tag', 'It'])
})

/** Lets one slice of an abort run: they come in turns of the real loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('W3: an abort of very many ends their waits in slices, and comes first all the same', async () => {
  const clock = new VirtualClock()
  const list = new WaiterList<number>(clock)
  const controller = new AbortController()
  const { signal } = controller
  const count = 5 * mostAtOnce
  const codes: string[] = []
  const waits = Array.from({ length: count }, () =>
    list.wait('It', { signal, deadline: 10 }).catch((error: unknown) => {
      codes.push((error as HeddleError).code)
    }),
  )
  controller.abort()
  assert.equal(list.size, count - mostAtOnce, 'one slice at once')
  // Neither a value, nor a deadline, nor a close reaches a caller whose signal has aborted.
  assert.equal(list.wakeFirst(1), false)
  const second = new WaiterList<number>(clock)
  const other = second.wait('It', { signal: new AbortController().signal })
  await clock.advance(10)
  await Promise.all(waits)
  assert.deepEqual(new Set(codes), new Set(['HDL_CANCELLED']))
  assert.equal(codes.length, count)
  assert.deepEqual([list.size, listeners(signal), clock.pending], [0, 0, 0])
  second.wakeFirst(1)
  assert.equal(await other, 1)
})

test('W2: deadlines of one moment share a timer and end in slices', async () => {
  const clock = new VirtualClock()
  // Each reading of the clock takes a millisecond once they end.
  let ahead = 0
  let isEnding = false
  const now = clock.now.bind(clock)
  clock.now = () => now() + (isEnding ? (ahead += 1) : ahead)
  let timers = 0
  const setTimer = clock.setTimer.bind(clock)
  clock.setTimer = (delay, callback) => {
    timers++
    return setTimer(delay, callback)
  }
  const lists = [new WaiterList<number>(clock), new WaiterList<number>(clock)]
  let ended = 0
  const waits = Array.from({ length: 1_000 }, (_, index) =>
    lists[index % 2]!.wait('It', { deadline: 10 }).catch(() => ended++),
  )
  assert.deepEqual([timers, clock.pending], [1, 1])
  isEnding = true
  await clock.advance(10)
  await Promise.all(waits)
  assert.equal(ended, 1_000)
  assert.ok(timers > 3, `one timer for each slice, ${timers} in all`)
  assert.equal(clock.pending, 0)
})

test('an abort gives the loop a turn between its slices', async () => {
  const list = new WaiterList<number>(new VirtualClock())
  const controller = new AbortController()
  const waits = Array.from({ length: 3 * mostAtOnce }, () =>
    list.wait('It', { signal: controller.signal }).catch(() => undefined),
  )
  controller.abort()
  const sizes = [list.size]
  while (list.size > 0) {
    await turn()
    sizes.push(list.size)
  }
  await Promise.all(waits)
  assert.deepEqual(sizes, [2 * mostAtOnce, mostAtOnce, 0])
})
