/** A message that is not a request, or has no route, is answered in the same form as everything else. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../src/index.ts'
import { Wire, begin, call } from '../support/client.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

test('unknown paths: 404 that names the list of routes, without the query', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const unknown: [method: string, path: string][] = [
    ['GET', '/nothing?secret=1'],
    ['QUERY', '/nothing'],
    ['GET', '/results/x'],
    ['GET', '/jobs/'],
    ['GET', '/__proto__'],
  ]
  for (const [method, path] of unknown) {
    const { status, body } = await begin(server, path, { method }).reply
    assert.deepEqual([status, body.error?.code], [404, 'not_found'], `${method} ${path}`)
    assert.match(body.error!.message, /GET \/openapi\.json lists what there is/)
    assert.doesNotMatch(body.error!.message, /secret/)
  }
})

test('R3 a known path with another method: 405 with the methods that it has', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const wrong: [method: string, path: string, allow: string][] = [
    ['PUT', '/jobs/echo', 'POST'],
    ['DELETE', '/jobs/echo', 'POST'],
    ['GET', '/jobs/echo', 'POST'],
    ['QUERY', '/jobs/echo', 'POST'],
    ['OPTIONS', '/jobs/echo', 'POST'],
    ['POST', '/results/x/0', 'GET, HEAD'],
    ['PATCH', '/healthz?secret=1', 'GET, HEAD'],
  ]
  for (const [method, path, allow] of wrong) {
    const { status, body, headers } = await begin(server, path, { method }).reply
    assert.deepEqual([status, body.error?.code], [405, 'method_not_allowed'], `${method} ${path}`)
    assert.equal(headers.allow, allow)
    assert.doesNotMatch(body.error!.message, /secret/)
  }
})

test('bytes that are not a request get JSON with our codes, and the connection ends', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const wrong: [sent: string, status: number, code: string][] = [
    ['hello\r\n\r\n', 400, 'bad_request'],
    [
      'POST /jobs/echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n',
      400,
      'bad_request',
    ],
    [
      `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      431,
      'too_large',
    ],
  ]
  for (const [sent, status, code] of wrong) {
    using wire = new Wire(server)
    await wire.send(sent)
    await wire.closed()
    const [head, text] = wire.received.split('\r\n\r\n')
    assert.match(head!, new RegExp(`^HTTP/1\\.1 ${status} [^]*application/json`))
    assert.equal((JSON.parse(text!) as { error: { code: string } }).error.code, code)
  }
})

test('addresses that cannot be read: 400 and 414 with our codes', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const bad = await call(server, '/results/%E0%A4%A/0')
  assert.deepEqual([bad.status, bad.body.error?.code], [400, 'bad_request'])
  const long = await call(server, `/requests/${'x'.repeat(4_200)}`, { method: 'DELETE' })
  assert.deepEqual([long.status, long.body.error?.code], [414, 'too_large'])
})

test('a connection is kept after an error, and the next request on it is served', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
    [Symbol.dispose](this: Agent) {
      this.destroy()
    },
  })
  const sockets = new Set<unknown>()
  for (const text of ['{', '1', '{', '2']) {
    const { request, reply } = begin(server, '/jobs/echo?wait=60000', {
      method: 'POST',
      text,
      agent,
    })
    request.on('socket', (socket) => sockets.add(socket))
    assert.equal((await reply).status, text === '{' ? 400 : 200)
  }
  assert.equal(sockets.size, 1)
})
