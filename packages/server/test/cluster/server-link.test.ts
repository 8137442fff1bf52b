import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { Link } from '../../src/cluster/server-link.ts'
import { LinkDoor } from '../../src/cluster/link-door.ts'

const { clock } = systemKernel
const forever = { signal: new AbortController().signal, deadline: 600_000 }

/** A server behind a door, and a link to it. */
async function setUp(answer: (...given: Parameters<RequestListener>) => unknown, proves = true) {
  const listener: RequestListener = (request, response) => void answer(request, response)
  const server = createServer(listener)
  const proofOf = (): never => (proves ? {} : undefined) as never
  const door = new LinkDoor({
    cluster: { forwarder: { proofOf } },
    listener: () => listener,
    clock,
  })
  door.follow(server)
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const link = new Link({ address, clock, proof: () => ({}) })
  return {
    server,
    door,
    sockets,
    link,
    address,
    async [Symbol.asyncDispose]() {
      link.close()
      await door.stop(0)
      for (const socket of sockets) socket.destroy()
      if (server.listening) {
        server.close()
        await once(server, 'close')
      }
    },
  }
}

const call = (url: string, body = '') => ({
  method: 'POST',
  url,
  headers: { 'x-one': '1' },
  body: Buffer.from(body),
})

const echo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = await text(request)
  response.setHeader('x-two', '2')
  response.writeHead(201, { 'X-Three': 3 })
  response.end(`${request.method} ${request.url} ${String(request.headers['x-one'])} ${body}`)
}

test('L1: calls share one connection and few frames; answers have status, headers and bytes', async () => {
  await using to = await setUp(echo)
  const asked = Array.from({ length: 600 }, (_, n) =>
    to.link.ask(call(`/jobs/${n}`, `body ${n}`), forever),
  )
  for (const [n, answer] of (await Promise.all(asked)).entries()) {
    assert.ok(typeof answer === 'object')
    const { 'x-two': two, 'x-three': three } = answer.headers
    assert.deepEqual([answer.status, two, three], [201, '2', '3'])
    assert.equal(answer.body.toString(), `POST /jobs/${n} 1 body ${n}`)
  }
  assert.equal(to.sockets.length, 1)
  const { calls, sent, groups } = to.link.stats()
  assert.deepEqual([calls, sent, groups], [0, 600, 3])
})

test('L1: an answer that takes long does not hold up another one, and bytes pass unchanged', async () => {
  const held = Promise.withResolvers<void>()
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256))
  await using to = await setUp(async (request, response) => {
    if (request.url === '/slow') await held.promise
    response.write(bytes.subarray(0, 7))
    response.end(bytes.subarray(7))
  })
  const slow = to.link.ask(call('/slow'), forever)
  const quick = await to.link.ask(call('/quick'), forever)
  assert.ok(typeof quick === 'object' && quick.body.equals(bytes))
  held.resolve()
  assert.ok(typeof (await slow) === 'object')
})

test('L2, D2: when the link closes its calls end as unreachable, and its requests as if their clients had left', async () => {
  const gone = Promise.withResolvers<boolean>()
  const arrived = Promise.withResolvers<void>()
  await using to = await setUp((_, response) => {
    response.once('close', () => gone.resolve(response.writableFinished))
    arrived.resolve()
  })
  const asked = to.link.ask(call('/never'), forever)
  await arrived.promise
  to.sockets[0]!.destroy()
  assert.equal(await asked, 'unreachable')
  assert.equal(await gone.promise, false)
})

test('L6, D4: what is too long for a frame is reported, and ends no other call', async () => {
  const held = Promise.withResolvers<void>()
  await using to = await setUp(async (request, response) => {
    if (request.url === '/slow') await held.promise
    response.end(request.url === '/long' ? Buffer.alloc(70 * 2 ** 20) : 'there')
  })
  const slow = to.link.ask(call('/slow'), forever)
  assert.equal(await to.link.ask(call('/long'), forever), 'too long')
  const sent = { ...call('/sent'), body: Buffer.alloc(70 * 2 ** 20) }
  assert.equal(await to.link.ask(sent, forever), 'too long')
  held.resolve()
  const answer = await slow
  assert.ok(typeof answer === 'object' && answer.body.toString() === 'there')
  assert.equal(to.sockets.length, 1)
})

