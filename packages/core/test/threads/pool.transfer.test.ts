import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { HeddleError, isError } from '../../src/errors.ts'
import { createFlags, createKernel, createPool, waitStarted } from './fixtures/support.ts'
import { until } from '../kernel/until.ts'

const megabyte = 2 ** 20

test('S59: 100 MB are moved into the thread, not copied; the input is empty afterwards', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  await run('sum', new Uint8Array([1, 2]).buffer)
  const buffer = new Uint8Array(100 * megabyte).fill(7).buffer
  const before = process.memoryUsage().rss
  const sum = run('sum', buffer, { transfer: [buffer] })
  assert.equal(await sum, 14)
  const growth = (process.memoryUsage().rss - before) / megabyte
  assert.ok(growth < 20, `memory has grown by ${growth.toFixed(1)} MB`)
  assert.equal(buffer.detached, true)
})

test('a transferred input is sent to a thread that is free, and only there', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  for (let index = 0; index < 20; index++) await run('echo', index)
  const buffer = new ArrayBuffer(8)
  const first = run('echo', 1)
  const moved = run('echo', buffer, { transfer: [buffer] })
  const last = run('echo', 2)
  assert.deepEqual([pool.stats().inFlight, pool.stats().queued], [1, 2])
  assert.equal(buffer.detached, false)
  assert.deepEqual(await Promise.all([first, last]), [1, 2])
  assert.equal(((await moved) as ArrayBuffer).byteLength, 8)
  assert.equal(buffer.detached, true)
})

test('a transferred input that is cancelled while it waits is not moved', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const first = run('plus', 1)
  const buffer = new ArrayBuffer(8)
  const controller = new AbortController()
  const { signal } = controller
  const moved = run('echo', buffer, { transfer: [buffer], signal })
  controller.abort()
  await assert.rejects(moved, { code: 'HDL_CANCELLED' })
  await first
  assert.equal(buffer.detached, false)
})

test('a transferred input that cannot be moved twice fails its own task', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const buffer = new ArrayBuffer(8)
  const once = run('echo', buffer, { transfer: [buffer] })
  const twice = run('echo', buffer, { transfer: [buffer] })
  await assert.rejects(twice, { code: 'HDL_NOT_CLONEABLE' })
  await once
})

test('large results are moved: whole, in a field, and as typed arrays', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const bytes = (await run('bytes', megabyte)) as Uint8Array
  assert.equal(bytes.length, megabyte)
  assert.equal(bytes[5], 7)
  const picture = (await run('picture', megabyte)) as { width: number; data: Uint8Array }
  assert.equal(picture.data.length, megabyte)
  const memory = (await run('wasmMemory')) as Uint8Array
  assert.equal(memory.length, 65536, 'what cannot be moved is copied')
})

test('a job that returns the same buffer again gets an error, instead of sending it empty', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  assert.equal(((await run('sameTable')) as Uint8Array).length, 65536)
  await assert.rejects(run('sameTable'), (error) => {
    assert.ok(isError(error, 'HDL_NOT_CLONEABLE'))
    assert.match(error.message, /given away with an earlier result/)
    return true
  })
})

test('an input that cannot be cloned fails alone, also in the middle of a batch', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  for (let index = 0; index < 20; index++) await run('echo', index)
  const throwing = {
    get bad() {
      throw new Error('no')
    },
  }
  const work = [1, () => 0, 2, throwing, 3, Symbol('s'), 4].map((input) => run('echo', input))
  const outcomes = await Promise.allSettled(work)
  assert.deepEqual(
    outcomes.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code)),
    [1, 'HDL_NOT_CLONEABLE', 2, 'HDL_NOT_CLONEABLE', 3, 'HDL_NOT_CLONEABLE', 4],
  )
  const refused = outcomes[1] as PromiseRejectedResult
  assert.match(refused.reason.message, /The input of Job "echo" cannot be sent to another thread/)
})

