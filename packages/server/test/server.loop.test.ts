import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startServer } from '../src/server.ts'
import { call } from './support/client.ts'

/** Holds up the loop for so long, whatever the machine does. */
const block = job({ name: 'block' }, (milliseconds: number) => {
  const until = performance.now() + milliseconds
  while (performance.now() < until);
  return 'done'
})

test('S60 a job that blocks the loop: not ready with the cause, a log line and a metric; ready again later', async () => {
  const clock = new VirtualClock()
  const { promise: warned, resolve: warn } = Promise.withResolvers<string>()
  await using server = await startServer({
    jobs: [block],
    port: 0,
    threads: 1,
    kernel: { clock, random: seededRandom(1) },
    // A busy machine may hold up the loop too: that is another line.
    onLog: ({ level, text }) => level === 'warning' && text.includes('"block-') && warn(text),
  })
  await clock.advance(11_000)
  const before = await call(server, '/readyz')
  assert.deepEqual([before.status, before.body['ready']], [200, true])
  assert.equal((await call(server, '/jobs/block?wait=60000', { body: 400 })).body['result'], 'done')
  assert.match(await warned, /^The event loop was blocked for \d+ ms by job "block-\w+"\.$/)
  const { status, body } = await call(server, '/readyz')
  assert.deepEqual([status, body['ready'], body['draining']], [503, false, false])
  assert.match(String(body['causes']), /the event loop was blocked for \d+ ms by job "block-/)
  // It is alive, and takes work all the same: readiness is advice.
  const health = await call(server, '/healthz')
  assert.ok((health.body['loop'] as { gaps: number }).gaps >= 1)
  assert.equal((await call(server, '/jobs/block?wait=60000', { body: 0 })).status, 200)
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  assert.match(metrics, /^heddle_\w*gaps\w* [1-9]\d*$/m)
  await clock.advance(9_000)
  assert.equal((await call(server, '/readyz')).status, 503)
  await clock.advance(2_000)
  assert.equal((await call(server, '/readyz')).status, 200)
})
