import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../../src/server.ts'
import { Wire } from '../../support/client.ts'
import { Gate } from '../../support/gates.ts'
import { compute, quiet } from '../../support/http.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

/** The head of a client that sends its body after a 100. */
function cautiousHead(path: string, length: number, version = '1.1'): string {
  return (
    `POST ${path} HTTP/${version}\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
    `content-length: ${length}\r\nexpect: 100-continue\r\n\r\n`
  )
}

const refusals = {
  'an unknown route': { path: '/nowhere', length: 10, status: 404 },
  'an unknown job': { path: '/jobs/nobody', length: 10, status: 404 },
  'an unknown word of the query': { path: '/jobs/echo?priorty=0', length: 10, status: 400 },
  'a body above the limit': { path: '/jobs/echo', length: 2 ** 40, status: 413 },
}

for (const [name, { path, length, status }] of Object.entries(refusals)) {
  test(`Expect: 100-continue: ${name} is refused with ${status}, without a 100 before it`, async () => {
    await using server = await startServer({ jobs: [echo], port: 0 })
    using wire = new Wire(server)
    await wire.send(cautiousHead(path, length))
    await wire.closed()
    assert.match(wire.received, new RegExp(`^HTTP/1\\.1 ${status} `))
    assert.match(wire.received, /\r\nconnection: close\r\n/i)
    await quiet(server)
  })
}

test('Expect: 100-continue: a submit that finds no seat gets 503, without a 100 before it', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1, loopGap: Infinity }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const { reply } = compute(server, 'work', 1)
  await gate.started()
  using wire = new Wire(server)
  await wire.send(cautiousHead('/jobs/work', 10))
  await wire.closed()
  assert.match(wire.received, /^HTTP\/1\.1 503 /)
  gate.finishAll()
  await reply
  await quiet(server)
})

test('Expect: 100-continue: a body that is wanted gets one 100, then its answer, and the connection stays', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  using wire = new Wire(server)
  for (let round = 0; round < 2; round++) {
    wire.received = ''
    await wire.send(cautiousHead('/jobs/echo?wait=60000', 4))
    await wire.has(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    await wire.send(`"${round}a"`)
    await wire.has(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*\}$/)
  }
  await quiet(server)
})

test('Expect: 100-continue of HTTP/1.0 gets no 100', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  using wire = new Wire(server)
  await wire.send(`${cautiousHead('/jobs/echo?wait=60000', 3, '1.0')}"a"`)
  await wire.has(/^HTTP\/1\.1 200 /)
  await quiet(server)
})
