/** The door: a refused request gets its answer at once, and no admitted work is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, type Server } from '../../src/index.ts'
import { Wire, begin, call, head } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { cancel, compute, fetchResult, quiet, submit } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

/** Submits until the door closes; returns how many were taken. */
async function fill(server: Server, query = ''): Promise<number> {
  for (let count = 0; ; count++) {
    const { status } = await submit(server, 'work', `fill ${count}`, { query }).reply
    if (status !== 202) return count
  }
}

async function endAll(gate: Gate, count: number): Promise<void> {
  for (let number = 1; number <= count; number++) (await gate.started(number)).finish(number)
}

test('S41 full: 503 with Retry-After and JSON, no handle, and admitted work is done', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const taken = await fill(server)
  assert.ok(taken <= 32, `${taken} of 32`)
  const { status, headers, body } = await submit(server, 'work', 'more').reply
  assert.equal(status, 503)
  assert.equal(body.error?.code, 'overloaded')
  assert.equal(body.error?.retryable, true)
  assert.ok(body.error.retry_after_ms! > 0)
  assert.equal(headers['retry-after'], String(Math.ceil(body.error.retry_after_ms! / 1_000)))
  assert.equal(body['handle'], undefined)
  await endAll(gate, taken)
  await quiet(server)
  for (let count = 0; count < taken; count++) {
    const again = await submit(server, 'work', `fill ${count}`).reply
    assert.equal(again.body['state'], 'done')
  }
  assert.equal(gate.starts.length, taken)
})

test('S42 interactive work is bounded too: four seats, fifty submits', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 4 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const all = Array.from({ length: 50 }, (_, input) =>
    compute(server, 'work', input, { query: 'priority=0' }),
  )
  await until(() => server.stats().prepare.queue.rejected === 46)
  const { queue } = server.stats().prepare
  assert.equal(queue.queued + queue.running, 4)
  await endAll(gate, 4)
  const statuses = await Promise.all(all.map(async ({ reply }) => (await reply).status))
  assert.equal(statuses.filter((status) => status === 200).length, 4)
  assert.equal(statuses.filter((status) => status === 503).length, 46)
  await quiet(server)
})

test('S43 W3 A1 a hundred whose bodies come late take no seat until then, and afterwards only the existing seats', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 8 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const wires = Array.from({ length: 100 }, () => new Wire(server))
  const bodies = wires.map((_, number) => JSON.stringify(`body ${number}`))
  for (const [number, wire] of wires.entries()) {
    await wire.send(head('/jobs/work', bodies[number]!.length))
  }
  // Before a single byte of a body was sent.
  await until(() => server.stats().arrivals.arriving === 100)
  const { reserved, rejected } = server.stats().prepare.queue
  assert.deepEqual([reserved, rejected], [0, 0])
  for (const [number, wire] of wires.entries()) await wire.send(bodies[number]!)
  const statuses = await Promise.all(
    wires.map(async (wire) => (await wire.has(/^HTTP\/1\.1 (\d+)/))[1]),
  )
  const taken = statuses.filter((status) => status === '202').length
  assert.ok(taken > 0 && taken <= 8, `${taken} of 8`)
  assert.equal(statuses.filter((status) => status === '503').length, 100 - taken)
  assert.equal(server.stats().arrivals.arriving, 0)
  await endAll(gate, taken)
  await quiet(server)
  for (const wire of wires) wire[Symbol.dispose]()
})

test('A5 a client that leaves before its body has arrived leaves nothing', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  for (const text of ['', '"half']) {
    using wire = new Wire(server)
    await wire.send(head('/jobs/work', 100) + text)
    await until(() => server.stats().arrivals.arriving === 1)
    wire.socket.destroy()
    await until(() => server.stats().arrivals.arriving === 0)
    await quiet(server)
  }
  assert.equal(gate.starts.length, 0)
})

