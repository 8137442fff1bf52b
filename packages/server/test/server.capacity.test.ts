/** The number of running jobs on a server without configured limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../src/server.ts'
import * as threadJobs from './jobs/fixtures/thread-jobs.ts'
import { cancel, compute, quiet } from './support/http.ts'
import { Gate } from './support/gates.ts'
import { until } from '../../core/test/kernel/until.ts'

test('jobs on the loop wait for each other only at the door: eight run at a time with two threads', async () => {
  const gate = new Gate('waits')
  await using server = await startServer({ jobs: [gate.job], port: 0, threads: 2 })
  const replies = Array.from({ length: 8 }, (_, i) => compute(server, 'waits', i).reply)
  await gate.started(8)
  gate.finishAll()
  for (const { status } of await Promise.all(replies)) assert.equal(status, 200)
  await quiet(server)
})

test('two thread jobs at a time with two threads, and a third thread that only priority 0 may use', async () => {
  let spinning = 0
  await using server = await startServer({
    jobs: threadJobs,
    port: 0,
    threads: 2,
    onLog: ({ text }) => {
      if (text.endsWith('spinning')) spinning++
    },
  })
  const ordinary = [1, 2, 3].map((n) =>
    compute(server, 'spins', n, { headers: { 'x-request-id': `r${n}` } }),
  )
  await until(() => spinning === 2)
  const { queued, running } = server.stats().prepare.queue
  assert.deepEqual([queued, running], [1, 2])
  const urgent = await compute(server, 'doubles', 4, { query: 'priority=0' }).reply
  assert.equal(urgent.body['result'], 8)
  assert.equal(spinning, 2, 'the reserved thread is not for the third ordinary job')
  for (const n of [1, 2, 3]) await cancel(server, `r${n}`)
  for (const { reply } of ordinary) assert.equal((await reply).status, 499)
  await quiet(server)
})