test('a result that cannot be cloned fails alone', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  await assert.rejects(run('notCloneable'), (error) => {
    assert.ok(isError(error, 'HDL_NOT_CLONEABLE'))
    assert.match(error.message, /The result of Job "notCloneable"/)
    return true
  })
  assert.equal(await run('plus', 1), 2)
  assert.equal(pool.stats().crashed, 0)
})

test('an error of a job arrives with class, code, fields, cause and the stack of the thread', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  await assert.rejects(run('fail', 'broken'), (error) => {
    assert.ok(error instanceof TypeError)
    const { message, code, status, cause, stack } = error as TypeError & Record<string, unknown>
    assert.deepEqual([message, code, status], ['broken', 'E_TEST', 418])
    assert.equal((cause as Error).message, 'below')
    assert.match(stack as string, /jobs\.ts/)
    assert.ok(!('callback' in error))
    return true
  })
  await assert.rejects(run('failOurs'), (error) => {
    assert.ok(error instanceof HeddleError)
    assert.ok(isError(error, 'HDL_LOCKED'))
    assert.deepEqual(error.details, { path: '/x', holder: 'y' })
    return true
  })
})

function countingSource(chunks: number) {
  const seen = { pulls: 0, isCancelled: false, reason: undefined as unknown }
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.pulls++ === chunks) controller.close()
        else controller.enqueue(new Uint8Array(1000))
      },
      cancel(reason) {
        seen.isCancelled = true
        seen.reason = reason
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, seen }
}

test('[STREAM/THREAD] a stream is read in the thread, chunk by chunk, to its end', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const { stream, seen } = countingSource(50)
  assert.equal(await run('countBytes', { body: stream }), 50_000)
  assert.equal(seen.isCancelled, false)
  assert.equal(await run('countBytes', countingSource(3).stream), 3000)
  const readable = Readable.from([Buffer.alloc(10), Buffer.alloc(20)])
  assert.equal(await run('countBytes', readable), 30)
})

test('[STREAM/THREAD] the source is read no faster than the job reads, and cancelled when it stops', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  const { stream, seen } = countingSource(1000)
  assert.equal(await run('readOne', stream), 1000)
  await until(() => seen.isCancelled)
  assert.ok(seen.pulls < 5, `${seen.pulls} chunks were read for one`)
})

test('[STREAM/THREAD] a stream behind short jobs waits for a thread of its own', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  for (let index = 0; index < 20; index++)
    await run('countBytes', new ReadableStream({ start: (c) => c.close() }))
  for (let index = 0; index < 20; index++) await run('echo', index)
  const work = [
    run('echo', 1),
    run('countBytes', countingSource(2).stream),
    run('echo', 2),
    run('countBytes', { body: countingSource(3).stream }),
  ]
  assert.deepEqual(await Promise.all(work), [1, 2000, 2, 3000])
})

test('[STREAM/THREAD] P1: the source is cancelled when the thread that reads it is ended', async () => {
  const kernel = createKernel()
  await using made = createPool({ threads: 1, grace: 10, kernel })
  const { run } = made
  const { stream, seen } = countingSource(1000)
  const flags = createFlags()
  const controller = new AbortController()
  const work = run('readOneAndHang', { flags, body: stream }, { signal: controller.signal })
  await waitStarted(flags)
  controller.abort('stop')
  const rejected = assert.rejects(work, { code: 'HDL_CANCELLED' })
  await kernel.clock.advance(10)
  await rejected
  await until(() => seen.isCancelled)
  assert.ok(isError(seen.reason, 'HDL_CANCELLED'))
})

test('[STREAM/THREAD] an error of the source reaches the job', async () => {
  await using made = createPool({ threads: 1 })
  const stream = new ReadableStream({
    pull: () => Promise.reject(new Error('disk on fire')),
  })
  await assert.rejects(made.run('countBytes', stream), /disk on fire/)
})

test('[STREAM/THREAD] a stream with another reader cannot be sent', async () => {
  await using made = createPool({ threads: 1 })
  const { stream } = countingSource(1)
  stream.getReader()
  await assert.rejects(made.run('countBytes', stream), { code: 'HDL_NOT_CLONEABLE' })
})