test('W3 every way to be refused after the seat was taken gives it back', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { body: 100 } })
  const refused: [path: string, text: string, status: number][] = [
    ['/jobs/work?wait=soon', '1', 400],
    ['/jobs/work?index=1', '1', 400],
    ['/jobs/work?wait=1&index=-1', '1', 400],
    ['/jobs/work?slot=', '1', 400],
    ['/jobs/work?force=maybe', '1', 400],
    ['/jobs/work', '{', 400],
    ['/jobs/work', 'x'.repeat(101), 413],
  ]
  for (const [path, text, status] of refused) {
    const { reply } = begin(server, path, { method: 'POST', text })
    assert.equal((await reply).status, status, path)
  }
  await quiet(server)
  assert.equal(gate.starts.length, 0)
})

test('S45 a refusal reads no body and takes no thread', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1, loop: 1 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  assert.equal(await fill(server), 1)
  using wire = new Wire(server)
  await wire.send(head('/jobs/work', 1_000_000))
  await wire.has(/^HTTP\/1\.1 503 [^]*"code":"overloaded"/)
  assert.doesNotMatch(wire.received, /"handle"/)
  const before = server.stats().prepare.queue.rejected
  for (let batch = 0; batch < 10; batch++) {
    const all = Array.from({ length: 100 }, () => submit(server, 'work', batch).reply)
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    assert.ok(statuses.every((status) => status === 503))
  }
  assert.equal(server.stats().prepare.queue.rejected, before + 1_000)
  const { body } = await call(server, '/healthz')
  assert.deepEqual(body['threads'], { busy: 0, queued: 0, crashed: 0 })
  await endAll(gate, 1)
  await quiet(server)
})

test('S47 levels have the seed values by default', async () => {
  const gate = new Gate('work')
  // The machine may hold up the loop: that would make it degraded too.
  const limits = { prepareCapacity: 10, loop: 10, loopGap: Infinity }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const expected: [used: number, level: string, label: string, status: string][] = [
    [0, 'loaded', 'idle', 'ok'],
    [3, 'loaded', 'loaded', 'ok'],
    [6, 'overloaded', 'heavily loaded', 'ok'],
    [8, 'full', 'overloaded', 'degraded'],
  ]
  let used = 0
  for (const [wanted, level, label, status] of expected) {
    for (; used < wanted; used++) await submit(server, 'work', used).reply
    const { body } = await call(server, '/healthz')
    assert.deepEqual(body['load'], { level, label, utilisation: wanted / 10 })
    assert.equal(body['status'], status)
    // Priority 0 is taken at every one of these levels.
    assert.equal((await call(server, '/readyz')).status, 200)
  }
  for (; used < 10; used++) await submit(server, 'work', used, { query: 'priority=0' }).reply
  assert.equal((await call(server, '/readyz')).status, 503)
  await endAll(gate, 10)
  await quiet(server)
})

test('S49 S50 full: everything but submits is served; when it is drained, submits are too', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 4 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const { body } = await submit(server, 'work', 'first', { headers: { 'x-request-id': 'mine' } })
    .reply
  assert.equal(body['request'], 'mine')
  const taken = 1 + (await fill(server))
  for (const path of ['/healthz', '/jobs', '/openapi.json']) {
    assert.equal((await call(server, path)).status, 200, path)
  }
  assert.equal((await fetch(`${server.url}/metrics`)).status, 200)
  assert.equal((await fetchResult(server, body['handle']).reply).status, 202)
  const flushed = await call(server, '/cache', { body: { action: 'flush' } })
  assert.deepEqual(flushed.body, { success: true })
  assert.deepEqual((await cancel(server, 'mine')).body, { request: 'mine', state: 'cancelled' })
  gate.finishAll()
  await endAll(gate, taken)
  await quiet(server)
  const refused = server.stats().prepare.queue.rejected
  assert.equal(refused, 1)
  assert.equal((await submit(server, 'work', 'again').reply).status, 202)
  assert.equal(server.stats().prepare.queue.rejected, refused)
  gate.finishAll()
  await quiet(server)
})
