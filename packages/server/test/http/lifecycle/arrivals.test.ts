/** Bodies that come slowly or never, over real connections; time is the test's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startServer, type Server, type ServerLimits } from '../../../src/index.ts'
import { Wire, begin, head } from '../../support/client.ts'
import { quiet, submit } from '../../support/http.ts'
import { until } from '../../../../core/test/kernel/until.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

interface Timed extends AsyncDisposable {
  readonly server: Server
  readonly clock: VirtualClock
}

async function timed(limits: ServerLimits): Promise<Timed> {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const server = await startServer({ jobs: [echo], port: 0, limits, kernel })
  return {
    server,
    clock,
    async [Symbol.asyncDispose]() {
      const stopped = server[Symbol.asyncDispose]()
      // Connections that a test has left open have a second of its time.
      await until(() => server.state === 'stopped')
      await clock.advance(1_000)
      await stopped
    },
  }
}

/** Ignores whatever the server sends: it neither reads nor closes. */
function deaf(server: Server): Wire {
  const wire = new Wire(server)
  wire.socket.removeAllListeners('end')
  wire.socket.pause()
  return wire
}

function arriving(server: Server, count: number): Promise<void> {
  return until(() => server.stats().arrivals.arriving === count)
}

function connected(server: Server, count: number): Promise<void> {
  return until(() => server.stats().connections.open === count)
}

test('A2 A4 a body that does not come in time: 408 with its stage, and the connection ends', async () => {
  await using timing = await timed({ arrival: 5_000 })
  const { server, clock } = timing
  using wire = new Wire(server)
  await wire.send(`${head('/jobs/echo?wait=60000', 100)}"ha`)
  await arriving(server, 1)
  await clock.advance(4_999)
  await wire.send('lf')
  assert.equal(server.stats().arrivals.arriving, 1)
  await clock.advance(1)
  assert.equal(server.stats().arrivals.arriving, 0)
  const [, text] = await wire.has(/^HTTP\/1\.1 408 [^]*connection: close[^]*\r\n\r\n(\{.*\})/i)
  const { error } = JSON.parse(text!) as { error: Record<string, unknown> }
  assert.deepEqual(
    [error['code'], error['stage'], error['retryable']],
    ['timeout', 'arrival', true],
  )
  await wire.closed()
  await connected(server, 0)
  assert.equal(server.stats().arrivals.late, 1)
  await quiet(server)
})

test('A4 a client that ignores the 408 loses its connection all the same', async () => {
  await using timing = await timed({ arrival: 5_000 })
  const { server, clock } = timing
  // Timers of the server itself: work that it does once after its start is over.
  await clock.advance(5_000)
  const { pending } = clock
  using wire = deaf(server)
  await wire.send(head('/jobs/echo', 100))
  await arriving(server, 1)
  await clock.advance(5_000)
  await connected(server, 0)
  await quiet(server)
  assert.equal(clock.pending, pending)
})

test('A2 also the body of a request that was refused before it came has a limit', async () => {
  await using timing = await timed({ arrival: 5_000 })
  const { server, clock } = timing
  const heads: [text: string, status: RegExp][] = [
    [head('/jobs/unknown', 100), /^HTTP\/1\.1 404/],
    [head('/nothing', 100), /^HTTP\/1\.1 404/],
    [head('/jobs/echo', 100).replace('application/json', 'text/plain'), /^HTTP\/1\.1 415/],
    ['GET /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n', /^HTTP\/1\.1 200/],
  ]
  const wires = heads.map(() => new Wire(server))
  for (const [number, [text]] of heads.entries()) await wires[number]!.send(text)
  for (const [number, [, status]] of heads.entries()) await wires[number]!.has(status)
  // Those that were refused have ended with their answers; of the one that was served the body may still come.
  await connected(server, 1)
  await arriving(server, 1)
  await clock.advance(5_000)
  await connected(server, 0)
  for (const wire of wires) wire[Symbol.dispose]()
})

