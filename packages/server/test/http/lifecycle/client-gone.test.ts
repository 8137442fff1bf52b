import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { isError, job } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { allowHalfClosed, clientGone } from '../../../src/http/lifecycle/client-gone.ts'
import { startServer, type Server } from '../../../src/server.ts'
import { begin, call, head, Wire } from '../../support/client.ts'
import { Gate } from '../../support/gates.ts'
import { until } from '../../../../core/test/kernel/until.ts'

const serve = (jobs: readonly unknown[]): Promise<Server> =>
  startServer({ jobs, port: 0, threads: 1, limits: { loop: 1 } })

test('S61 120 uploads in pieces, 20 at once, while the client is watched: no byte is lost', async () => {
  const digest = job({ name: 'digest' }, (text: string) => hash('sha256', text))
  await using server = await serve([digest])
  const upload = async (number: number): Promise<void> => {
    const text = `${number} ${'x'.repeat(349_000)}`
    const body = JSON.stringify(text)
    using wire = new Wire(server)
    await wire.connected()
    await wire.send(head('/jobs/digest?wait=60000', body.length))
    for (let at = 0; at < body.length; at += 16_384) await wire.send(body.slice(at, at + 16_384))
    const [, result] = await wire.has(/"result":"(\w+)"/)
    assert.equal(result, hash('sha256', text))
  }
  for (let round = 0; round < 6; round++) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => upload(round * 20 + i)))
  }
  assert.equal(server.stats().registry.outcomes.success, 120)
})

test('S62 a client leaves while its job runs: the job is aborted, nothing is stored, it is counted', async () => {
  const gate = new Gate('work')
  await using server = await serve([gate.job])
  const { request } = begin(server, '/jobs/work?wait=60000', { body: { a: 1 } })
  const { context, finish } = await gate.started()
  const aborted = once(context.signal, 'abort')
  request.destroy()
  await aborted
  assert.ok(isError(context.signal.reason, 'HDL_CANCELLED'))
  assert.equal(context.signal.reason.details.source, 'disconnect')
  // It ignores its signal, and still comes to a result (W7).
  finish('too late')
  await until(() => server.stats().works === 0 && server.stats().prepare.stopping === 0)
  const { registry, requests, cache, prepare } = server.stats()
  assert.equal(registry.outcomes.disconnected, 1)
  assert.deepEqual([requests, registry.active, cache.entries], [0, 0, 0])
  assert.equal(prepare.queue.running + prepare.queue.reserved, 0)
  // The same question starts a new computation.
  const again = begin(server, '/jobs/work?wait=60000', { body: { a: 1 } })
  const second = await gate.started(2)
  second.finish('in time')
  assert.equal((await again.reply).body['result'], 'in time')
})

test('S63 a client leaves while its job is queued: it never starts', async () => {
  const gate = new Gate<string>('work')
  await using server = await serve([gate.job])
  const first = begin(server, '/jobs/work?wait=60000', { body: 'first' })
  const running = await gate.started()
  const second = begin(server, '/jobs/work?wait=60000', { body: 'second' })
  await until(() => server.stats().prepare.queue.queued === 1)
  second.request.destroy()
  await until(() => server.stats().works === 1)
  assert.equal(server.stats().prepare.queue.queued, 0)
  running.finish('done')
  assert.equal((await first.reply).status, 200)
  const third = begin(server, '/jobs/work?wait=60000', { body: 'third' })
  const next = await gate.started(2)
  assert.equal(next.input, 'third')
  next.finish('done')
  await third.reply
  assert.equal(gate.starts.length, 2)
  assert.equal(server.stats().registry.outcomes.disconnected, 1)
})

test('S66 a client that has sent its body and waits has not left', async () => {
  const gate = new Gate('work')
  await using server = await serve([gate.job])
  const { reply } = begin(server, '/jobs/work?wait=60000', { body: { a: 1 } })
  const { context, finish } = await gate.started()
  // A whole other request fits in between.
  assert.equal((await call(server, '/healthz')).status, 200)
  assert.equal(context.signal.aborted, false)
  finish('done')
  assert.deepEqual([(await reply).status, (await reply).body['result']], [200, 'done'])
  assert.equal(server.stats().registry.outcomes.disconnected, 0)
})

test('S67 a client that has closed its half of the connection gets its answer', async () => {
  const gate = new Gate('work')
  await using server = await serve([gate.job])
  using wire = new Wire(server)
  await wire.send(`${head('/jobs/work?wait=60000', 1)}1`)
  wire.socket.end()
  const { context, finish } = await gate.started()
  assert.equal((await call(server, '/healthz')).status, 200)
  assert.equal(context.signal.aborted, false)
  finish('done')
  await wire.has(/HTTP\/1\.1 200 OK[^]*"result":"done"/)
  await wire.closed()
})

