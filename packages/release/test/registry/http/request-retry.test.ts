// Sockets are real, so the loop turns while a request is on its way to the server;
// the waits of the code under test are on the injected clock.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { HeddleError, isError } from '@heddle/core'
import { parseAnswer } from '../../../src/registry/http/answer.ts'
import { HttpClient } from '../../../src/registry/http/client.ts'
import { readWithRetry, requestWithRetry } from '../../../src/registry/http/request-retry.ts'
import { startStub, type StubServer } from '../../support/servers.ts'
import { until } from '../../../../core/test/kernel/until.ts'
import { inVirtualTime, largest, virtualKernel } from '../../support/virtual-time.ts'

/** Runs requests against a stub in virtual time, and says how long they took there. */
async function timed<T>(
  stub: StubServer,
  ask: (http: HttpClient) => Promise<T>,
): Promise<{ value?: T; error?: unknown; took: number }> {
  const kernel = virtualKernel(largest)
  await using http = new HttpClient({ kernel })
  // Time stands still while a request is in flight: requests that wait for their turn do not count.
  const busy = (): boolean => stub.active() > 0
  const settled = await inVirtualTime(
    kernel.clock,
    busy,
    ask(http).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
    10,
  )
  return { ...settled, took: kernel.clock.now() }
}

const failing =
  (...statuses: number[]) =>
  (_: unknown, response: ServerResponse, call: number): void => {
    response.writeHead(statuses[call - 1] ?? 200).end(`answer ${call}`)
  }

test('scenario 85: 200 is one call, 404 is an answer', async () => {
  await using stub = await startStub(failing(200, 404))
  await using http = new HttpClient()
  const first = await requestWithRetry(http, { method: 'GET', url: `${stub.url}/a` })
  const second = await requestWithRetry(http, { method: 'GET', url: `${stub.url}/b` })
  assert.equal(first.body.toString(), 'answer 1')
  assert.equal(second.status, 404)
  assert.equal(stub.calls.length, 2)
})

test('scenario 85: 503, then 200 are two calls', async () => {
  await using stub = await startStub(failing(503))
  const { value, took } = await timed(stub, (http) =>
    requestWithRetry(http, { method: 'GET', url: stub.url }),
  )
  assert.equal(value?.status, 200)
  assert.equal(stub.calls.length, 2)
  assert.ok(took >= 500 && took < 700, `waited ${took} ms`)
})

test('scenario 85, RT1, RT2: an error after the last try, without a wait after it, with its history', async () => {
  await using stub = await startStub(failing(500, 502, 504, 503))
  const { error, took } = await timed(stub, (http) =>
    requestWithRetry(http, { method: 'GET', url: `${stub.url}/x` }),
  )
  assert.ok(isError(error, 'HDL_REGISTRY_UNAVAILABLE'))
  assert.equal(stub.calls.length, 4)
  assert.match(error.message, /failed 4 times: status 503/, 'the last cause')
  const history = error.errors!.map((each) => /status (\d+)/.exec((each as Error).message)?.[1])
  assert.deepEqual(history, ['500', '502', '504', '503'])
  assert.ok(took >= 3500 && took < 4000, `0.5 + 1 + 2 s and no more, waited ${took} ms`)
})

test('RT3: all that can happen to a connection is tried again', async () => {
  await using stub = await startStub((request, response, call) => {
    if (call === 1) request.socket.destroy()
    else if (call === 2) request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf')
    else if (call === 3) request.socket.end('nonsense\r\n\r\n')
    else response.end('fine')
  })
  const { value } = await timed(stub, (http) =>
    requestWithRetry(http, { method: 'GET', url: stub.url }),
  )
  assert.equal(value?.body.toString(), 'fine')
  assert.equal(stub.calls.length, 4)
})

