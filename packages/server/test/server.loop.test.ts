import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job, type InputSchema } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startServer } from '../src/server.ts'
import { call } from './support/client.ts'
import { until } from '../../core/test/kernel/until.ts'

/**
 * Holds up the loop until the process has had a processor for this many milliseconds: the time in which the machine had
 * none for it is not blamed on any code.
 */
function spin(milliseconds: number): void {
  const ran = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  const enough = ran() + milliseconds
  while (ran() < enough);
}

const block = job({ name: 'block' }, ([milliseconds]: [milliseconds: number, again: number]) => {
  spin(milliseconds)
  return 'done'
})

test('S60 a job that blocks the loop: not ready with the cause, a log line and a metric; ready again later', async () => {
  const clock = new VirtualClock()
  const warnings: string[] = []
  await using server = await startServer({
    jobs: [block],
    port: 0,
    threads: 1,
    // Longer than a cold start, and half of the job's time.
    limits: { loopGap: 200 },
    kernel: { clock, random: seededRandom(1) },
    onLog: ({ level, text }) => level === 'warning' && warnings.push(text),
  })
  await clock.advance(11_000)
  const before = await call(server, '/readyz')
  assert.deepEqual([before.status, before.body['ready']], [200, true])
  // The thread that samples the loop can be late on a busy machine: then the gap has no name.
  for (let tries = 1; !warnings.at(-1)?.includes('"block-'); tries++) {
    const reply = await call(server, '/jobs/block?wait=60000', { body: [400, tries] })
    assert.equal(reply.body['result'], 'done')
    await until(() => warnings.length >= tries)
  }
  assert.match(
    warnings.at(-1)!,
    /^The event loop was blocked for \d+ ms by job "block-\w+"( \(seen late.*\))?\.$/,
  )
  const { status, body } = await call(server, '/readyz')
  assert.deepEqual([status, body['ready'], body['draining']], [503, false, false])
  assert.match(String(body['causes']), /the event loop was blocked for \d+ ms by job "block-/)
  // It is alive, and takes work all the same: readiness is advice.
  const health = await call(server, '/healthz')
  assert.ok((health.body['loop'] as { gaps: number }).gaps >= 1)
  assert.equal((await call(server, '/jobs/block?wait=60000', { body: [0, 0] })).status, 200)
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  assert.match(metrics, /^heddle_\w*gaps\w* [1-9]\d*$/m)
  await clock.advance(9_000)
  assert.equal((await call(server, '/readyz')).status, 503)
  await clock.advance(2_000)
  assert.equal((await call(server, '/readyz')).status, 200)
})

/** A schema that holds up the loop: it runs in the request, before there is a job. */
const slowSchema: InputSchema<number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      spin(400)
      return { value: value as number }
    },
  },
}

test('S52 a gap of the loop in a request is logged with its route', async () => {
  const warnings: string[] = []
  await using server = await startServer({
    jobs: [job({ name: 'checked', input: slowSchema }, (n: number) => n)],
    port: 0,
    threads: 1,
    limits: { loopGap: 200 },
    onLog: ({ level, text }) => level === 'warning' && warnings.push(text),
  })
  // Retried like above: on a busy machine a gap may have no name.
  for (let tries = 1; !warnings.at(-1)?.includes('POST /jobs/:name'); tries++) {
    assert.equal((await call(server, '/jobs/checked?wait=60000', { body: tries })).status, 200)
    await until(() => warnings.length >= tries)
  }
  assert.match(warnings.at(-1)!, /^The event loop was blocked for \d+ ms by POST \/jobs\/:name/)
})
