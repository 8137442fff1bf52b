/** Every limit names its stage, and time is the test's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job, type InputSchema } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { seededRandom } from '@heddle/core/lowlevel'
import {
  serveJob,
  startServer,
  type ItemInput,
  type Server,
  type ServerLimits,
} from '../../src/index.ts'
import { begin, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, fetchResult, quiet, submit, waiting } from '../support/http.ts'
import { told } from '../support/told.ts'
import { until } from '../../../core/test/kernel/until.ts'

interface Timed extends AsyncDisposable {
  readonly server: Server
  readonly clock: VirtualClock
}

async function timed(jobs: readonly unknown[], limits: ServerLimits): Promise<Timed> {
  const clock = new VirtualClock()
  const server = await startServer({
    jobs,
    port: 0,
    limits,
    kernel: { clock, random: seededRandom(1) },
  })
  return { server, clock, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('S81 not started in time: 503 with stage "queue", and it never starts', async () => {
  const gate = new Gate('work')
  await using timing = await timed([gate.job], { loop: 1, queue: 200 })
  const { server, clock } = timing
  await submit(server, 'work', 'running').reply
  await gate.started()
  const late = compute(server, 'work', 'late')
  await waiting(server, 1)
  await until(() => server.stats().prepare.queue.queued === 1)
  await clock.advance(199)
  assert.equal(server.stats().registry.active, 1)
  await clock.advance(1)
  const { status, headers, body } = await late.reply
  assert.deepEqual([status, body.error?.code, body.error?.stage], [503, 'timeout', 'queue'])
  assert.equal(body.error?.retryable, true)
  assert.ok(Number(headers['retry-after']) >= 1)
  gate.finishAll()
  await quiet(server)
  assert.equal(gate.starts.length, 1)
})

test('S82 S83 the first stage is too slow: 504 with its name on every path, never 200', async () => {
  const gate = new Gate('work')
  await using timing = await timed([gate.job], { prepare: 300 })
  const { server, clock } = timing
  const waits = compute(server, 'work', 1)
  await gate.started()
  const { handle } = (await submit(server, 'work', 1).reply).body
  const asks = fetchResult(server, handle, 0, 'wait=60000')
  await waiting(server, 2)
  await clock.advance(300)
  for (const { status, body } of await Promise.all([waits.reply, asks.reply])) {
    assert.deepEqual([status, body.error?.code, body.error?.stage], [504, 'timeout', 'prepare'])
  }
  assert.equal(gate.starts[0]!.context.cancelled, true)
  const later = await fetchResult(server, handle).reply
  assert.deepEqual([later.status, later.body.error?.stage], [504, 'prepare'])
  gate.finishAll(() => 'too late')
  await quiet(server)
  assert.equal(server.stats().cache.entries, 0)
})

test('S83 one result of the second stage is too slow: 504 with its name, the others are fine', async () => {
  const load = new Gate('load')
  const plot = new Gate<ItemInput<unknown>>('plot')
  const two = serveJob({ name: 'two', prepare: load.job, item: plot.job, total: 3 })
  await using timing = await timed([two], { item: 300, loop: 3 })
  const { server, clock } = timing
  const all = [0, -1, -2].map((index) => compute(server, 'two', 'csv', { query: `index=${index}` }))
  await waiting(server, 3)
  ;(await load.started()).finish('rows')
  await plot.started(3)
  for (const { input, finish } of plot.starts) if (input.index !== -1) finish(input.index)
  await waiting(server, 1)
  await clock.advance(300)
  const [newest, slow, oldest] = await Promise.all(all.map(({ reply }) => reply))
  assert.deepEqual([newest!.status, oldest!.status], [200, 200])
  assert.deepEqual([slow!.status, slow!.body.error?.stage], [504, 'item'])
  plot.finishAll()
  await quiet(server)
})

test('a limit of the job counts before that of the server', async () => {
  const gate = new Gate('work')
  const served = serveJob({ name: 'quick', prepare: gate.job, limits: { prepare: 10 } })
  await using timing = await timed([served], { prepare: 10_000 })
  const { server, clock } = timing
  const { reply } = compute(server, 'quick', 1)
  await gate.started()
  await clock.advance(10)
  assert.equal((await reply).body.error?.stage, 'prepare')
  gate.finishAll()
  await quiet(server)
})

test('S84 S85 the limit of the request: 504, the job is aborted, nothing is stored; with a body too', async () => {
  const gate = new Gate('work')
  await using timing = await timed([gate.job], { request: 500 })
  const { server, clock } = timing
  const { reply } = compute(server, 'work', { some: 'body' })
  await gate.started()
  await waiting(server, 1)
  await clock.advance(500)
  const { status, body } = await reply
  assert.deepEqual([status, body.error?.code, body.error?.stage], [504, 'timeout', 'prepare'])
  assert.equal(gate.starts[0]!.context.cancelled, true)
  gate.finishAll()
  await quiet(server)
  const { cache, registry } = server.stats()
  assert.equal(cache.entries, 0)
  assert.equal(registry.outcomes.timeout, 1)
})

test('S88 X-Deadline-Ms: the smaller limit counts, and says where the request was', async () => {
  const gate = new Gate('work')
  await using timing = await timed([gate.job], { request: 10_000, loop: 1 })
  const { server, clock } = timing
  await submit(server, 'work', 'running').reply
  await gate.started()
  const short = compute(server, 'work', 'short', { headers: { 'x-deadline-ms': '300' } })
  const large = compute(server, 'work', 'large', { headers: { 'x-deadline-ms': '999999' } })
  await waiting(server, 2)
  await until(() => server.stats().prepare.queue.queued === 2)
  await clock.advance(300)
  const { status, body } = await short.reply
  assert.deepEqual([status, body.error?.stage], [503, 'queue'])
  assert.equal(server.stats().registry.active, 1)
  await clock.advance(9_700)
  assert.equal((await large.reply).body.error?.stage, 'queue')
  for (const bad of ['0', '-1', 'soon', '1.5', '']) {
    const refused = await submit(server, 'work', 1, { headers: { 'x-deadline-ms': bad } }).reply
    assert.equal(refused.status, 400, bad)
    assert.match(
      refused.body.error!.message,
      /X-Deadline-Ms: expected a whole number of milliseconds/,
    )
  }
  gate.finishAll()
  await quiet(server)
})

test('S88 X-Deadline-Ms is one limit for all that a request waits for: the check of its input, and its result', async () => {
  const { promise: checked, resolve: check } = Promise.withResolvers<{ value: unknown }>()
  const input: InputSchema = {
    '~standard': { version: 1, vendor: 'test', validate: () => checked },
  }
  const started = Promise.withResolvers<void>()
  const { promise: end, resolve: finish } = Promise.withResolvers<unknown>()
  const work = job({ name: 'work', input }, () => {
    started.resolve()
    return end
  })
  await using timing = await timed([work], {})
  const { server, clock } = timing
  const answer = told(compute(server, 'work', 1, { headers: { 'x-deadline-ms': '300' } }).reply)
  await until(() => clock.pending > 0 && server.stats().prepare.queue.reserved === 1)
  await clock.advance(200)
  check({ value: 1 })
  await started.promise
  await waiting(server, 1)
  await clock.advance(100)
  // It was sent before these, if it was sent at all.
  for (let n = 0; n < 10 && answer.state === 'pending'; n++) await call(server, '/jobs')
  assert.deepEqual([answer.value?.status, answer.value?.body.error?.stage], [504, 'prepare'])
  finish(1)
  await quiet(server)
})

test('wait is over before the result: 202 with Location, and the work continues', async () => {
  const gate = new Gate('work')
  await using timing = await timed([gate.job], {})
  const { server, clock } = timing
  const { reply } = submit(server, 'work', 1, { query: 'wait=50' })
  await gate.started()
  await waiting(server, 1)
  await clock.advance(50)
  const { status, headers, body } = await reply
  assert.equal(status, 202)
  assert.equal(headers['location'], `/results/${String(body['handle'])}/0`)
  assert.equal(body['state'], 'pending')
  const asked = begin(server, `${headers['location']}?wait=60000`)
  await waiting(server, 1)
  gate.finishAll(() => 'result')
  assert.equal((await asked.reply).body['result'], 'result')
  await quiet(server)
  assert.equal((await call(server, headers['location'])).body['result'], 'result')
})
