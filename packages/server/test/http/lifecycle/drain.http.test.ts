import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { job, type InputSchema } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startServer, type Server, type ServerOptions } from '../../../src/server.ts'
import { begin, call, head, Wire, type Reply } from '../../support/client.ts'
import { Gate } from '../../support/gates.ts'
import { until } from '../../../../core/test/kernel/until.ts'

const waiting = '/jobs/work?wait=600000'

interface Place {
  readonly server: Server
  readonly clock: VirtualClock
  readonly gate: Gate<number>
}

/** A server whose time is the test's. */
async function open(options: Partial<ServerOptions> = {}): Promise<Place> {
  const clock = new VirtualClock()
  const gate = new Gate<number>('work')
  const kernel = { clock, random: seededRandom(1) }
  // The machine may hold up the loop: that would be another cause of not being ready.
  const loopGap = Infinity
  const limits = { loop: 4, prepareCapacity: 200, drain: 10_000, loopGap, ...options.limits }
  const server = await startServer({
    jobs: [gate.job],
    port: 0,
    threads: 1,
    kernel,
    ...options,
    limits,
  })
  return { server, clock, gate }
}

/** Waits for the end of a server whose clock stands still. */
async function stopped({ server, clock }: Place): Promise<boolean> {
  let isOver = false
  const end = server.stopped.finally(() => (isOver = true))
  while (!isOver) await clock.advance(100)
  return (await end).isClean
}

test('S91 running and queued requests are answered, then the server is gone', async () => {
  const place = await open()
  const { server, gate } = place
  const calls = Array.from({ length: 8 }, (_, body) => begin(server, waiting, { body }))
  await until(() => gate.starts.length === 4 && server.stats().prepare.queue.queued === 4)
  const drained = server.drain()
  assert.equal(server.state, 'draining')
  for (let count = 1; count <= 8; count++) (await gate.started(count)).finish(`done`)
  for (const { reply } of calls) assert.equal((await reply).status, 200)
  assert.equal(await stopped(place), true)
  assert.deepEqual(await drained, { isClean: true })
  assert.equal(server.state, 'stopped')
  await assert.rejects(call(server, '/healthz'), { code: 'ECONNREFUSED' })
  assert.equal(place.clock.pending, 0)
})

test('S93, S94, S98 while draining: submits are refused in JSON on open connections, the rest is served', async () => {
  const place = await open()
  const { server, gate } = place
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { body: first } = await call(server, '/jobs/work', { body: 1, agent })
  const running = await gate.started()
  const drained = server.drain()

  const refused = await call(server, '/jobs/work', { body: 2, agent })
  assert.equal(refused.status, 503)
  assert.deepEqual(
    [refused.body.error?.code, refused.body.error?.retryable],
    ['shutting_down', true],
  )
  assert.match(refused.headers['content-type']!, /^application\/json/)
  assert.equal(refused.headers['connection'], 'close')
  assert.match(refused.headers['retry-after']!, /^[12]$/)

  const alive = await call(server, '/healthz')
  assert.deepEqual(
    [alive.status, alive.body['draining'], alive.body['state']],
    [200, true, 'draining'],
  )
  const ready = await call(server, '/readyz')
  assert.deepEqual(
    [ready.status, ready.body['draining'], ready.body['causes']],
    [503, true, ['draining']],
  )

  const asked = begin(server, `/results/${String(first['handle'])}/0`)
  // It waits for 0 milliseconds.
  await until(() => server.stats().registry.active === 1)
  await place.clock.advance(0)
  const pending = await asked.reply
  assert.deepEqual([pending.status, pending.body['state']], [202, 'pending'])
  const waits = begin(server, `/results/${String(first['handle'])}/0?wait=600000`)
  await until(() => server.stats().registry.active === 1)
  const cancel = await call(server, '/requests/nobody', { method: 'DELETE' })
  assert.equal(cancel.body.error?.code, 'unknown_request')
  running.finish('done')
  assert.equal((await waits.reply).body['result'], 'done')
  assert.equal(await stopped(place), true)
  await drained
  agent.destroy()
})

