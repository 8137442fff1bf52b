// Sockets are real, so the loop turns while a request is on its way to the server;
// the waits of the code under test are on the injected clock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { HttpClient } from '../../../src/registry/http/client.ts'
import { startStub } from '../../support/servers.ts'
import { until } from '../../../../core/test/kernel/until.ts'
import { virtualKernel } from '../../support/virtual-time.ts'

test('scenario 93, HC1: 500 polls at once use no more sockets than configured', async () => {
  await using stub = await startStub((_, response) => void response.end('{}'))
  for (const connections of [3, 10]) {
    await using http = new HttpClient({ connections })
    const polls = Array.from({ length: 500 }, (_, i) =>
      http.send({ method: 'GET', url: `${stub.url}/package-${i}/1.0.0` }),
    )
    const answers = await Promise.all(polls)
    assert.ok(answers.every(({ status }) => status === 200))
    assert.ok(stub.mostSockets() <= connections, `${stub.mostSockets()} sockets`)
    assert.equal(http.stats().get(stub.url)?.inFlight, 0)
  }
  assert.equal(stub.calls.length, 1000)
})

test('law 4: more than may wait for a connection is refused at the door', async () => {
  await using stub = await startStub(() => {})
  await using http = new HttpClient({ connections: 1, maxWaiting: 2 })
  const abort = new AbortController()
  const get = (): Promise<unknown> =>
    http.send({ method: 'GET', url: stub.url }, { signal: abort.signal })
  const waiting = [get(), get(), get()].map((each) => each.catch((error: unknown) => error))
  await assert.rejects(get(), (error) => isError(error, 'HDL_TOO_MANY_WAITERS'))
  abort.abort()
  for (const error of await Promise.all(waiting)) assert.ok(isError(error, 'HDL_CANCELLED'))
})

test('HC2: a request that waits for a connection when a refusal comes does not start in the pause', async () => {
  await using stub = await startStub((_, response) => {
    response.writeHead(429, { 'retry-after': '60' }).end()
  })
  const kernel = virtualKernel()
  await using http = new HttpClient({ connections: 2, kernel })
  const abort = new AbortController()
  const all = Array.from({ length: 20 }, () =>
    http
      .send({ method: 'GET', url: stub.url }, { signal: abort.signal })
      .catch((error: unknown) => error),
  )
  await until(() => http.stats().get(stub.url)!.pace.refusals >= 2)
  await kernel.clock.advance(59_000)
  assert.equal(stub.calls.length, 2, 'those that had started')
  abort.abort()
  await Promise.all(all)
})

test('an upload does not wait behind 500 polls', async () => {
  const first = Promise.withResolvers<void>()
  await using stub = await startStub(async (request, response, call) => {
    if (call === 1) await first.promise
    request.resume()
    response.end('{}')
  })
  await using http = new HttpClient({ connections: 1 })
  const get = (): Promise<unknown> => http.send({ method: 'GET', url: `${stub.url}/poll` })
  const polls = Array.from({ length: 500 }, get)
  const upload = http.send({ method: 'PUT', url: `${stub.url}/upload`, body: 'x' })
  first.resolve()
  await upload
  assert.equal(
    stub.calls.findIndex(({ method }) => method === 'PUT'),
    1,
  )
  await Promise.all(polls)
})

test('a signal ends the exchange: the server sees the connection close', async () => {
  let closed: Promise<unknown> | undefined
  const arrived = Promise.withResolvers<void>()
  await using stub = await startStub((request) => {
    closed = new Promise((done) => request.socket.once('close', done))
    arrived.resolve()
  })
  await using http = new HttpClient()
  const abort = new AbortController()
  const asked = http.send({ method: 'GET', url: stub.url }, { signal: abort.signal })
  await arrived.promise
  abort.abort(new Error('enough'))
  await assert.rejects(asked, (error) => isError(error, 'HDL_CANCELLED'))
  await closed
  await assert.rejects(
    http.send({ method: 'GET', url: stub.url }, { signal: abort.signal }),
    (error) => isError(error, 'HDL_CANCELLED'),
  )
})

test('a deadline ends the exchange, in virtual time', async () => {
  await using stub = await startStub(() => {})
  const kernel = virtualKernel()
  await using http = new HttpClient({ kernel })
  const asked = http.send({ method: 'GET', url: stub.url }, { deadline: 5000 })
  const failed = assert.rejects(asked, (error) => isError(error, 'HDL_TIMEOUT'))
  await until(() => stub.active() > 0)
  await kernel.clock.advance(5000)
  await failed
  assert.equal(kernel.clock.pending, 0, 'no timer is left behind')
})