test('RT3: a server that says nothing is given up and asked again', async () => {
  await using stub = await startStub((_, response, call) => {
    if (call > 1) response.end('fine')
  })
  const kernel = virtualKernel()
  await using http = new HttpClient({ kernel })
  const asked = requestWithRetry(http, { method: 'GET', url: stub.url, timeout: 2000 })
  await until(() => stub.active() > 0)
  await kernel.clock.advance(2000)
  const answer = await inVirtualTime(kernel.clock, () => stub.active() > 0, asked)
  assert.equal(answer.body.toString(), 'fine')
  assert.equal(stub.calls.length, 2)
})

test('RT3: a server that does not listen is retried', async () => {
  const gone = await startStub(() => {})
  await gone[Symbol.asyncDispose]()
  const kernel = virtualKernel()
  await using http = new HttpClient({ kernel })
  const asked = requestWithRetry(http, { method: 'GET', url: gone.url })
  const error = await inVirtualTime(
    kernel.clock,
    () => false,
    asked.catch((thrown: unknown) => thrown),
  )
  assert.ok(isError(error, 'HDL_REGISTRY_UNAVAILABLE'))
  assert.match(error.message, /ECONNREFUSED/)
  assert.equal(error.details.tries, 4)
  assert.equal(error.details.outcome, 'not-done')
})

test('RT5: a request that is not idempotent is sent once, and the error says that it may have happened', async () => {
  await using stub = await startStub((request) => void request.socket.destroy())
  await using http = new HttpClient()
  for (const method of ['POST', 'PUT'] as const) {
    const asked = requestWithRetry(http, { method, url: stub.url, body: 'x' })
    await assert.rejects(
      asked,
      (error) => isError(error, 'HDL_REGISTRY_UNAVAILABLE') && error.details.outcome === 'unknown',
    )
  }
  assert.equal(stub.calls.length, 2)
})

test('RT5: a request that is declared idempotent is sent again, with a new body', async () => {
  const bodies: string[] = []
  await using stub = await startStub(async (request, response, call) => {
    let text = ''
    for await (const piece of request) text += String(piece)
    bodies.push(text)
    response.writeHead(call === 1 ? 502 : 201).end()
  })
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('one ')
    yield Buffer.from('two')
  }
  const { value } = await timed(stub, (http) =>
    requestWithRetry(http, { method: 'PUT', url: stub.url, body, idempotent: true }),
  )
  assert.equal(value?.status, 201)
  assert.deepEqual(bodies, ['one two', 'one two'])
})

for (const [kind, header] of [
  ['seconds', '7'],
  // The virtual clock starts there.
  ['a date', 'Thu, 01 Jan 2026 00:00:07 GMT'],
] as const) {
  test(`scenario 87: 429 with Retry-After as ${kind} is waited for`, async () => {
    await using stub = await startStub((_, response, call) => {
      if (call === 1) response.writeHead(429, { 'retry-after': header }).end()
      else response.end('fine')
    })
    const { value, took } = await timed(stub, (http) =>
      requestWithRetry(http, { method: 'GET', url: stub.url }),
    )
    assert.equal(value?.body.toString(), 'fine')
    assert.ok(took >= 7000 && took < 7500, `waited ${took} ms`)
  })
}

test('scenario 87: the whole run slows down, and then gets faster', async () => {
  let isRefusing = true
  await using stub = await startStub((_, response) => {
    if (isRefusing) response.writeHead(429, { 'retry-after': '30' }).end()
    else response.end('fine')
    isRefusing = false
  })
  const kernel = virtualKernel()
  await using http = new HttpClient({ kernel })
  const get = (): Promise<unknown> => requestWithRetry(http, { method: 'GET', url: stub.url })
  const busy = (): boolean => stub.active() > 0
  const refused = get()
  await until(() => stub.active() === 0 && stub.calls.length > 0)
  const { origin } = new URL(stub.url)
  await until(() => http.stats().get(origin)!.pace.state === 'held')
  const others = Array.from({ length: 60 }, get)
  await kernel.clock.advance(29_000)
  assert.equal(stub.calls.length, 1, 'no request is sent before the time that the registry names')
  await inVirtualTime(kernel.clock, busy, Promise.all([refused, ...others]))
  assert.equal(stub.calls.length, 62)
  const took = kernel.clock.now() - 30_000
  assert.ok(took > 5000, `62 requests at about 10 a second took ${took} ms`)
  const { state, gap } = http.stats().get(origin)!.pace
  assert.equal(state, 'paced')
  assert.ok(gap < 100, `${gap} ms`)
})