test('L4, D2: a caller that leaves ends its call on both servers, and no other one', async () => {
  const gone = Promise.withResolvers<string>()
  const arrived = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  await using to = await setUp(async (request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) gone.resolve(request.url!)
    })
    if (request.url === '/leaves') return arrived.resolve()
    await held.promise
    response.end('there')
  })
  const leaving = new AbortController()
  const asked = to.link.ask(call('/leaves'), { ...forever, signal: leaving.signal })
  const other = to.link.ask(call('/stays'), forever)
  await arrived.promise
  leaving.abort(new Error('left'))
  await assert.rejects(asked)
  assert.equal(await gone.promise, '/leaves')
  held.resolve()
  const answer = await other
  assert.ok(typeof answer === 'object' && answer.body.toString() === 'there')
  assert.equal(to.link.stats().calls, 0)
})

test('L5, D1: a server that has no door, or refuses the proof, gets its calls one by one', async () => {
  await using refusing = await setUp(echo, false)
  assert.equal(await refusing.link.ask(call('/a'), forever), 'unsupported')
  const old = createServer((request, response) => void echo(request, response))
  old.listen(0, '127.0.0.1')
  await once(old, 'listening')
  const address = `http://127.0.0.1:${(old.address() as AddressInfo).port}`
  const link = new Link({ address, clock, proof: () => ({}) })
  assert.equal(await link.ask(call('/a'), forever), 'unsupported')
  old.close()
  await once(old, 'close')
  // It is not asked again for a minute.
  assert.equal(await link.ask(call('/a'), forever), 'unsupported')
  const other = new Link({ address, clock, proof: () => ({}) })
  assert.equal(await other.ask(call('/a'), forever), 'unreachable')
})

test('L2: a server that accepts the link and falls silent is given up, and one that is alive is not', async () => {
  await using to = await setUp(() => undefined)
  // Accepts links, and reads nothing from them.
  to.server.removeAllListeners('connect')
  const opened = Promise.withResolvers<Socket>()
  to.server.on('connect', (_, socket: Socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 200 Connected\r\n\r\n')
    opened.resolve(socket)
  })
  const virtual = new VirtualClock()
  const link = new Link({ address: to.address, clock: virtual, proof: () => ({}) })
  const asked = link.ask(call('/a'), forever)
  const socket = await opened.promise
  const first = once(socket, 'data')
  await first
  await virtual.advance(3_000)
  assert.equal(link.stats().calls, 1)
  await virtual.advance(3_000)
  assert.equal(await asked, 'unreachable')
  link.close()
})

test('L2, L4: a call ends at its deadline on a link that is alive, and the other server stops waiting for it', async () => {
  const gone = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  await using to = await setUp((_, response) => {
    response.once('close', () => gone.resolve())
    arrived.resolve()
  })
  const virtual = new VirtualClock()
  const link = new Link({ address: to.address, clock: virtual, proof: () => ({}) })
  const asked = link.ask(call('/never'), { ...forever, deadline: 500 })
  await arrived.promise
  await Promise.all([assert.rejects(asked, { code: 'HDL_TIMEOUT' }), virtual.advance(500)])
  assert.equal(link.stats().calls, 0)
  await gone.promise
  link.close()
})

test('D3: a server that stops answers the calls under way first', async () => {
  const held = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  await using to = await setUp(async (_, response) => {
    arrived.resolve()
    await held.promise
    response.end('last')
  })
  const asked = to.link.ask(call('/a'), forever)
  await arrived.promise
  const stopped = to.door.stop(60_000)
  held.resolve()
  const answer = await asked
  assert.ok(typeof answer === 'object' && answer.body.toString() === 'last')
  await stopped
})