test('S62 two pipelined requests on one connection: when the client leaves both have ended', async () => {
  const gate = new Gate<number>('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, threads: 1 })
  for (const leave of ['destroy', 'resetAndDestroy'] as const) {
    const before = gate.starts.length
    using wire = new Wire(server)
    const path = '/jobs/work?wait=60000&priority=0'
    await wire.send(`${head(path, 1)}${before}${head(path, 1)}${before + 1}`)
    await until(() => server.stats().registry.active === 2)
    wire.socket[leave]()
    await until(() => server.stats().works === 0)
    const { requests, registry } = server.stats()
    assert.deepEqual([requests, registry.active], [0, 0])
    gate.finishAll()
    await until(() => server.stats().prepare.queue.running === 0)
    assert.equal(server.stats().prepare.queue.reserved, 0)
  }
})

test('S67 two requests on one connection, then a closed half: both are answered, in their order', async () => {
  const gate = new Gate<number>('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { loop: 2 } })
  using wire = new Wire(server)
  await wire.send(`${head('/jobs/work?wait=60000', 1)}1${head('/jobs/work?wait=60000', 1)}2`)
  wire.socket.end()
  await gate.started(2)
  assert.equal((await call(server, '/healthz')).status, 200)
  assert.equal(server.stats().registry.active, 2)
  // The second has its result first, and waits for its turn.
  gate.starts[1]!.finish('second')
  await until(() => server.stats().registry.active === 1)
  gate.starts[0]!.finish('first')
  await wire.has(/"result":"first"[^]*"result":"second"/)
  await wire.closed()
})

test('S62 the second of two requests on one connection: its client leaves when the first was answered', async () => {
  const gate = new Gate<number>('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { loop: 2 } })
  using wire = new Wire(server)
  await wire.send(`${head('/jobs/work?wait=60000', 1)}1${head('/jobs/work?wait=60000', 1)}2`)
  await gate.started(2)
  gate.starts[0]!.finish('first')
  await wire.has(/"result":"first"/)
  wire.socket.destroy()
  await until(() => server.stats().works === 0)
  assert.equal(server.stats().registry.outcomes.disconnected, 1)
})

test('many requests on one connection cause no warning, and all are notified that the client has left', async () => {
  const gate = new Gate<number>('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, threads: 1 })
  const warnings: Error[] = []
  const warn = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warn)
  using wire = new Wire(server)
  const requests = Array.from(
    { length: 20 },
    (_, n) => `${head('/jobs/work?wait=60000', 2)}${n + 10}`,
  )
  await wire.send(requests.join(''))
  await until(() => server.stats().registry.active === 20)
  wire.socket.destroy()
  await until(() => server.stats().works === 0)
  process.off('warning', warn)
  assert.deepEqual(warnings, [])
})

/** A response on a real connection, and the client on its other end. */
async function exchange(version = '1.1'): Promise<{
  response: ServerResponse
  wire: Wire
  [Symbol.asyncDispose](): Promise<void>
}> {
  const http = createServer()
  allowHalfClosed(http)
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as AddressInfo
  const wire = new Wire({ host: '127.0.0.1', port })
  await wire.send(`${head('/', 2).replace('1.1', version)}{}`)
  const [, response] = (await once(http, 'request')) as [unknown, ServerResponse]
  return {
    response,
    wire,
    async [Symbol.asyncDispose]() {
      wire.socket.destroy()
      http.close()
      await once(http, 'close')
    },
  }
}

test('it aborts once when the connection ends before the answer, and says why', async () => {
  await using pair = await exchange()
  const gone = clientGone(pair.response, 'r1', new VirtualClock())
  assert.equal(gone.aborted, false)
  pair.wire.socket.resetAndDestroy()
  await once(gone, 'abort')
  assert.ok(isError(gone.reason, 'HDL_CANCELLED'))
  assert.match(gone.reason.message, /r1.*the client closed the connection/)
})

test('it never aborts after the answer was sent, also when the connection ends then', async () => {
  await using pair = await exchange()
  const gone = clientGone(pair.response, 'r1', new VirtualClock())
  const closed = once(pair.response.socket!, 'close')
  pair.response.end('done')
  await pair.wire.has(/done/)
  pair.wire.socket.destroy()
  await closed
  assert.equal(gone.aborted, false)
})

test('a client that closes its half is asked whether it is there; the clock asks again', async () => {
  await using pair = await exchange()
  const clock = new VirtualClock()
  const gone = clientGone(pair.response, 'r1', clock)
  pair.wire.socket.end()
  await pair.wire.has(/(HTTP\/1\.1 102 Processing\r\n\r\n){2}$/)
  await until(() => clock.pending === 1)
  await clock.advance(20)
  await pair.wire.has(/(HTTP\/1\.1 102 Processing\r\n\r\n){3}$/)
  await until(() => clock.pending === 1)
  assert.equal(gone.aborted, false)
  const aborted = once(gone, 'abort')
  pair.wire.socket.resetAndDestroy()
  for (let asked = 0; asked < 2 && !gone.aborted; asked++) await clock.advance(5_000)
  await aborted
  assert.equal(clock.pending, 0)
})

test('a socket that was closed before the first listener counts as closed', async () => {
  await using pair = await exchange()
  pair.wire.socket.end()
  await until(() => pair.response.req.socket.readableEnded)
  const clock = new VirtualClock()
  const gone = clientGone(pair.response, 'r1', clock)
  await pair.wire.has(/(HTTP\/1\.1 102 Processing\r\n\r\n){2}$/)
  await until(() => clock.pending === 1)
  const aborted = once(gone, 'abort')
  pair.wire.socket.resetAndDestroy()
  for (let asked = 0; asked < 2 && !gone.aborted; asked++) await clock.advance(5_000)
  await aborted
  assert.equal(clock.pending, 0)
})

test('an answer ends the asking', async () => {
  await using pair = await exchange()
  const clock = new VirtualClock()
  const gone = clientGone(pair.response, 'r1', clock)
  pair.wire.socket.end()
  await until(() => clock.pending === 1)
  pair.response.end('done')
  await pair.wire.has(/102 Processing[^]*200 OK[^]*done/)
  await pair.wire.closed()
  await until(() => pair.response.closed)
  assert.deepEqual([clock.pending, gone.aborted], [0, false])
})

test('HTTP/1.0 has no interim answers: a closed half means gone', async () => {
  await using pair = await exchange('1.0')
  const gone = clientGone(pair.response, 'r1', new VirtualClock())
  const aborted = once(gone, 'abort')
  pair.wire.socket.end()
  await aborted
  await pair.wire.closed()
  assert.equal(pair.wire.received, '')
})
