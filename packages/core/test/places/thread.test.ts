import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, isError, run, startRun, type RunEvent } from '@heddle/core'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { threadPlace } from '../../src/places/thread.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { exits, says, square, stubborn, waitsForFlag } from '../run/fixtures/jobs.ts'

test('a run with more slots than the pool has room waits instead of being refused', async () => {
  await using pool = new ThreadPool({ threads: 1, maxQueue: 1 })
  const g = new Graph()
  const refs = Array.from({ length: 30 }, (_, n) => g.add(`n${n}`, square, { input: n }))
  const result = await run(g, { concurrency: 30, places: { thread: threadPlace(pool) } })
  assert.equal(result.ok, true)
  assert.deepEqual(
    refs.map((ref) => result.of(ref).value),
    refs.map((_, n) => n * n),
  )
  assert.equal(pool.stats().refused, 0)
})

test('log lines of a job in a thread reach the observers, with its name and attempt', async () => {
  const events: RunEvent[] = []
  const g = new Graph()
  g.add('talker', says, { input: 'hello' })
  await run(g, { observer: (event) => events.push(event) })
  const logs = events.filter((event) => event.type === 'log')
  assert.deepEqual(
    logs.map(({ name, attempt, text }) => ({ name, attempt, text })),
    [{ name: 'talker', attempt: 0, text: 'hello' }],
  )
})

test('a node that keeps ending its thread is put in quarantine, for this run', async () => {
  await using pool = new ThreadPool({ threads: 1, crashLimit: 2 })
  const g = new Graph()
  g.add('poison', exits)
  const options = { retries: 5, retryBaseDelay: 0 }
  const first = await run(g, { ...options, places: { thread: threadPlace(pool) } })
  assert.match(String(first.failed.get('poison')), /"poison" has ended 2 threads in a row/)
  assert.equal(first.errors.get('poison')?.length, 3, 'the refusal is final')
  const next = await run(g, { places: { thread: threadPlace(pool) } })
  assert.match(String(next.failed.get('poison')), /ended: /, 'the next run may try it again')
})

test('the timeout of a thread job starts when the job does, not while it waits for a thread', async () => {
  await using pool = new ThreadPool({ threads: 1 })
  const flags = [0, 1].map(() => new Int32Array(new SharedArrayBuffer(4)))
  const clock = new VirtualClock()
  const g = new Graph()
  for (const [n, flag] of flags.entries())
    g.add(`n${n}`, waitsForFlag, { input: flag, timeout: 500 })
  const { scheduler, result } = await startRun(g, {
    concurrency: 2,
    kernel: { clock, random: seededRandom(1) },
    places: { thread: threadPlace(pool) },
  })
  const ended = (name: string): Promise<void> =>
    new Promise((done) => {
      scheduler.observe((event) => {
        if (event.type === 'node' && event.name === name && event.state === 'succeeded') done()
      })
    })
  const firstEnded = ended('n0')
  await clock.advance(499)
  Atomics.store(flags[0]!, 0, 1)
  Atomics.notify(flags[0]!, 0)
  await firstEnded
  await clock.advance(499)
  Atomics.store(flags[1]!, 0, 1)
  Atomics.notify(flags[1]!, 0)
  assert.equal((await result).ok, true)
})

test('one grace: half of it for the job, half for its thread, and then the attempt ends', async () => {
  for (const abortGrace of [200, 10_000]) {
    const clock = new VirtualClock()
    const kernel = { clock, random: seededRandom(1) }
    await using pool = new ThreadPool({ threads: 1, kernel })
    const g = new Graph()
    const started = new Int32Array(new SharedArrayBuffer(4))
    g.add('stubborn', stubborn, { input: started, timeout: 500 })
    const places = { thread: threadPlace(pool) }
    const { result } = await startRun(g, { kernel, abortGrace, places })
    await Atomics.waitAsync(started, 0, 0).value
    await clock.settle()
    try {
      await clock.advance(500)
      await clock.advance(abortGrace / 2 - 1)
      assert.equal(pool.stats().killed, 0, `the job has half of ${abortGrace} ms`)
      await clock.advance(1)
      assert.equal(pool.stats().killed, 1)
      const { failed } = await result
      assert.ok(isError(failed.get('stubborn'), 'HDL_TIMEOUT'), String(failed.get('stubborn')))
      assert.equal(clock.pending, 0)
    } finally {
      // Without it a failed assertion would wait for the thread for ever.
      await clock.advance(60_000)
    }
  }
})
