/** Answers that are being sent when the server stops. The time is the test's. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { OpenResponses } from '../../../src/http/lifecycle/open-responses.ts'
import { startServer, type Server } from '../../../src/server.ts'
import { Wire } from '../../support/client.ts'
import { compute } from '../../support/http.ts'
import { told } from '../../support/told.ts'
import { until } from '../../../../core/test/kernel/until.ts'

/** More than systems keep for a connection that is not read. */
const large = 24 * 2 ** 20
const big = job({ name: 'big' }, () => 'x'.repeat(large))

interface SlowReader {
  readonly socket: Socket
  readonly ended: Promise<unknown>
  /** Bytes so far. */
  received: number
}

/** Has read the beginning of a large answer, and reads on when the test says so. */
async function slowReader(server: Server): Promise<SlowReader> {
  const { body } = await compute(server, 'big', 1).reply
  const socket = connect(server.port, server.host)
  const reader = { socket, ended: once(socket, 'close'), received: 0 }
  socket.on('error', () => undefined)
  const begun = Promise.withResolvers<void>()
  socket.on('data', (bytes) => {
    reader.received += bytes.length
    begun.resolve()
  })
  socket.write(`GET /results/${String(body['handle'])}/0 HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  await begun.promise
  socket.pause()
  return reader
}

async function open(): Promise<{ server: Server; clock: VirtualClock }> {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  return { clock, server: await startServer({ jobs: [big], port: 0, threads: 1, kernel }) }
}

test('V1 an answer that is being read when the server stops is read to its end', async () => {
  const { server, clock } = await open()
  const reader = await slowReader(server)
  const drained = told(server.drain())
  await until(() => server.state === 'stopped')
  await clock.advance(999)
  reader.socket.resume()
  await until(() => reader.received > large)
  // The connection that is idle now may send a request for the rest of its second.
  while (drained.state === 'pending') await clock.advance(1)
  await reader.ended
  assert.deepEqual(drained.value, { isClean: true })
  assert.equal(clock.pending, 0)
})

test('a client that reads nothing for a second is cut off, and does not delay the end', async () => {
  const { server, clock } = await open()
  const reader = await slowReader(server)
  const drained = told(server.drain())
  await until(() => server.state === 'stopped')
  await clock.advance(999)
  assert.equal(drained.state, 'pending')
  while (drained.state === 'pending') await clock.advance(1)
  reader.socket.resume()
  await reader.ended
  assert.ok(reader.received < large)
  assert.equal(clock.pending, 0)
})

test('answers behind another one are closed with their connection', async () => {
  const responses: ServerResponse[] = []
  const opened = new OpenResponses(60_000)
  const server = createServer((_, response) => {
    opened.add(response)
    responses.push(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const wire = new Wire({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  await wire.send('GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n')
  await until(() => responses.length === 2)
  const clock = new VirtualClock()
  const settled = told(opened.settled(1_000, clock))
  await clock.advance(999)
  assert.equal(settled.state, 'pending')
  wire.socket.destroy()
  await until(() => settled.state === 'fulfilled')
  assert.equal(clock.pending, 0)
  server.close()
})
