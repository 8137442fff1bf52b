import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Sender } from '../../src/client/send.ts'

test('N2: a call whose answer never comes ends at its deadline, and the next one has a connection', async () => {
  let requests = 0
  // Takes the first request, and says nothing to it.
  const server = http.createServer((request, response) => {
    request.resume()
    if (++requests > 1) response.end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const sender = new Sender(`http://127.0.0.1:${port}`, undefined, () => undefined)
  try {
    await assert.rejects(sender.post('/fleet/update', '{}', 100), { code: 'ABORT_ERR' })
    assert.deepEqual(await sender.post('/fleet/update', '{}', 60_000), { status: 200, body: '{}' })
    assert.equal(requests, 2)
  } finally {
    sender.close()
    server.closeAllConnections()
    server.close()
  }
})