test('S92, S95 at the deadline 100 waiters are answered, and no client finds a connection cut', async () => {
  const place = await open()
  const { server, clock, gate } = place
  const calls = Array.from({ length: 100 }, (_, body) => begin(server, waiting, { body }))
  await until(() => server.stats().registry.active === 100)
  const drained = server.drain({ deadline: 2_000 })
  await clock.advance(1_999)
  assert.equal(server.stats().registry.active, 100)
  await clock.advance(1)
  const replies: Reply[] = []
  for (const { reply } of calls) replies.push(await reply)
  for (const { status, headers, body } of replies) {
    assert.deepEqual([status, body.error?.code], [503, 'shutting_down'])
    assert.match(headers['retry-after']!, /^[12]$/)
    assert.equal(headers['connection'], 'close')
  }
  assert.equal(await stopped(place), false)
  assert.deepEqual(await drained, { isClean: false })
  // Slots were for four: the others never started.
  assert.equal(gate.starts.length, 4)
  // These jobs ignore their signals: the server can only wait out their grace.
  await clock.advance(5_000)
  assert.equal(clock.pending, 0)
})

test('idle connections, and one whose request never arrives, do not delay the end of the server', async () => {
  const place = await open()
  const { server } = place
  using idle = new Wire(server)
  await idle.send('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await idle.has(/"status"/)
  using unfinished = new Wire(server)
  await unfinished.send(`${head('/jobs/work', 100)}{`)
  await until(() => server.stats().arrivals.arriving === 1)
  const drained = server.drain({ deadline: 1_000 })
  // A request that has not arrived was not admitted: the drain is clean.
  assert.equal(await stopped(place), true)
  await drained
  await Promise.all([idle.closed(), unfinished.closed()])
})

test('POST /drain does the same as a signal, with its own deadline', async () => {
  const told: number[] = []
  const place = await open({ onDrain: (deadline) => told.push(deadline) })
  const { server, gate } = place
  await call(server, '/jobs/work', { body: 1 })
  await gate.started()
  const answer = await call(server, '/drain', { body: { deadline_ms: 700 } })
  assert.deepEqual([answer.status, answer.body['state']], [202, 'draining'])
  assert.deepEqual(told, [700])
  assert.equal(await stopped(place), false)
  assert.equal(place.clock.now() >= 700, true)
  assert.equal(await call(server, '/drain').catch(() => undefined), undefined)
})

test('a server without work is drained at once and cleanly, whatever the deadline', async () => {
  for (const deadline of [0, 10_000]) {
    const place = await open()
    const drained = place.server.drain({ deadline })
    assert.equal(await stopped(place), true)
    assert.deepEqual(await drained, { isClean: true })
    assert.equal(place.clock.pending, 0)
  }
})

test('S96 two servers, one after the other or at the same time, share nothing', async () => {
  for (let round = 0; round < 2; round++) {
    const place = await open()
    const other = await open()
    const { server, gate } = place
    const { reply } = begin(server, waiting, { body: 1 })
    ;(await gate.started()).finish(round)
    assert.equal((await reply).body['result'], round)
    assert.equal(server.stats().registry.submitted, 1)
    assert.equal(other.server.stats().registry.submitted, 0)
    for (const one of [place, other]) {
      void one.server.drain()
      assert.equal(await stopped(one), true)
    }
    assert.equal(gate.starts.length, 1)
  }
})

test('W2 a schema that never answers does not delay a drain: at the deadline its caller gets the error', async () => {
  const validate = (): Promise<never> => new Promise(() => undefined)
  const input: InputSchema = { '~standard': { version: 1, vendor: 'test', validate } }
  const stuck = job({ name: 'stuck', input }, () => 1)
  await using server = await startServer({ jobs: [stuck], port: 0 })
  const { reply } = begin(server, '/jobs/stuck?wait=60000', { body: 1 })
  await until(() => server.stats().prepare.queue.reserved === 1)
  const drained = server.drain({ deadline: 1 })
  const { status, body, headers } = await reply
  assert.deepEqual([status, body.error?.code], [503, 'shutting_down'])
  assert.notEqual(headers['retry-after'], undefined)
  assert.deepEqual(await drained, { isClean: false })
})
