/** Heads that come slowly, bytes that are not a request, and clients that do not listen. */
import assert from 'node:assert/strict'
import { lookup } from 'node:dns/promises'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../src/index.ts'
import { Wire, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { quiet } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

const slowHeads = {
  nothing: '',
  'half of a line': 'GET /heal',
  'headers without an end': 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: 1\r\n',
}

for (const [name, text] of Object.entries(slowHeads)) {
  test(`a head that does not come in time: 408, and the connection ends (${name})`, async () => {
    await using server = await startServer({ jobs: [echo], port: 0, limits: { head: 40 } })
    using wire = new Wire(server)
    if (text !== '') await wire.send(text)
    await wire.has(/^HTTP\/1\.1 408 [^]*"code":"timeout"[^]*"retryable":true/)
    await wire.closed()
    await until(() => server.stats().connections.open === 0)
  })
}

test('a client that ignores the 408 of its head loses its connection all the same', async () => {
  await using server = await startServer({ jobs: [echo], port: 0, limits: { head: 40 } })
  using wire = new Wire(server)
  wire.socket.removeAllListeners('end')
  wire.socket.pause()
  await wire.send('GET /heal')
  await until(() => server.stats().connections.open === 1)
  await until(() => server.stats().connections.open === 0)
})

test('bytes that are not a request, from a client that closes nothing: the connection ends', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  using wire = new Wire(server)
  wire.socket.removeAllListeners('end')
  await wire.send('nonsense\r\n\r\n')
  await wire.has(/^HTTP\/1\.1 400/)
  await until(() => server.stats().connections.open === 0)
})

test('invalid bytes behind a waiting request do not end up as its answer', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  using wire = new Wire(server)
  await wire.send(
    'POST /jobs/work?wait=60000 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
      'content-length: 1\r\n\r\n1',
  )
  const { context } = await gate.started()
  await wire.send('nonsense\r\n\r\n')
  await wire.closed()
  assert.equal(wire.received, '')
  await until(() => context.cancelled)
  gate.finishAll()
  await quiet(server)
})

test('a client that does not read its answer loses its connection', async () => {
  const large = job({ name: 'large' }, () => 'x'.repeat(30_000_000))
  await using server = await startServer({ jobs: [large], port: 0, limits: { sending: 100 } })
  using wire = new Wire(server)
  wire.socket.pause()
  await wire.send(
    'POST /jobs/large?wait=60000 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\r\n',
  )
  await until(() => server.stats().registry.outcomes.success === 1)
  await until(() => server.stats().connections.open === 0)
  await quiet(server)
})

test('by the name localhost every address of it is served, with the same limits', async () => {
  const host = 'localhost'
  const addresses = await lookup(host, { all: true })
  await using patient = await startServer({ jobs: [echo], host, port: 0 })
  await using strict = await startServer({ jobs: [echo], host, port: 0, limits: { head: 40 } })
  for (const { address } of addresses) {
    const { status } = await call({ host: address, port: patient.port }, '/healthz')
    assert.equal(status, 200, address)
    using wire = new Wire({ host: address, port: strict.port })
    await wire.send('GET /heal')
    await wire.has(/^HTTP\/1\.1 408 [^]*"code":"timeout"/)
    await wire.closed()
  }
})
