import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/errors.ts'
import { systemClock, type Clock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import {
  createFlags,
  createKernel,
  createPool,
  learnShort,
  module,
  release,
  waitStarted,
} from './fixtures/support.ts'
import { until } from '../kernel/until.ts'

test('a job runs in a thread and its result comes back', async () => {
  await using made = createPool({ threads: 2 })
  const { run } = made
  assert.equal(await run('plus', 1), 2)
  assert.equal(await run('plusLater', 1), 2)
  const value = { map: new Map([['a', [1, undefined, -0]]]), date: new Date(5), big: 5n }
  assert.deepEqual(await run('echo', value), value)
})

test('the job is given name, attempt and a signal', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  assert.deepEqual(await run('context'), {
    name: 'context',
    attempt: 0,
    cancelled: false,
    aborted: false,
  })
  const named = await run('context', undefined, { name: 'node 7', attempt: 3 })
  assert.deepEqual(named, { name: 'node 7', attempt: 3, cancelled: false, aborted: false })
})

test('ctx.log() reaches the caller in order, before the result, and not after it', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const said: string[] = []
  const onLog = (text: string) => {
    said.push(text)
    throw new Error('a listener that throws changes nothing')
  }
  assert.equal(await run('talk', ['a', 'b'], { onLog }), 2)
  assert.deepEqual(said, ['a', 'b', 'end'])
  assert.equal(await run('talk', ['nobody listens']), 1)
  assert.deepEqual(said, ['a', 'b', 'end'])
})

test('a thousand tasks at once each get their own result', async () => {
  await using made = createPool({ threads: 2 })
  const { pool, run } = made
  const inputs = Array.from({ length: 1000 }, (_, index) => index)
  const results = await Promise.all(inputs.map((n) => run(n % 3 === 0 ? 'plusLater' : 'plus', n)))
  assert.deepEqual(
    results,
    inputs.map((n) => n + 1),
  )
  const { queued, inFlight, completed } = pool.stats()
  assert.deepEqual({ queued, inFlight, completed }, { queued: 0, inFlight: 0, completed: 1000 })
})

test('no thread is started before there is work, and no more than allowed', async () => {
  await using made = createPool({ threads: 2 })
  const { pool, run } = made
  assert.equal(pool.stats().threads.length, 0)
  await Promise.all(Array.from({ length: 10 }, () => run('plus', 1)))
  assert.ok(pool.stats().threads.length <= 2)
  await run('plus', 1)
})

test('short jobs are sent several at a time, long and unknown ones alone', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  await learnShort(made, 'plus', 2)
  await run('burn', 20)
  assert.equal(pool.stats().jobs.find(({ job }) => job === 'burn')!.window, 1)

  const flags = createFlags()
  const held = run('hold', { flags })
  const behind = run('plus', 1)
  assert.equal(pool.stats().inFlight, 1, 'nothing is sent behind an unknown job')
  assert.equal(pool.stats().queued, 1)
  release(flags)
  assert.equal(await held, 'held')
  assert.equal(await behind, 2)
})

test('P4: tasks start in the order of their calls', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      await run(index % 7 === 0 ? 'plusLater' : 'plus', index)
      order.push(index)
    }),
  )
  assert.deepEqual(
    order,
    Array.from({ length: 200 }, (_, index) => index),
  )
})

test('S58 P2: two threads and a queue of eight: of 100 runs ten are taken, ninety get a retry time', async () => {
  await using made = createPool({ threads: 2, maxQueue: 8 })
  const { pool, run } = made
  const flags = createFlags()
  let most = 0
  const runs = Array.from({ length: 100 }, () => {
    const result = run('hold', { flags })
    most = Math.max(most, pool.stats().queued)
    return result
  })
  const settled = Promise.allSettled(runs)
  assert.equal(most, 8)
  assert.equal(pool.hasRoom, false)
  const { queued, inFlight, refused } = pool.stats()
  assert.deepEqual({ queued, inFlight, refused }, { queued: 8, inFlight: 2, refused: 90 })
  release(flags)
  const outcomes = await settled
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10)
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    assert.ok(isError(outcome.reason, 'HDL_OVERLOADED'))
    assert.equal(outcome.reason.retryAfter, 1000, 'nothing was measured yet')
  }
  assert.equal(pool.hasRoom, true)
})

