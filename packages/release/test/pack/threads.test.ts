import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PackThreads } from '../../src/pack/threads.ts'
import { virtualKernel } from '../support/virtual-time.ts'
import { heldJob } from './fixtures/held-job.ts'

const never = new AbortController().signal

/** A job that runs until it is let go. */
class Held {
  readonly ended: Promise<void>
  readonly #flags = new Int32Array(new SharedArrayBuffer(8))

  constructor(threads: PackThreads) {
    this.ended = threads.run(heldJob, this.#flags, never)
  }

  async started(): Promise<void> {
    const { value } = Atomics.waitAsync(this.#flags, 0, 0)
    await value
  }

  get hasStarted(): boolean {
    return Atomics.load(this.#flags, 0) === 1
  }

  letGo(): void {
    Atomics.store(this.#flags, 1, 1)
    Atomics.notify(this.#flags, 1)
  }
}

test('PT1, PT2 a second thread is started for a job that has waited for 200 ms', async () => {
  const kernel = virtualKernel()
  await using threads = new PackThreads({ threads: 4, kernel })
  const first = new Held(threads)
  await first.started()
  const second = new Held(threads)
  await kernel.clock.advance(199)
  assert.deepEqual([second.hasStarted, threads.count], [false, 1])
  await kernel.clock.advance(1)
  await second.started()
  assert.equal(threads.count, 2)
  first.letGo()
  second.letGo()
  await Promise.all([first.ended, second.ended])
})

test('PT1, PT3 when all jobs have waited for a second, the next one does not wait', async () => {
  const kernel = virtualKernel()
  await using threads = new PackThreads({ threads: 4, kernel })
  let running = new Held(threads)
  for (let waits = 0; waits < 10; waits++) {
    await running.started()
    const next = new Held(threads)
    await kernel.clock.advance(100)
    assert.equal(threads.count, 1, `after ${waits} waits`)
    running.letGo()
    await running.ended
    running = next
  }
  await running.started()
  const beside = new Held(threads)
  await beside.started()
  assert.equal(threads.count, 2)
  running.letGo()
  beside.letGo()
  await Promise.all([running.ended, beside.ended])
})

test('a job that is given up while it waits leaves, and the next one gets its turn', async () => {
  const kernel = virtualKernel()
  await using threads = new PackThreads({ threads: 4, kernel })
  const first = new Held(threads)
  await first.started()
  const controller = new AbortController()
  const given = threads.run(heldJob, new Int32Array(2), controller.signal)
  controller.abort('not wanted')
  await assert.rejects(given, { code: 'HDL_CANCELLED' })
  const next = new Held(threads)
  first.letGo()
  await next.started()
  assert.equal(threads.count, 1)
  next.letGo()
  await Promise.all([first.ended, next.ended])
})
