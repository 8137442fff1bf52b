import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { HeddleError, isError } from '../../src/errors.ts'
import type { Clock, Timer } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import {
  cancelsSeen,
  createFlags,
  createKernel,
  createPool,
  learnShort,
  release,
  waitStarted,
} from './fixtures/support.ts'
import { until } from '../kernel/until.ts'

test('S56: a synchronous job sees the token at its next check; its result is discarded', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('untilCancelled', { flags }, { signal: controller.signal })
  await waitStarted(flags)
  controller.abort('the user left')
  await assert.rejects(work, (error) => {
    assert.ok(isError(error, 'HDL_CANCELLED'))
    assert.equal(error.details.source, 'user')
    assert.equal(error.details.reason, 'the user left')
    return true
  })
  assert.equal(cancelsSeen(flags), 1)
  const { killed, cancelled, completed } = pool.stats()
  assert.deepEqual({ killed, cancelled, completed }, { killed: 0, cancelled: 1, completed: 0 })
  assert.equal(await run('plus', 1), 2, 'the thread lives on')
  assert.equal(pool.stats().threads[0]!.id, 1)
})

test('S56: an asynchronous job is cancelled by its signal, with the reason', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('untilAborted', { flags }, { signal: controller.signal })
  await waitStarted(flags)
  controller.abort(new Error('no longer wanted'))
  await assert.rejects(work, { code: 'HDL_CANCELLED' })
  assert.equal(cancelsSeen(flags), 1)
  assert.equal(pool.stats().killed, 0)
})

test('a job that never awaits still gets a signal that is aborted, with the reason', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('reportSignal', { flags }, { signal: controller.signal })
  await waitStarted(flags)
  controller.abort(new HeddleError('HDL_TIMEOUT', { what: 'Attempt', limit: 5 }))
  await assert.rejects(work, { code: 'HDL_TIMEOUT' })
  assert.equal(Atomics.load(flags, 3), 'HDL_TIMEOUT'.length)
})

test('a reason that is a Heddle error is passed on unchanged; a timeout signal counts as deadline', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const reason = new HeddleError('HDL_SUPERSEDED', { what: 'Request 1', by: 'request 2' })
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('untilCancelled', { flags }, { signal: controller.signal })
  await waitStarted(flags)
  controller.abort(reason)
  await assert.rejects(work, (error) => error === reason)

  const timedOut = AbortSignal.abort(new DOMException('late', 'TimeoutError'))
  await assert.rejects(run('plus', 1, { signal: timedOut }), (error) => {
    assert.ok(isError(error, 'HDL_CANCELLED'))
    assert.equal(error.details.source, 'deadline')
    return true
  })
})

test('a task that waits is removed at once and never starts', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  const [held, other] = [createFlags(), createFlags()]
  const holding = run('hold', { flags: held })
  await waitStarted(held)
  const controller = new AbortController()
  const work = run('untilCancelled', { flags: other }, { signal: controller.signal })
  assert.equal(pool.stats().queued, 1)
  controller.abort()
  assert.equal(pool.stats().queued, 0)
  await assert.rejects(work, { code: 'HDL_CANCELLED' })
  release(held)
  await holding
  await run('plus', 1)
  assert.equal(Atomics.load(other, 0), 0)
})

test('a task that was sent and not started is taken back and never starts', async () => {
  // Virtual time stands still: nothing is late, however long the machine takes.
  await using made = createPool({ threads: 1, kernel: createKernel() })
  const { pool, run } = made
  await learnShort(made, 'echoOrHold', 2)
  const [held, other] = [createFlags(), createFlags()]
  const holding = run('echoOrHold', { flags: held })
  const controller = new AbortController()
  const work = run('echoOrHold', { flags: other }, { signal: controller.signal })
  await waitStarted(held)
  assert.equal(pool.stats().inFlight, 2)
  controller.abort()
  assert.equal(pool.stats().inFlight, 1)
  await assert.rejects(work, { code: 'HDL_CANCELLED' })
  release(held)
  await holding
  await run('plus', 1)
  assert.equal(Atomics.load(other, 0), 0)
})

test('a job that does not stop loses its thread after the grace, and only that job fails', async () => {
  const kernel = createKernel()
  await using made = createPool({ threads: 2, grace: 500, kernel })
  const { pool, run } = made
  const [stuck, held] = [createFlags(), createFlags()]
  const controller = new AbortController()
  const work = run('stubborn', { flags: stuck }, { signal: controller.signal })
  const bystander = run('hold', { flags: held })
  await Promise.all([waitStarted(stuck), waitStarted(held)])
  controller.abort('enough')
  await kernel.clock.advance(499)
  assert.equal(pool.stats().killed, 0)
  const rejected = assert.rejects(work, { code: 'HDL_CANCELLED' })
  await kernel.clock.advance(1)
  assert.equal(pool.stats().killed, 1)
  await rejected
  release(held)
  assert.equal(await bystander, 'held')
  assert.equal(pool.stats().crashed, 0, 'ended by the pool, not by the job')
  assert.equal(await run('plus', 1), 2)
  assert.equal(kernel.clock.pending, 0)
})