test('S58: the retry time is computed from the measured run time and the queue', async () => {
  await using made = createPool({ threads: 1, maxQueue: 3 })
  const { pool, run } = made
  await run('burn', 5)
  const flags = createFlags()
  const admitted = [run('hold', { flags }), run('plus', 1), run('plus', 1), run('plus', 1)]
  const { meanRunTime } = pool.stats()
  await assert.rejects(run('plus', 1), (error) => {
    assert.ok(isError(error, 'HDL_OVERLOADED'))
    assert.equal(error.retryAfter, Math.ceil(4 * meanRunTime))
    return true
  })
  release(flags)
  await Promise.all(admitted)
})

test('S58: waitRoom() is the back-pressure: a producer that uses it is never refused', async () => {
  await using made = createPool({ threads: 2, maxQueue: 4 })
  const { pool, run } = made
  const results: Promise<unknown>[] = []
  for (let index = 0; index < 100; index++) {
    while (!pool.hasRoom) await pool.waitRoom()
    results.push(run('plus', index))
    assert.ok(pool.stats().queued <= 4)
  }
  await Promise.all(results)
  assert.equal(pool.stats().refused, 0)
})

test('waitRoom(): a woken caller that does not use the room does not hold up the next', async () => {
  await using made = createPool({ threads: 1, maxQueue: 0 })
  const { pool, run } = made
  const flags = createFlags()
  const held = run('hold', { flags })
  const order: string[] = []
  const waits = ['a', 'b', 'c'].map(async (name) => {
    await pool.waitRoom()
    order.push(name)
  })
  release(flags)
  await Promise.all([held, ...waits])
  assert.deepEqual(order, ['a', 'b', 'c'])
})

test('waits end by signal and deadline and leave nothing behind', async () => {
  const kernel = createKernel()
  await using made = createPool({ threads: 1, maxQueue: 0, kernel })
  const { pool, run } = made
  const flags = createFlags()
  const held = run('hold', { flags })
  const { signal, ...abort } = abortable()
  const waits = [pool.waitRoom({ signal }), pool.waitIdle({ signal })]
  const late = [pool.waitRoom({ deadline: 5 }), pool.waitIdle({ deadline: 5 })]
  abort.now('enough')
  for (const wait of waits) await assert.rejects(wait, { code: 'HDL_CANCELLED' })
  for (const wait of late) void wait.catch(() => undefined)
  await kernel.clock.advance(5)
  for (const wait of late) await assert.rejects(wait, { code: 'HDL_TIMEOUT' })
  assert.equal(kernel.clock.pending, 0)
  release(flags)
  await held
})

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, now: (reason: unknown) => controller.abort(reason) }
}

test('waitIdle() ends when everything has settled, also failed jobs', async () => {
  await using made = createPool({ threads: 2 })
  const { pool, run } = made
  await pool.waitIdle()
  const settled: string[] = []
  const work = [run('plus', 1), run('fail', 'x'), run('plusLater', 1)]
  for (const each of work) void each.catch(() => undefined).then(() => settled.push('one'))
  await pool.waitIdle()
  await Promise.allSettled(work)
  assert.equal(settled.length, 3)
  assert.equal(pool.stats().failed, 1)
})

test('P5: tiny jobs behind a long one finish on the other thread', async () => {
  // Virtual time stands still: nothing is late, so the idle thread itself must take over.
  await using made = createPool({ threads: 2, kernel: createKernel() })
  const { pool, run } = made
  // Both threads are up and the jobs are known as short, so that many are sent at a time.
  for (let round = 0; pool.stats().threads.filter(({ state }) => state === 'ready').length < 2;) {
    await Promise.all(Array.from({ length: 8 }, () => run('plus', round++)))
  }
  const flags = createFlags()
  // A job that is known as short and this time is not: only the name counts for what is expected.
  for (let index = 0; index < 20; index++) await run('echoOrHold', index)
  const long = run('echoOrHold', { flags })
  const tiny = Array.from({ length: 60 }, (_, index) => run('plus', index))
  await waitStarted(flags)
  await Promise.all(tiny)
  assert.equal(Atomics.load(flags, 1), 0, 'the long job is still running')
  release(flags)
  await long
})

