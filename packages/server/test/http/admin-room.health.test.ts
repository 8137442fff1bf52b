import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { cancel, compute, quiet, waiting } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

/** The machine may hold up the loop: that is a cause of its own, and server.loop.test.ts is about it. */
const loopGap = Infinity

test('alive and ready; the figures are current', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { loopGap } })
  assert.deepEqual((await call(server, '/readyz')).body, {
    ready: true,
    draining: false,
    causes: [],
  })
  const idle = await call(server, '/healthz')
  assert.deepEqual([idle.status, idle.body['status'], idle.body['state']], [200, 'ok', 'accepting'])
  assert.deepEqual([idle.body['works'], idle.body['requests']], [0, 0])
  const { reply } = compute(server, 'work', 1)
  await waiting(server, 1)
  const busy = (await call(server, '/healthz')).body
  assert.deepEqual([busy['works'], busy['requests']], [1, 1])
  gate.finishAll()
  await reply
  await quiet(server)
  const later = (await call(server, '/healthz')).body
  assert.equal((later['outcomes'] as { success: number }).success, 1)
  assert.equal((later['cache'] as { entries: number }).entries, 1)
})

test('a full server is alive, and not ready with the reason', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1, loopGap }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const { reply } = compute(server, 'work', 1)
  await gate.started()
  const ready = await call(server, '/readyz')
  assert.equal(ready.status, 503)
  assert.deepEqual(ready.body, { ready: false, draining: false, causes: ['the queues are full'] })
  const health = await call(server, '/healthz')
  assert.deepEqual([health.status, health.body['status']], [200, 'degraded'])
  gate.finishAll()
  await reply
  await quiet(server)
  assert.equal((await call(server, '/readyz')).status, 200)
})

test('stopped work that still runs is named; not ready only when it has all slots', async () => {
  const gate = new Gate('work')
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const limits = { loop: 2, loopGap }
  const server = await startServer({ jobs: [gate.job], port: 0, threads: 1, limits, kernel })
  const told = async (): Promise<unknown[]> => {
    const { status, body } = await call(server, '/readyz')
    const health = (await call(server, '/healthz')).body
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    const figure = (name: string): string | undefined =>
      new RegExp(`^${name}\\{stage="prepare"\\} (\\d+)$`, 'm').exec(metrics)?.[1]
    const { causes } = health
    return [
      status,
      body['causes'],
      causes,
      figure('heddle_stopping'),
      figure('heddle_unresponsive_total'),
    ]
  }
  const leave = async (input: number): Promise<void> => {
    const id = `request-${input}`
    const { reply } = compute(server, 'work', input, { headers: { 'x-request-id': id } })
    await gate.started(input)
    await cancel(server, id)
    assert.equal((await reply).status, 499)
  }
  await leave(1)
  const one = 'asked to stop, and still running in the first stage: 1'
  assert.deepEqual(await told(), [200, [], [one], '1', '0'])
  await leave(2)
  const all = 'jobs that were stopped still hold all permits of loop'
  const two = 'asked to stop, and still running in the first stage: 2'
  assert.deepEqual(await told(), [503, [all], [all, two], '2', '0'])
  // One stops late; the other never does, and its slot is given away after its grace.
  gate.starts[0]!.finish('late')
  await until(() => server.stats().prepare.stopping === 1)
  await clock.advance(60_000)
  assert.deepEqual(await told(), [200, [], [], '0', '1'])
  await server.drain({ deadline: 0 })
})

test('above 75 % priority 0 is still taken: ready, and degraded with the reason', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 4, loop: 8, loopGap }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const calls = [1, 2, 3, 4].map((input) => compute(server, 'work', input, { query: 'priority=0' }))
  await gate.started(4)
  assert.equal((await call(server, '/readyz')).status, 503)
  gate.starts[0]!.finish(1)
  await calls[0]!.reply
  await until(() => server.stats().prepare.queue.running === 3)
  await gate.started(4)
  // Three of four: 75 % is not above 75 %. With a fourth at priority 0 it was full.
  assert.equal((await call(server, '/readyz')).status, 200)
  gate.finishAll()
  await Promise.all(calls.map(({ reply }) => reply))
})