test('progress keeps a slow answer alive, silence ends it', async (t) => {
  const pieces = Promise.withResolvers<(text: string) => void>()
  await using stub = await startStub((_, response) => {
    response.writeHead(200, { 'content-length': '6' })
    pieces.resolve((text) => response.write(text))
  })
  const kernel = virtualKernel()
  await using http = new HttpClient({ kernel })
  const asked = http.send({ method: 'GET', url: stub.url, timeout: 1000 })
  const failed = assert.rejects(
    asked,
    (error) =>
      isError(error, 'HDL_REGISTRY_UNAVAILABLE') && /nothing came for 1000 ms/.test(error.message),
  )
  const write = await pieces.promise
  // A piece that has come is noted with its time.
  const { mock } = t.mock.method(kernel.clock, 'now')
  for (const piece of ['a', 'b', 'c']) {
    const before = mock.callCount()
    write(piece)
    await until(() => mock.callCount() > before)
    await kernel.clock.advance(900)
  }
  await kernel.clock.advance(200)
  await failed
})

test('HC3: an answer that is too large is not read to its end', async () => {
  let sent = 0
  await using stub = await startStub((_, response) => {
    const piece = Buffer.alloc(64 * 1024)
    const write = (): void => {
      while (!response.destroyed && sent < 500 * piece.length) {
        sent += piece.length
        if (!response.write(piece)) return void response.once('drain', write)
      }
    }
    write()
  })
  await using http = new HttpClient()
  const asked = http.send({ method: 'GET', url: stub.url, maxBytes: 100_000 })
  await assert.rejects(asked, (error) => isError(error, 'HDL_VALUE_TOO_LARGE'))
  assert.ok(sent < 20_000_000, `${sent} bytes were sent`)
})

test('a closed client ends requests under way and accepts no new ones', async () => {
  await using stub = await startStub(() => {})
  const http = new HttpClient()
  const asked = http.send({ method: 'GET', url: stub.url })
  const failed = assert.rejects(asked, (error) => isError(error, 'HDL_REGISTRY_UNAVAILABLE'))
  await until(() => stub.active() > 0)
  await http.close()
  await failed
  await assert.rejects(http.send({ method: 'GET', url: stub.url }), (error) =>
    isError(error, 'HDL_CLOSED'),
  )
  await http.close()
})

test('redirects of reads are followed, without credentials to another origin', async () => {
  await using other = await startStub((_, response) => void response.end('there'))
  await using stub = await startStub((request, response) => {
    const to = request.url === '/here' ? '/moved' : `${other.url}/x`
    response.writeHead(request.url === '/here' ? 302 : 307, { location: to }).end()
  })
  await using http = new HttpClient()
  const headers = { authorization: 'Bearer secret', accept: 'text/plain' }
  const answer = await http.send({ method: 'GET', url: `${stub.url}/here`, headers })
  assert.equal(answer.body.toString(), 'there')
  assert.deepEqual(
    stub.calls.map((call) => call.headers.authorization),
    ['Bearer secret', 'Bearer secret'],
  )
  assert.equal(other.calls[0]?.headers.authorization, undefined)
  assert.equal(other.calls[0]?.headers.accept, 'text/plain')
  const put = await http.send({ method: 'PUT', url: `${stub.url}/here`, body: 'x' })
  assert.equal(put.status, 302, 'a write is not sent to somewhere else')
})

test('redirects in a circle end', async () => {
  await using stub = await startStub((_, response) => {
    response.writeHead(301, { location: '/again' }).end()
  })
  await using http = new HttpClient()
  assert.equal((await http.send({ method: 'GET', url: stub.url })).status, 301)
  assert.equal(stub.calls.length, 6)
})

test('an answer that comes before the body has been read is an answer', async () => {
  await using stub = await startStub((_, response) => {
    response.writeHead(413, { connection: 'close' }).end('too large')
  })
  await using http = new HttpClient()
  let made = 0
  const released = Promise.withResolvers<void>()
  const body = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for (; made < 2000; made++) yield Buffer.alloc(64 * 1024)
    } finally {
      released.resolve()
    }
  }
  const answer = await http.send({ method: 'PUT', url: stub.url, body })
  assert.equal(answer.status, 413)
  assert.equal(answer.body.toString(), 'too large')
  assert.ok(made < 2000, 'the rest was not sent')
  await released.promise
})

test('errors and messages do not contain credentials of an address', async () => {
  const gone = await startStub(() => {})
  await gone[Symbol.asyncDispose]()
  await using http = new HttpClient()
  const url = gone.url.replace('http://', 'http://user:secret@')
  await assert.rejects(http.send({ method: 'GET', url }), (error) => {
    assert.doesNotMatch(JSON.stringify(error) + String(error), /secret/)
    return true
  })
})

test('a redirect to no address of HTTP is a failure of the registry', async () => {
  for (const location of ['http://[', 'file:///etc/passwd', 'javascript:0']) {
    await using stub = await startStub((_, response) => {
      response.writeHead(302, { location }).end()
    })
    await using http = new HttpClient()
    await assert.rejects(http.send({ method: 'GET', url: stub.url }), (error) => {
      assert.ok(isError(error, 'HDL_REGISTRY_UNAVAILABLE'), location)
      return error.details.problem.includes(`redirects to ${location}`)
    })
    assert.equal(stub.calls.length, 1)
  }
})