test('P5: while one thread is held, the others do all later jobs', async () => {
  await using made = createPool({ threads: 2 })
  const { pool, run } = made
  const flags = createFlags()
  for (let index = 0; index < 20; index++) await run('echoOrHold', index)
  const long = run('echoOrHold', { flags })
  await waitStarted(flags)
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 10 }, (_, index) => run('plus', index)))
  }
  release(flags)
  await long
  assert.equal(pool.stats().completed, 221)
})

test('a job that is late returns the jobs behind it to the front of the queue', async () => {
  const kernel = createKernel()
  await using made = createPool({ threads: 1, kernel })
  const { pool, run } = made
  await learnShort(made, 'echoOrHold', 3)
  const flags = createFlags()
  const order: string[] = []
  const note = (name: string, result: Promise<unknown>) => result.then(() => order.push(name))
  const work = [note('long', run('echoOrHold', { flags })), note('a', run('echoOrHold', 1))]
  await waitStarted(flags)
  assert.equal(pool.stats().inFlight, 2)
  await kernel.clock.advance(100)
  work.push(note('b', run('echoOrHold', 2)))
  await until(() => pool.stats().inFlight === 1)
  assert.equal(pool.stats().queued, 2)
  assert.equal(pool.stats().takenBack, 2)
  release(flags)
  await Promise.all(work)
  assert.deepEqual(order, ['long', 'a', 'b'])
})

test('when sending takes long, all threads are served in turn', async () => {
  let now = 0
  // Every look at the clock finds the time of this turn used up, as large inputs would do it.
  const clock: Clock = { ...systemClock, now: () => (now += 3) }
  await using made = createPool({ threads: 3, kernel: { clock, random: systemRandom } })
  const { run } = made
  const flags = createFlags()
  const work = [1, 2, 3].map(() => run('hold', { flags }))
  await waitStarted(flags, 3)
  release(flags)
  await Promise.all(work)
})

test('a job may have work done by a pool of its own', async () => {
  await using made = createPool({ threads: 1 })
  assert.equal(await made.run('nested', 1), 2)
})

test('stats() count threads, queue and jobs', async () => {
  await using made = createPool({ threads: 1, maxQueue: 2 })
  const { pool, run } = made
  await run('plus', 1)
  const flags = createFlags()
  const work = [run('hold', { flags }), run('plus', 1)]
  await waitStarted(flags)
  const stats = pool.stats()
  assert.deepEqual(stats.threads, [{ id: 1, state: 'ready', busy: true, inFlight: 1, finished: 1 }])
  assert.equal(stats.queued, 1)
  assert.equal(stats.jobs.length, 2)
  assert.equal(stats.jobs[0]!.module, module)
  assert.equal(stats.jobs[0]!.runs, 1)
  release(flags)
  await Promise.all(work)
})

test('wrong options are refused where they are given', async () => {
  assert.throws(() => new ThreadPool({ threads: 0 }), { code: 'HDL_BAD_OPTION' })
  assert.throws(() => new ThreadPool({ maxQueue: -1 }), { code: 'HDL_BAD_OPTION' })
  assert.throws(() => new ThreadPool({ grace: -1 }), { code: 'HDL_BAD_OPTION' })
  assert.throws(() => new ThreadPool({ crashLimit: 0 }), { code: 'HDL_BAD_OPTION' })
  await using pool = new ThreadPool()
  assert.throws(() => pool.run({ module: '', job: 'x', input: 0 }), { code: 'HDL_BAD_OPTION' })
  assert.throws(() => pool.run({ module, job: '', input: 0 }), { code: 'HDL_BAD_OPTION' })
})

test('a thread that Node refuses to make fails the task, not the caller', async () => {
  const resourceLimits = { maxOldGenerationSizeMb: 'much' as unknown as number }
  await using made = createPool({ threads: 1, resourceLimits })
  const { pool, run } = made
  await run('plus', 1).then(
    () => undefined,
    (error: unknown) => assert.ok(isError(error, 'HDL_THREAD_CRASHED')),
  )
  assert.equal(pool.stats().inFlight, 0)
})
