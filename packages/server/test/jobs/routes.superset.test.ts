/** J5: a stored or running computation for a larger input answers for a smaller one. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { anonymous, serveJob, startServer, type Server } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, quiet, submit, waiting } from '../support/http.ts'

interface Asked {
  readonly series: string
  readonly days: number
}

function forecastOf(gate: Gate<Asked>) {
  return serveJob({
    name: 'forecast',
    prepare: gate.job,
    superset: { same: ({ series }: Asked) => series, size: ({ days }: Asked) => days },
  })
}

async function serve(gate: Gate<Asked>, store = 'memory'): Promise<Server> {
  return startServer({ jobs: [forecastOf(gate)], port: 0, store })
}

/** Asks, lets the computation with this number end, and gives the result. */
async function computed(server: Server, gate: Gate<Asked>, input: Asked, query = '') {
  const before = gate.starts.length
  const asked = compute(server, 'forecast', input, { query })
  const { finish } = await gate.started(before + 1)
  finish(input.days)
  const { body } = await asked.reply
  await quiet(server)
  return body
}

test('J5 U1 a stored result that is at least as large answers: nothing runs, and the handle is its own', async () => {
  const gate = new Gate<Asked>('forecast')
  await using server = await serve(gate)
  const large = await computed(server, gate, { series: 'a', days: 30 })
  for (const days of [30, 10, 0]) {
    const { status, body } = await compute(server, 'forecast', { series: 'a', days }).reply
    assert.deepEqual([status, body['result'], body['handle']], [200, 30, large['handle']])
  }
  // Another series, and a larger one, are computed.
  await computed(server, gate, { series: 'b', days: 10 })
  await computed(server, gate, { series: 'a', days: 60 })
  assert.equal(gate.starts.length, 3)
  const { body } = await compute(server, 'forecast', { series: 'a', days: 40 }).reply
  assert.equal(body['result'], 60)
  assert.equal(server.stats().reused, 3)
})

test('J5 U1 U4 a request joins the smallest computation under way that is large enough', async () => {
  const gate = new Gate<Asked>('forecast')
  await using server = await serve(gate)
  const ask = (days: number) => compute(server, 'forecast', { series: 'a', days })
  const ten = ask(10)
  await gate.started(1)
  // A larger one does not wait for a smaller one.
  const thirty = ask(30)
  await gate.started(2)
  const ninety = ask(90)
  await gate.started(3)
  const twenty = ask(20)
  await waiting(server, 4)
  assert.equal(gate.starts.length, 3)
  for (const { input, finish } of gate.starts) finish(input.days)
  const results = await Promise.all(
    [ten, thirty, ninety, twenty].map(async ({ reply }) => (await reply).body['result']),
  )
  assert.deepEqual(results, [10, 30, 90, 30])
})

test('J5 U3 U2 force computes the input itself, and its result answers from then on', async () => {
  const gate = new Gate<Asked>('forecast')
  await using server = await serve(gate)
  await computed(server, gate, { series: 'a', days: 30 })
  const forced = await computed(server, gate, { series: 'a', days: 10 }, 'force=true')
  assert.equal(forced['result'], 10)
  const { body } = await compute(server, 'forecast', { series: 'a', days: 5 }).reply
  assert.deepEqual([body['result'], body['handle']], [10, forced['handle']])
})

test('U2 the larger wins in the store, whichever is done last, and answers after a restart', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-superset-'))
  t.after(() => rm(folder, { recursive: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const gate = new Gate<Asked>('forecast')
  {
    await using server = await serve(gate, store)
    const small = compute(server, 'forecast', { series: 'a', days: 10 })
    await gate.started(1)
    const large = compute(server, 'forecast', { series: 'a', days: 30 })
    await gate.started(2)
    gate.starts[1]!.finish(30)
    await large.reply
    gate.starts[0]!.finish(10)
    await small.reply
    await quiet(server)
  }
  await using later = await serve(gate, store)
  const { body } = await compute(later, 'forecast', { series: 'a', days: 20 }).reply
  assert.equal(body['result'], 30)
  assert.equal(gate.starts.length, 2)
})

test('S16 a larger result that was deleted answers for nothing: the input itself is computed', async () => {
  const gate = new Gate<Asked>('forecast')
  await using server = await serve(gate)
  const { handle } = await computed(server, gate, { series: 'a', days: 30 })
  await call(server, '/cache', { body: { action: 'delete', handle } })
  const small = await computed(server, gate, { series: 'a', days: 10 })
  assert.deepEqual([small['result'], gate.starts.length], [10, 2])
})

test('a larger computation of another tenant answers for nothing', async () => {
  const gate = new Gate<Asked>('forecast')
  let tenant = 'acme'
  const policy = { callerOf: () => ({ ...anonymous, tenant }), check: () => undefined }
  await using server = await startServer({ jobs: [forecastOf(gate)], port: 0, policy })
  await computed(server, gate, { series: 'a', days: 30 })
  tenant = 'other'
  const small = await computed(server, gate, { series: 'a', days: 10 })
  assert.deepEqual([small['result'], gate.starts.length], [10, 2])
})

test('an acknowledged larger computation answers for a smaller one, and its handle is acknowledged', async () => {
  const gate = new Gate<Asked>('forecast')
  await using server = await serve(gate)
  const first = await submit(server, 'forecast', { series: 'a', days: 30 }).reply
  await gate.started(1)
  const second = await submit(server, 'forecast', { series: 'a', days: 10 }).reply
  assert.deepEqual([second.status, second.body['handle']], [202, first.body['handle']])
  gate.finishAll()
  await quiet(server)
  assert.equal(gate.starts.length, 1)
})

test('a size that is not a number is refused by name', async () => {
  const gate = new Gate<Asked>('forecast')
  await using server = await serve(gate)
  const { status } = await compute(server, 'forecast', { series: 'a', days: 'many' }).reply
  assert.equal(status, 500)
  assert.equal(gate.starts.length, 0)
  await quiet(server)
})