test('a rate that is refused again and again is an error in the end', async () => {
  await using stub = await startStub((_, response) => {
    response.writeHead(429, { 'retry-after': '1' }).end()
  })
  const { error } = await timed(stub, (http) =>
    requestWithRetry(http, { method: 'GET', url: stub.url }),
  )
  assert.ok(isError(error, 'HDL_REGISTRY_RATE'))
  assert.equal(error.details.tries, 12)
  assert.equal(stub.calls.length, 12)
})

test('a request answered with 503 and Retry-After waits that long', async () => {
  await using stub = await startStub((_, response, call) => {
    if (call === 1) response.writeHead(503, { 'retry-after': '3' }).end()
    else response.end('fine')
  })
  const { took } = await timed(stub, (http) =>
    requestWithRetry(http, { method: 'GET', url: stub.url }),
  )
  assert.ok(took >= 3000 && took < 3500, `waited ${took} ms`)
})

test('a signal ends the wait between two tries, a deadline before it begins', async () => {
  await using stub = await startStub(failing(503, 503, 503, 503, 503))
  const abort = new AbortController()
  const kernel = virtualKernel(largest)
  await using http = new HttpClient({ kernel })
  const asked = requestWithRetry(http, { method: 'GET', url: stub.url }, { signal: abort.signal })
  await until(() => stub.calls.length > 0 && http.stats().get(stub.url)!.inFlight === 0)
  abort.abort(new Error('enough'))
  await assert.rejects(asked, (error) => isError(error, 'HDL_CANCELLED'))
  const calls = stub.calls.length
  const hurried = requestWithRetry(http, { method: 'GET', url: stub.url }, { deadline: 400 })
  await assert.rejects(hurried, (error) => isError(error, 'HDL_TIMEOUT'))
  assert.equal(stub.calls.length, calls + 1)
  assert.equal(kernel.clock.pending, 0)
})

test('an error that is neither an answer nor a lost connection passes', async () => {
  await using stub = await startStub((_, response) => void response.end('x'.repeat(2000)))
  await using http = new HttpClient()
  const asked = requestWithRetry(http, { method: 'GET', url: stub.url, maxBytes: 1000 })
  await assert.rejects(asked, (error) => {
    assert.ok(error instanceof HeddleError)
    return error.code === 'HDL_VALUE_TOO_LARGE'
  })
  assert.equal(stub.calls.length, 1)
})

test('RT4: an answer that was cut off without a sign is asked for again', async () => {
  const whole = JSON.stringify({ version: '1.0.0' })
  await using stub = await startStub(({ socket }, _response, call) => {
    // No length, and the connection is closed: as a proxy of HTTP/1.0 ends every answer.
    const body = call < 3 ? whole.slice(0, -1) : whole
    socket.end(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${body}`)
  })
  const read = (http: HttpClient): Promise<unknown> =>
    readWithRetry(http, { method: 'GET', url: stub.url }, {}, (answer) =>
      parseAnswer(answer, stub.url, () => JSON.parse(answer.body.toString()) as unknown),
    )
  const { value } = await timed(stub, read)
  assert.deepEqual(value, { version: '1.0.0' })
  assert.equal(stub.calls.length, 3)
})

test('a pause of hours is not waited for: one request, and an error that names the time', async () => {
  await using stub = await startStub((_, response) => {
    response.writeHead(429, { 'retry-after': '10800' }).end()
  })
  const { error, took } = await timed(stub, (http) =>
    requestWithRetry(http, { method: 'GET', url: stub.url }),
  )
  assert.ok(isError(error, 'HDL_REGISTRY_RATE'))
  assert.match(error.message, /tried again in 10800 s/)
  assert.equal(stub.calls.length, 1)
  assert.ok(took < 1_000, `waited ${took} ms`)
})
