import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { Drain, type Drained, type DrainOptions } from '../../../src/http/lifecycle/drain.ts'

/** A room whose work ends when the test says so, or when it is asked to stop. */
class Work {
  readonly clock: VirtualClock = new VirtualClock()
  readonly begun: number[] = []
  readonly #ended = Promise.withResolvers<Drained>()
  readonly drain: Drain
  calls = 0

  constructor() {
    const room = {
      drain: ({ signal: enough }: { readonly signal: AbortSignal }): Promise<Drained> => {
        this.calls++
        if (enough.aborted) this.#ended.resolve({ isClean: false })
        enough.addEventListener('abort', () => this.#ended.resolve({ isClean: false }))
        return this.#ended.promise
      },
    }
    const onBegin = (deadline: number): void => void this.begun.push(deadline)
    this.drain = new Drain([room], { deadline: 10_000, clock: this.clock, onBegin })
  }

  begin(options?: DrainOptions): Promise<Drained> {
    this.drain.begin(options)
    return this.drain.ended
  }

  end(): void {
    this.#ended.resolve({ isClean: true })
  }
}

test('accepting, draining, stopped: clean when the work ends by itself', async () => {
  const work = new Work()
  assert.equal(work.drain.state, 'accepting')
  const ended = work.begin()
  assert.deepEqual([work.drain.state, work.calls, work.begun], ['draining', 1, [10_000]])
  work.end()
  assert.deepEqual(await ended, { isClean: true })
  assert.equal(work.drain.state, 'stopped')
  assert.equal(work.clock.pending, 0)
})

test('D1 begun twice is one drain, with the earliest deadline', async () => {
  const work = new Work()
  const first = work.begin({ deadline: 5_000 })
  const longer = work.begin({ deadline: 60_000 })
  await work.clock.advance(1_000)
  const shorter = work.begin({ deadline: 500 })
  await work.clock.advance(499)
  assert.equal(work.drain.state, 'draining')
  await work.clock.advance(1)
  assert.deepEqual(await first, { isClean: false })
  assert.deepEqual(await Promise.all([longer, shorter]), [await first, await first])
  assert.deepEqual([work.calls, work.begun], [1, [5_000]])
})

test('the deadline ends the waiting, not a moment before', async () => {
  const work = new Work()
  const ended = work.begin()
  await work.clock.advance(9_999)
  assert.equal(work.drain.state, 'draining')
  await work.clock.advance(1)
  assert.deepEqual(await ended, { isClean: false })
})

test('a signal counts as the deadline, also one that comes later or has aborted', async () => {
  const work = new Work()
  const controller = new AbortController()
  const ended = work.begin({ deadline: Infinity, signal: controller.signal })
  await work.clock.advance(1_000_000)
  assert.equal(work.drain.state, 'draining')
  controller.abort()
  await work.clock.advance(0)
  assert.deepEqual(await ended, { isClean: false })
  const other = new Work()
  const aborted = other.begin({ signal: AbortSignal.abort() })
  await other.clock.advance(0)
  assert.deepEqual(await aborted, { isClean: false })
})

test('D3 nothing is left behind, and a stopped server cannot be drained again', async () => {
  const work = new Work()
  const { signal } = new AbortController()
  const ended = work.begin({ signal })
  work.end()
  await ended
  assert.deepEqual(await work.begin({ deadline: 1, signal }), { isClean: true })
  assert.deepEqual(
    [work.clock.pending, getEventListeners(signal, 'abort').length, work.calls],
    [0, 0, 1],
  )
})
