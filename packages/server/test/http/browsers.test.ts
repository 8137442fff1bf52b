/** B1 to B3: requests that a web page can make a browser send. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openPeople } from '../../src/people/open-people.ts'
import { startServer, type Server } from '../../src/index.ts'
import { isLoopback } from '../../src/http/browsers.ts'
import { Wire, call } from '../support/client.ts'
import { cancel, quiet, submit } from '../support/http.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input ?? 'nothing')

/** The status and the code of the answer to these bytes. */
async function raw(server: Server, method: string, path: string, lines: readonly string[]) {
  using wire = new Wire(server)
  await wire.send(`${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`)
  const [, status] = await wire.has(/^HTTP\/1\.1 (\d+) [^]*\r\n\r\n[^]*}$/)
  return [Number(status), /"code":"(\w+)"/.exec(wire.received)?.[1]]
}

test('B1 a POST that does not say that it is JSON: 415, also without a body, and no seat is taken', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const host = `host: ${server.host}:${server.port}`
  const bodies = [[], ['content-length: 0'], ['content-length: 0', 'content-type: text/plain']]
  for (const path of ['/jobs/echo', '/drain', '/cache']) {
    for (const lines of bodies) {
      const answer = await raw(server, 'POST', path, [host, ...lines])
      assert.deepEqual(answer, [415, 'unsupported_media_type'], `${path} ${String(lines)}`)
    }
  }
  assert.deepEqual([server.state, server.stats().prepare.submitted], ['accepting', 0])
  for (const type of ['application/json', 'Application/JSON; charset=utf-8']) {
    const lines = [host, `content-type: ${type}`]
    assert.deepEqual(await raw(server, 'POST', '/jobs/echo?wait=60000', lines), [200, undefined])
  }
  await quiet(server)
})

test('B2 POST and DELETE from a page of another site get 403; reading changes nothing', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  const own = `${server.host}:${server.port}`
  for (const origin of ['http://evil.example', 'null', `http://${server.host}:1`, 'nonsense']) {
    const headers = { origin }
    for (const { status, body } of [
      await submit(server, 'echo', 1, { headers }).reply,
      await call(server, '/drain', { body: {}, headers }),
      await call(server, '/requests/x', { method: 'DELETE', headers }),
    ]) {
      assert.deepEqual([status, body.error?.code], [403, 'forbidden_origin'], origin)
    }
    assert.equal((await call(server, '/healthz', { headers })).status, 200)
  }
  assert.equal(server.state, 'accepting')
  const headers = { origin: `http://${own}` }
  assert.equal((await submit(server, 'echo', 1, { headers }).reply).status, 202)
  assert.equal((await cancel(server, 'x')).status, 404)
  await quiet(server)
})

test('B3 a local server answers to its own names only', async () => {
  await using server = await startServer({ jobs: [echo], port: 0 })
  assert.equal(server.isLocal, true)
  const foreign = [
    'evil.example',
    '127.0.0.1.evil.example:80',
    'localhost.evil',
    '10.0.0.1',
    '',
    'a b',
  ]
  for (const host of foreign) {
    assert.deepEqual(await raw(server, 'GET', '/jobs', [`host: ${host}`]), [403, 'forbidden_host'])
  }
  const own = [
    'localhost',
    `LocalHost:${server.port}`,
    '127.0.0.1:1',
    '[::1]:80',
    'a.localhost',
    'localhost.',
  ]
  for (const host of own) {
    assert.deepEqual(await raw(server, 'GET', '/jobs', [`host: ${host}`]), [200, undefined], host)
  }
  const { body } = await call(server, '/jobs', { headers: { host: 'evil.example' } })
  assert.match(body.error!.message, /not called "evil\.example": it listens on 127\.0\.0\.1/)
})

test('B3 a server that other machines can reach does not know its names', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-browsers-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = `sqlite:${join(folder, 'serve.db')}`
  const { people, ...opened } = await openPeople(store)
  const { token } = await people.addToken({ name: 'test', scopes: ['read'], by: 'test' })
  await opened[Symbol.asyncDispose]()
  await using server = await startServer({ jobs: [echo], port: 0, host: '0.0.0.0', store })
  assert.equal(server.isLocal, false)
  const here = { host: '127.0.0.1', port: server.port }
  const { status } = await call(here, '/jobs', {
    headers: { host: 'loom.example', authorization: `Bearer ${token}` },
  })
  assert.equal(status, 200)
})

test('which addresses only this machine can reach', () => {
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', 'localhost']) {
    assert.equal(isLoopback(host), true, host)
  }
  for (const host of [
    '0.0.0.0',
    '::',
    '192.168.1.5',
    '128.0.0.1',
    'example.org',
    '::2',
    'fe80::1',
  ]) {
    assert.equal(isLoopback(host), false, host)
  }
})