test('A1 a body that comes with its head needs no seat here: it is served while all seats are taken', async () => {
  await using timing = await timed({ bodies: 1 })
  const { server } = timing
  using slow = new Wire(server)
  await slow.send(head('/jobs/echo', 100))
  await arriving(server, 1)
  for (const input of [1, 'two', { three: 3 }, 'x'.repeat(2_000)]) {
    using wire = new Wire(server)
    const text = JSON.stringify(input)
    await wire.send(head('/jobs/echo?wait=60000', text.length, 'connection: close\r\n') + text)
    await wire.has(/^HTTP\/1\.1 200/)
  }
  assert.deepEqual(server.stats().arrivals, {
    arriving: 1,
    capacity: 1,
    late: 0,
    displaced: 0,
    refused: 0,
  })
})

test('A3 all seats are taken: the slowest request that has used up its time gives its seat', async () => {
  await using timing = await timed({ bodies: 3 })
  const { server, clock } = timing
  const bytes = ['"', `"${'x'.repeat(50)}`, '"xx']
  const wires = bytes.map(() => new Wire(server))
  for (const [number, wire] of wires.entries()) {
    await wire.send(head('/jobs/echo?wait=60000', 100))
    await arriving(server, number + 1)
    await wire.send(bytes[number]!)
  }
  using early = new Wire(server)
  await early.send(head('/jobs/echo', 3))
  await early.has(/^HTTP\/1\.1 503 [^]*connection: close\r[^]*retry-after: [12]\r[^]*"overloaded"/i)
  assert.equal(server.stats().arrivals.refused, 1)
  await clock.advance(100)
  using late = new Wire(server)
  await late.send(head('/jobs/echo?wait=60000', 3))
  await wires[0]!.has(
    /^HTTP\/1\.1 503 [^]*connection: close\r[^]*retry-after: [12]\r[^]*"overloaded"/i,
  )
  await wires[0]!.closed()
  await late.send('"a"')
  await late.has(/^HTTP\/1\.1 200/)
  await arriving(server, 2)
  assert.equal(server.stats().arrivals.displaced, 1)
  // The other ones finish in their own time.
  await wires[1]!.send(`${'x'.repeat(48)}"`)
  await wires[2]!.send(`${'x'.repeat(96)}"`)
  for (const wire of wires.slice(1)) await wire.has(/^HTTP\/1\.1 200/)
  for (const wire of wires) wire[Symbol.dispose]()
  await quiet(server)
})

test('five hundred slow senders, half of them deaf: submits of the same address are served', async () => {
  await using timing = await timed({ bodies: 20, arrival: 10_000 })
  const { server, clock } = timing
  const senders = Array.from({ length: 500 }, (_, number) =>
    number % 2 === 0 ? new Wire(server) : deaf(server),
  )
  for (const [number, wire] of senders.entries()) {
    await wire.connected()
    // Every third one is slow in its head.
    wire.socket.write(
      number % 3 === 0 ? 'POST /jobs/echo HTTP/1.1\r\nx: ' : head('/jobs/echo', 900),
    )
  }
  await until(() => {
    const { arriving: now, refused } = server.stats().arrivals
    return now === 20 && now + refused === 333
  })
  for (let second = 0; second < 12; second++) {
    for (const { socket } of senders) if (socket.writable) socket.write('1')
    const body = `ordinary ${second}`
    const { status } = await begin(server, '/jobs/echo?wait=60000', { body }).reply
    assert.equal(status, 200)
    // In two packets, as many clients send it: it takes a seat from the slowest.
    using wire = new Wire(server)
    const text = JSON.stringify(body)
    await wire.send(head('/jobs/echo?wait=60000', text.length))
    if (second > 0) {
      await wire.send(text)
      await wire.has(/^HTTP\/1\.1 200/)
    }
    await clock.advance(1_000)
  }
  assert.equal((await submit(server, 'echo', 'last').reply).status, 202)
  for (const wire of senders) wire[Symbol.dispose]()
  await quiet(server)
})
