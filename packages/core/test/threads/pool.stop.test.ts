import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceConformance } from '../../src/testing/service-conformance.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import {
  cancelsSeen,
  createFlags,
  createKernel,
  createPool,
  module,
  waitStarted,
} from './fixtures/support.ts'

const closed = { code: 'HDL_CLOSED' }

serviceConformance('thread pool', () => {
  const kernel = createKernel()
  const { pool, run } = createPool({ threads: 1, kernel })
  const occupy = async (): Promise<void> => {
    const flags = createFlags()
    run('stubborn', { flags }).catch(() => undefined)
    await waitStarted(flags)
  }
  return { service: pool, occupy, held: () => kernel.clock.pending }
})

test('stop() notifies running jobs, waiting tasks, and callers that wait for room or for the end', async () => {
  const { pool, run } = createPool({ threads: 1, maxQueue: 2 })
  const flags = createFlags()
  const running = run('untilCancelled', { flags })
  const waiting = [run('plus', 1), run('plus', 2)]
  await waitStarted(flags)
  const waits = [pool.waitRoom(), pool.waitIdle()]
  const all = [running, ...waiting, ...waits].map((each) => assert.rejects(each, closed))
  await pool.stop()
  await Promise.all(all)
  assert.equal(cancelsSeen(flags), 1, 'the job was asked to stop and did')
  const { threads, queued, inFlight, killed } = pool.stats()
  assert.deepEqual(
    { threads, queued, inFlight, killed },
    { threads: [], queued: 0, inFlight: 0, killed: 0 },
  )
})

test('afterwards nothing is accepted; stopping twice is harmless', async () => {
  const { pool, run } = createPool({ threads: 1 })
  await run('plus', 1)
  assert.equal(pool.stop(), pool.stop())
  await pool.stop()
  assert.equal(pool.hasRoom, false)
  await assert.rejects(run('plus', 1), closed)
  await assert.rejects(pool.waitRoom(), closed)
  await assert.rejects(pool.waitIdle(), closed)
})

test('an unused pool stops at once', async () => {
  await using pool = new ThreadPool()
  await pool.stop()
})

test('a job that does not stop has until the deadline, then its thread is ended', async () => {
  const kernel = createKernel()
  const { pool, run } = createPool({ threads: 2, grace: 1, kernel })
  const [stuck, soft] = [createFlags(), createFlags()]
  const stubborn = assert.rejects(run('stubborn', { flags: stuck }), closed)
  const polite = assert.rejects(run('untilCancelled', { flags: soft }), closed)
  await Promise.all([waitStarted(stuck), waitStarted(soft)])
  const closing = pool.stop({ deadline: 100 })
  await polite
  await kernel.clock.advance(99)
  assert.equal(pool.stats().killed, 0)
  await kernel.clock.advance(1)
  await Promise.all([closing, stubborn])
  assert.equal(pool.stats().killed, 1)
  assert.equal(kernel.clock.pending, 0)
})

test('a job that was already being stopped gets no second grace', async () => {
  const kernel = createKernel()
  const { pool, run } = createPool({ threads: 1, grace: 50, kernel })
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('stubborn', { flags }, { signal: controller.signal })
  const told = assert.rejects(work, { code: 'HDL_CANCELLED' })
  await waitStarted(flags)
  controller.abort()
  await kernel.clock.advance(40)
  const closing = pool.stop({ deadline: 1000 })
  await kernel.clock.advance(10)
  await Promise.all([closing, told])
})

test('closing while threads are starting ends them too', async () => {
  const { pool, run } = createPool({ threads: 2 })
  const work = [run('plus', 1), run('plus', 2), run('plus', 3)]
  const told = Promise.all(work.map((each) => assert.rejects(each, closed)))
  await pool.stop()
  await told
  assert.deepEqual(pool.stats().threads, [])
})

test('a crash while it stops fails the job with HDL_CLOSED', async () => {
  const { pool, run } = createPool({ threads: 1 })
  const flags = createFlags()
  const work = run('exitWhenCancelled', { flags })
  const told = assert.rejects(work, closed)
  await waitStarted(flags)
  await pool.stop()
  await told
})

test('await using stops it at the end of the block', async () => {
  let kept: ThreadPool
  {
    await using pool = new ThreadPool({ threads: 1 })
    kept = pool
    await pool.run({ module, job: 'plus', input: 1 })
  }
  assert.deepEqual(kept.stats().threads, [])
})
