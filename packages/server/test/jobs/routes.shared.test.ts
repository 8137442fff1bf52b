/** One computation for all callers with the same input, and what happens to it when they leave. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveJob, startServer } from '../../src/index.ts'
import { begin, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, fetchResult, long, quiet, submit, waiting } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

test('S8 S12 two that are the same at once: both answered alike, computed once, found again later', async () => {
  const gate = new Gate<{ a: number; b: number }>('plot')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const first = compute(server, 'plot', { a: 1, b: 2 })
  const second = begin(server, `/jobs/plot?${long}`, {
    method: 'POST',
    text: '{ "b": 2, "a": 1.0 }',
  })
  await waiting(server, 2)
  gate.finishAll(() => ({ svg: '<svg/>' }))
  const [one, two] = await Promise.all([first.reply, second.reply])
  assert.deepEqual([one.status, two.status], [200, 200])
  assert.deepEqual(one.body['result'], { svg: '<svg/>' })
  const { request: firstId, ...firstBody } = one.body
  const { request: secondId, ...secondBody } = two.body
  assert.deepEqual(firstBody, secondBody)
  assert.notEqual(firstId, secondId)
  await quiet(server)
  const later = await compute(server, 'plot', { a: 1, b: 2 }).reply
  assert.deepEqual([later.status, later.body['result']], [200, { svg: '<svg/>' }])
  assert.equal(gate.starts.length, 1)
  await quiet(server)
})

test('S13 a GET while an interactive submit runs: answered by the same completion', async () => {
  const gate = new Gate('plot')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const { reply } = submit(server, 'plot', 1, { query: `${long}&priority=0` })
  await gate.started()
  const { handle } = (await submit(server, 'plot', 1).reply).body
  const asked = fetchResult(server, handle, 0, long)
  await waiting(server, 2)
  gate.finishAll(() => 'one')
  const answers = await Promise.all([reply, asked.reply])
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body['result']]),
    [
      [200, 'one'],
      [200, 'one'],
    ],
  )
  assert.equal(gate.starts.length, 1)
  await quiet(server)
})

test('S44 asked twenty times with a cold cache: one computation, and the load shows it', async () => {
  const gate = new Gate('plot')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const all = Array.from({ length: 20 }, () => compute(server, 'plot', 'same'))
  await waiting(server, 20)
  const { body } = await call(server, '/healthz')
  assert.equal(body['works'], 1)
  assert.deepEqual((body['queues'] as { prepare: { running: number } }).prepare.running, 1)
  assert.equal((body['load'] as { utilisation: number }).utilisation, 1 / 32)
  gate.finishAll(() => 'result')
  for (const { reply } of all) assert.equal((await reply).status, 200)
  assert.equal(gate.starts.length, 1)
  await quiet(server)
})

test('S64 one of three leaves: the job continues and two are answered', async () => {
  const gate = new Gate('plot')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const all = [1, 2, 3].map(() => compute(server, 'plot', 'same'))
  await waiting(server, 3)
  all[0]!.request.destroy()
  await waiting(server, 2)
  assert.equal(gate.starts[0]!.context.cancelled, false)
  gate.finishAll(() => 'result')
  for (const { reply } of all.slice(1)) assert.equal((await reply).body['result'], 'result')
  const { outcomes } = server.stats().registry
  assert.deepEqual([outcomes.success, outcomes.disconnected], [2, 1])
  await quiet(server)
})

for (const whenAbandoned of ['cancel', 'keep'] as const) {
  test(`S65 all three leave: ${whenAbandoned}`, async () => {
    const gate = new Gate('plot')
    const served = serveJob({ name: 'plot', prepare: gate.job, whenAbandoned })
    await using server = await startServer({ jobs: [served], port: 0 })
    const all = [1, 2, 3].map(() => compute(server, 'plot', 'same'))
    await waiting(server, 3)
    for (const { request } of all) request.destroy()
    await waiting(server, 0)
    const isCancelled = whenAbandoned === 'cancel'
    assert.equal(gate.starts[0]!.context.cancelled, isCancelled)
    gate.finishAll(() => 'result')
    await quiet(server)
    const { status } = await submit(server, 'plot', 'same').reply
    assert.equal(status, 202)
    await until(() => gate.starts.length === (isCancelled ? 2 : 1))
    gate.finishAll(() => 'again')
    await quiet(server)
    assert.equal(server.stats().registry.outcomes.disconnected, 3)
  })
}

test('S75 the same content in two slots: both answered from one computation, neither superseded', async () => {
  const gate = new Gate('plot')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const ada = compute(server, 'plot', 'same', { query: 'slot=ada' })
  const bob = compute(server, 'plot', 'same', { query: 'slot=bob' })
  await waiting(server, 2)
  gate.finishAll(() => 'result')
  assert.deepEqual([(await ada.reply).status, (await bob.reply).status], [200, 200])
  assert.equal(gate.starts.length, 1)
  await quiet(server)
})
