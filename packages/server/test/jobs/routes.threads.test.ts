/** Jobs in threads, through HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { cancel, compute, quiet, submit, waiting } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'
import * as jobs from './fixtures/thread-jobs.ts'

test('S54 a job that exits or throws in its thread: only that one fails, with 500, and others finish', async () => {
  await using server = await startServer({ jobs, port: 0, errorDetails: 'everyone', threads: 2 })
  const failing = [
    compute(server, 'exits', 1),
    compute(server, 'throws', 1),
    compute(server, 'throws-later', 1),
  ]
  const fine = [1, 2, 3, 4].map((n) => compute(server, 'doubles', n))
  const failed = await Promise.all(failing.map(({ reply }) => reply))
  assert.deepEqual(
    failed.map(({ status, body }) => [status, body.error?.code]),
    [1, 2, 3].map(() => [500, 'job_failed']),
  )
  assert.match(failed[0]!.body.error!.message, /thread that ran "exits-[0-9a-f]+" ended/)
  assert.equal(failed[0]!.body.error!.retryable, true, 'another thread may have more luck')
  assert.match(failed[1]!.body.error!.message, /not a number/)
  const answers = await Promise.all(fine.map(({ reply }) => reply))
  assert.deepEqual(
    answers.map(({ body }) => body['result']),
    [2, 4, 6, 8],
  )
  assert.equal((await compute(server, 'doubles', 21).reply).body['result'], 42)
  const { body } = await call(server, '/healthz')
  assert.equal((body['threads'] as { crashed: number }).crashed, 2)
  await quiet(server)
})

test('S54 a job that takes too much memory fails with that reason, and the server continues', async () => {
  const limits = { threadMemory: 32 * 2 ** 20 }
  const options = { jobs, port: 0, errorDetails: 'everyone', threads: 2, limits } as const
  await using server = await startServer(options)
  const hungry = compute(server, 'eats-memory', 1)
  const fine = compute(server, 'doubles', 4)
  const { status, body } = await hungry.reply
  assert.deepEqual([status, body.error?.code], [500, 'job_failed'])
  assert.match(body.error!.message, /"eats-memory-[0-9a-f]+" ended.*out of memory/i)
  assert.equal((await fine.reply).body['result'], 8)
  assert.equal((await compute(server, 'doubles', 21).reply).body['result'], 42)
  assert.equal((await call(server, '/healthz')).status, 200)
  // Acknowledged without a wait, it is a failure of that job too, for later callers.
  const { body: promised } = await submit(server, 'eats-memory', 2).reply
  const later = await call(server, `/results/${String(promised['handle'])}/0?wait=60000`)
  assert.deepEqual([later.status, later.body.error?.code], [500, 'job_failed'])
  await quiet(server)
})

test('S51 50 health checks are answered while 64 jobs occupy all threads', async () => {
  const limits = { prepareCapacity: 128, thread: 2 }
  let spinning = 0
  await using server = await startServer({
    jobs,
    port: 0,
    threads: 2,
    limits,
    onLog: ({ text }) => {
      if (text.endsWith('spinning')) spinning++
    },
  })
  const ids = Array.from({ length: 64 }, (_, n) => `spin-${n}`)
  const calls = ids.map((id, n) => compute(server, 'spins', n, { headers: { 'x-request-id': id } }))
  await waiting(server, 64)
  await until(() => spinning === 2)
  for (let check = 0; check < 50; check++) {
    const { status, body } = await call(server, '/healthz')
    const { busy } = body['threads'] as { busy: number }
    assert.deepEqual([status, busy], [200, 2])
  }
  for (const id of ids) await cancel(server, id)
  const statuses = await Promise.all(calls.map(async ({ reply }) => (await reply).status))
  assert.deepEqual(new Set(statuses), new Set([499]))
  await quiet(server)
})

test('S56 cancelled in its thread: the job sees it, its result is discarded, the thread is free again', async () => {
  const { promise: spinning, resolve } = Promise.withResolvers<void>()
  await using server = await startServer({
    jobs,
    port: 0,
    errorDetails: 'everyone',
    threads: 1,
    limits: { thread: 1 },
    onLog: ({ text }) => {
      if (text.endsWith('spinning')) resolve()
    },
  })
  const { reply } = compute(server, 'spins', 1, { headers: { 'x-request-id': 'mine' } })
  await spinning
  await cancel(server, 'mine')
  assert.equal((await reply).status, 499)
  assert.equal((await compute(server, 'doubles', 4).reply).body['result'], 8)
  await quiet(server)
  assert.equal(server.stats().cache.entries, 1, 'only that of the second')
  assert.equal(((await call(server, '/healthz')).body['threads'] as { crashed: number }).crashed, 0)
})
