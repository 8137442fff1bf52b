/** Valid inputs, and the answers to invalid ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { serveJob, startServer } from '../../src/index.ts'
import { handleOf } from '../../src/jobs/handle.ts'
import { Wire, begin, call } from '../support/client.ts'
import { compute, quiet, submit } from '../support/http.ts'

const echo = job({ name: 'echo' }, (input: unknown) => ({ input: input ?? 'nothing' }))
const owner = { name: 'echo', version: '' }

test('S53 above the limit 413, below it the handle of the thread is that of the loop', async () => {
  await using server = await startServer({ jobs: [echo], port: 0, limits: { body: 500_000 } })
  for (const size of [10, 64 * 1_024 - 10, 64 * 1_024 + 10, 400_000]) {
    const input = { z: 'x'.repeat(size), a: { '10': 1, '9': 2 } }
    const { status, body } = await compute(server, 'echo', input).reply
    assert.equal(status, 200)
    assert.equal(body['handle'], handleOf(owner, input), `${size}`)
    assert.deepEqual(body['result'], { input })
  }
  const { status, body } = await compute(server, 'echo', 'x'.repeat(500_000)).reply
  assert.deepEqual([status, body.error?.code], [413, 'too_large'])
  assert.match(body.error!.message, /more than 500000 bytes, which is the limit of this route/)
  await quiet(server)
})

test('S53 a body without a length is cut off at the limit as well', async () => {
  await using server = await startServer({ jobs: [echo], port: 0, limits: { body: 1_000 } })
  using wire = new Wire(server)
  await wire.send(
    'POST /jobs/echo?wait=1000 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
      `transfer-encoding: chunked\r\n\r\n5dc\r\n${' '.repeat(1_500)}\r\n`,
  )
  await wire.has(/^HTTP\/1\.1 413 [^]*"code":"too_large"/)
  wire.socket.destroy()
  await quiet(server)
})

test('no body is the input null', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const plain = await begin(server, '/jobs/echo?wait=60000', { method: 'POST' }).reply
  const empty = await begin(server, '/jobs/echo?wait=60000', {
    method: 'POST',
    headers: { 'content-length': '0' },
  }).reply
  const explicit = await compute(server, 'echo', null).reply
  for (const { status, body } of [plain, empty, explicit]) {
    assert.deepEqual([status, body['result']], [200, { input: 'nothing' }])
    assert.equal(body['handle'], handleOf(owner, null))
  }
})

test('a body that is not JSON gets 400 with the fault, another type 415', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  for (const text of ['{', 'undefined', "{'a': 1}", '[1,]', '\u0000', 'NaN']) {
    const { status, body } = await begin(server, '/jobs/echo', { method: 'POST', text }).reply
    assert.deepEqual([status, body.error?.code], [400, 'bad_request'], text)
    assert.match(body.error!.message, /Input of "echo" is not JSON/)
  }
  for (const type of ['text/plain', 'multipart/form-data', 'application/xml', 'nonsense']) {
    const headers = { 'content-type': type }
    const { status, body } = await begin(server, '/jobs/echo', {
      method: 'POST',
      text: '1',
      headers,
    }).reply
    assert.deepEqual([status, body.error?.code], [415, 'unsupported_media_type'], type)
  }
  await quiet(server)
})

test('a body that is not UTF-8: 400, and no job runs', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const wrong: [what: string, bytes: number[]][] = [
    ['a byte that UTF-8 does not have', [0x22, 0xff, 0x22]],
    ['half of a character', [0x22, 0xc3, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
  ]
  for (const [what, bytes] of wrong) {
    using wire = new Wire(server)
    const head = `POST /jobs/echo?wait=1000 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
    await wire.send(`${head}content-length: ${bytes.length}\r\n\r\n`)
    wire.socket.write(Uint8Array.from(bytes))
    await wire.has(/^HTTP\/1\.1 (?!400 )|"bad_request"/)
    assert.match(wire.received, /^HTTP\/1\.1 400 [^]*"message":"The body: it is not UTF-8\."/, what)
  }
  // A character that comes in two chunks is sound.
  using wire = new Wire(server)
  await wire.send(
    'POST /jobs/echo?wait=60000 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
      'transfer-encoding: chunked\r\n\r\n',
  )
  wire.socket.write(
    Buffer.concat([Buffer.from('2\r\n"'), Uint8Array.of(0xc3), Buffer.from('\r\n')]),
  )
  wire.socket.write(
    Buffer.concat([Buffer.from('2\r\n'), Uint8Array.of(0xa4), Buffer.from('"\r\n0\r\n\r\n')]),
  )
  await wire.has(/^HTTP\/1\.1 200 [^]*"input":"ä"/)
  wire.socket.destroy()
  await quiet(server)
})

test('a body that is compressed: 415 that names the codings that are taken', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  // The bytes are plain JSON: only the header says otherwise.
  for (const coding of ['gzip', 'br', 'zstd', 'deflate', 'identity, gzip', 'nonsense']) {
    const headers = { 'content-encoding': coding }
    const { status, body, ...reply } = await submit(server, 'echo', 1, { headers }).reply
    assert.deepEqual([status, body.error?.code], [415, 'unsupported_media_type'], coding)
    assert.equal(reply.headers['accept-encoding'], 'identity')
    assert.ok(body.error!.message.includes(`"${coding}"`), body.error!.message)
  }
  const bare = await begin(server, '/jobs/echo', {
    method: 'POST',
    headers: { 'content-encoding': 'gzip' },
  }).reply
  assert.equal(bare.status, 415, 'also without a body')
  for (const coding of ['identity', 'Identity', '']) {
    const headers = { 'content-encoding': coding }
    const { status } = await compute(server, 'echo', 1, { headers }).reply
    assert.equal(status, 200, coding)
  }
  await quiet(server)
})

test('nested deeper than a stack can follow: 400, on the loop and in the thread', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  for (const depth of [30_000, 200_000]) {
    const text = '['.repeat(depth) + ']'.repeat(depth)
    const { status, body } = await begin(server, '/jobs/echo', { method: 'POST', text }).reply
    assert.deepEqual([status, body.error?.code], [400, 'bad_request'], `${depth}`)
  }
  await quiet(server)
})

test('keys of prototypes are keys like any other', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const text = '{"__proto__": {"isAdmin": true}, "constructor": 1, "toString": 2, "toJSON": 3}'
  const { reply } = begin(server, '/jobs/echo?wait=60000', { method: 'POST', text })
  const { status, body } = await reply
  assert.equal(status, 200)
  assert.equal(
    JSON.stringify(body['result']),
    JSON.stringify({ input: JSON.parse(text) as unknown }),
  )
  assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined)
  const other = await begin(server, '/jobs/echo', { method: 'POST', text: '{}' }).reply
  assert.notEqual(other.body['handle'], body['handle'])
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const unknown = await submit(server, name, 1).reply
    assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'unknown_job'])
  }
})

test('check and total: a fault that a job finds in its input is answered with 400', async () => {
  const served = serveJob({
    name: 'checked',
    prepare: echo,
    check: (input) => (typeof input === 'string' ? undefined : 'expected a text.'),
  })
  await using server = await startServer({ jobs: [served], port: 0 })
  const { status, body } = await submit(server, 'checked', 7).reply
  assert.deepEqual([status, body.error?.code], [400, 'bad_request'])
  assert.equal(body.error?.message, 'Input of "checked": expected a text.')
  assert.equal((await submit(server, 'checked', 'text').reply).status, 202)
  await quiet(server)
})

test('an unknown job: 404 with the one that may be meant, before the body is read', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const { status, body } = await submit(server, 'ecko', 1).reply
  assert.deepEqual([status, body.error?.code], [404, 'unknown_job'])
  assert.match(body.error!.message, /Did you mean "echo"/)
  assert.equal((await call(server, '/jobs')).status, 200)
})

test('wrong values of the query and of headers: 400 with the expected form', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const wrong: [query: string, headers: Record<string, string>, said: RegExp][] = [
    ['wait=-1', {}, /wait: expected a whole number of milliseconds of at least 0/],
    ['wait=1&wait=2', {}, /wait: expected/],
    ['priority=2', {}, /priority: expected 0 \(interactive\), 1 \(usual\) or 3/],
    ['index=-99999999999', {}, /index: expected 0 or a negative whole number/],
    ['index=-999999999', {}, /has no result -999999999: it has only 0/],
    ['index=1e3', {}, /index: expected/],
    [`slot=${'x'.repeat(257)}`, {}, /slot: expected a name of 1 to 256/],
    ['force=1', {}, /force: expected "true" or "false"/],
    ['', { 'x-request-id': 'a b' }, /X-Request-Id: expected at most 128/],
    ['', { 'x-request-id': 'x'.repeat(129) }, /X-Request-Id/],
  ]
  for (const [query, headers, said] of wrong) {
    const { status, body } = await submit(server, 'echo', 1, { query, headers }).reply
    assert.equal(status, 400, query)
    assert.equal(body.error?.code, 'bad_request')
    assert.match(body.error.message, said)
  }
  await quiet(server)
})
