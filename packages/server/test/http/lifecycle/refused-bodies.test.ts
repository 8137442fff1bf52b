import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../../src/server.ts'
import { head, Wire } from '../../support/client.ts'
import { Gate } from '../../support/gates.ts'
import { compute, quiet } from '../../support/http.ts'

/** More than the buffers of a connection hold. */
const bodyBytes = 64 * 2 ** 20

test('a refused submit: the whole answer is there, the body is not read, and the connection ends', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1, loopGap: Infinity }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const { reply } = compute(server, 'work', 1)
  await gate.started()
  using wire = new Wire(server)
  const piece = 'x'.repeat(2 ** 20)
  await wire.send(head('/jobs/work', bodyBytes))
  let taken = 0
  const sending = (async () => {
    while (taken < bodyBytes) {
      await wire.send(piece)
      taken += piece.length
    }
  })().catch(() => undefined)
  await wire.has(/"code":"overloaded"[^]*\}\}$/)
  assert.match(wire.received, /^HTTP\/1\.1 503 /)
  assert.match(wire.received, /\r\nconnection: close\r\n/i)
  await wire.closed()
  await sending
  assert.ok(taken < bodyBytes, `${taken} bytes were taken`)
  gate.finishAll()
  await reply
  await quiet(server)
})

test('a refused submit whose body came with its head keeps its connection', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1, loopGap: Infinity }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const { reply } = compute(server, 'work', 1)
  await gate.started()
  using wire = new Wire(server)
  await wire.send(`${head('/jobs/work', 1)}1${head('/jobs/work', 1)}2`)
  await wire.has(/"code":"overloaded"[^]*"code":"overloaded"/)
  assert.doesNotMatch(wire.received, /connection: close/i)
  gate.finishAll()
  await reply
  await quiet(server)
})