test('jobs behind a job that is being stopped go to another thread', async () => {
  const kernel = createKernel()
  await using made = createPool({ threads: 1, grace: 500, kernel })
  const { pool, run } = made
  await learnShort(made, 'echoOrStubborn', 2)
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('echoOrStubborn', { flags }, { signal: controller.signal })
  const behind = run('echoOrStubborn', 7)
  await waitStarted(flags)
  controller.abort()
  assert.deepEqual([pool.stats().inFlight, pool.stats().queued], [1, 1])
  const later = run('echoOrStubborn', 8)
  assert.equal(pool.stats().queued, 2, 'and nothing new is put behind it')
  const rejected = assert.rejects(work, { code: 'HDL_CANCELLED' })
  await kernel.clock.advance(500)
  assert.deepEqual(await Promise.all([behind, later]), [7, 8])
  await rejected
})

test('P6: a thread is not ended when the job stopped just before the grace was over', async () => {
  const clock = new JumpingClock()
  await using made = createPool({ threads: 1, grace: 500, kernel: { clock, random: systemRandom } })
  const { pool, run } = made
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('untilCancelledThenTell', { flags }, { signal: controller.signal })
  await waitStarted(flags)
  controller.abort()
  // Held up here, the loop has not seen the result that the thread has posted when time is over.
  Atomics.wait(flags, 3, 0)
  clock.jump(500)
  await assert.rejects(work, { code: 'HDL_CANCELLED' })
  assert.equal(pool.stats().killed, 0)
  assert.equal(await run('plus', 1), 2)
  assert.equal(pool.stats().threads[0]!.id, 1)
})

/** Fires timers without letting the event loop turn before. */
class JumpingClock implements Clock {
  #now = 0
  readonly #timers = new Set<{ at: number; callback: () => void }>()
  now = (): number => this.#now
  wallTime = (): number => this.#now
  afterIo = (callback: () => void): void => void setImmediate(callback)
  setTimer(delay: number, callback: () => void): Timer {
    const timer = { at: this.#now + delay, callback }
    this.#timers.add(timer)
    return { cancel: () => this.#timers.delete(timer) }
  }
  jump(milliseconds: number): void {
    this.#now += milliseconds
    for (const timer of this.#timers) {
      if (timer.at <= this.#now && this.#timers.delete(timer)) timer.callback()
    }
  }
}

test(
  'a thread that is blocked in the operating system is abandoned, and the pool continues',
  { skip: process.platform === 'win32' && 'named pipes are files only elsewhere' },
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'heddle-threads-'))
    const pipe = path.join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const kernel = createKernel()
    await using made = createPool({ threads: 1, grace: 50, kernel })
    const { pool, run } = made
    const flags = createFlags()
    const controller = new AbortController()
    const work = run('readPipe', { flags, path: pipe }, { signal: controller.signal })
    await waitStarted(flags)
    controller.abort('too slow')
    const told = assert.rejects(work, (error) => {
      assert.ok(isError(error, 'HDL_UNRESPONSIVE'))
      assert.ok(isError(error.cause, 'HDL_CANCELLED'))
      return true
    })
    await kernel.clock.advance(50 + 2000)
    await told
    assert.equal(await run('plus', 1), 2)
    assert.equal(pool.stats().threads.length, 1)
    // Lets the thread go: it ends now.
    const writer = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
    closeSync(writer)
    rmSync(folder, { recursive: true })
  },
)

test('deadline: counted from the call; names the stage', async () => {
  const kernel = createKernel()
  await using made = createPool({ threads: 1, kernel })
  const { run } = made
  const [held, flags] = [createFlags(), createFlags()]
  const holding = run('hold', { flags: held })
  await waitStarted(held)
  const waiting = run('plus', 1, { deadline: 30 })
  const failed = assert.rejects(waiting, (error) => {
    assert.ok(isError(error, 'HDL_TIMEOUT'))
    assert.match(error.message, /Job "plus" timed out after 30 ms \(waiting for a thread\)/)
    return true
  })
  await kernel.clock.advance(30)
  await failed
  release(held)
  await holding
  const running = run('untilCancelled', { flags }, { deadline: 50, name: 'node' })
  await waitStarted(flags)
  const stopped = assert.rejects(running, {
    message: 'Job "node" timed out after 50 ms (running).',
  })
  await kernel.clock.advance(50)
  await stopped
  await assert.rejects(run('plus', 1, { deadline: 0 }), { code: 'HDL_TIMEOUT' })
  assert.equal(await run('plus', 1, { deadline: 1000 }), 2)
  assert.equal(await run('plus', 1, { deadline: Infinity }), 2)
  assert.equal(kernel.clock.pending, 0)
})

test('P1: no listener stays on the signal, however the task ended', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const { signal } = new AbortController()
  await run('plus', 1, { signal })
  await assert.rejects(run('fail', 'x', { signal }))
  await assert.rejects(run('exit', 1, { signal }))
  await assert.rejects(run('echo', () => 0, { signal }))
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a result that was on its way when the job was cancelled is discarded', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  await run('plus', 1)
  const flags = createFlags()
  const controller = new AbortController()
  release(flags)
  const work = run('hold', { flags }, { signal: controller.signal })
  await until(() => Atomics.load(flags, 0) === 1)
  controller.abort()
  const { status } = (await Promise.allSettled([work]))[0]
  const { completed, cancelled } = pool.stats()
  assert.deepEqual([completed, cancelled], status === 'rejected' ? [1, 1] : [2, 0])
})
