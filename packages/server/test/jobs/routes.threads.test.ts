/** Jobs in threads, through HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { cancel, compute, quiet } from '../support/http.ts'
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
