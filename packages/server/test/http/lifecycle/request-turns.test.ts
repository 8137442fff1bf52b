import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { systemKernel, type Clock } from '@heddle/core/lowlevel'
import { RequestTurns } from '../../../src/http/lifecycle/request-turns.ts'
import { startServer } from '../../../src/server.ts'
import { until } from '../../../../core/test/kernel/until.ts'

/** Every request takes a millisecond; turns come when the test says so. */
function stage(budget: number, throwsAt?: number) {
  let now = 0
  let next: (() => void)[] = []
  const clock: Clock = {
    ...systemKernel.clock,
    now: () => now,
    afterIo: (callback) => void next.push(callback),
  }
  const begun: number[] = []
  const waited: number[] = []
  const numberOf = (response: ServerResponse): number =>
    (response as unknown as { number: number }).number
  const turns = new RequestTurns(
    (_, response) => {
      now++
      begun.push(numberOf(response))
      if (numberOf(response) === throwsAt) throw new Error(`request ${throwsAt}`)
    },
    { clock, budget, onWait: (response) => void waited.push(numberOf(response)) },
  )
  return {
    begun,
    waited,
    send: (number: number) => {
      const head = { number, closed: false, socket: { destroyed: false } }
      turns.listener(
        head as unknown as IncomingMessage,
        head as unknown as ServerResponse & { req: IncomingMessage },
      )
      return head
    },
    turn: (): number => {
      const due = next
      next = []
      for (const callback of due) callback()
      return due.length
    },
  }
}

test('T1 a turn begins requests for its budget, the others follow in order, and then none is left', () => {
  const { send, turn, begun } = stage(8)
  for (let number = 0; number < 30; number++) send(number)
  const counts = [begun.length]
  while (begun.length < 30) {
    turn()
    counts.push(begun.length)
  }
  assert.deepEqual(counts, [8, 16, 24, 30])
  assert.deepEqual(begun, [...begun.keys()])
  // The last turn had requests: one more ends it, and asks for no other.
  assert.equal(turn(), 1)
  assert.equal(turn(), 0)
})

test('T1 a request that comes while others wait does not overtake them', () => {
  const { send, turn, begun } = stage(2)
  for (let number = 0; number < 5; number++) send(number)
  turn()
  send(5)
  assert.deepEqual(begun, [0, 1, 2, 3])
  turn()
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5])
})

test('T2 T3 waiting requests are reported, and not begun when their client has left', () => {
  const { send, turn, begun, waited } = stage(1)
  send(0)
  const gone = send(1)
  const cut = send(2)
  send(3)
  assert.deepEqual(waited, [1, 2, 3])
  gone.closed = true
  cut.socket.destroyed = true
  for (let turns = 0; turns < 4; turns++) turn()
  assert.deepEqual(begun, [0, 3])
})

test('T4 a request that throws is begun once, and those behind it follow in order', () => {
  const { send, turn, begun } = stage(3, 4)
  for (let number = 0; number < 8; number++) send(number)
  assert.deepEqual(begun, [0, 1, 2])
  assert.throws(turn, /request 4/)
  assert.deepEqual(begun, [0, 1, 2, 3, 4])
  while (turn() > 0);
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6, 7])
})

test('T1 to T3 over sockets: of 400 requests that come together every one is answered, or its client has left, and nothing is left', async () => {
  await using server = await startServer({ jobs: [job({ name: 'one' }, () => 1)], port: 0 })
  const sockets = await Promise.all(
    Array.from({ length: 400 }, async () => {
      const socket = connect(server.port, server.host)
      await once(socket, 'connect')
      return socket
    }),
  )
  const staying = sockets.filter((_, n) => n % 4 !== 0)
  const answers = staying.map(async (socket) => {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    return bytes.toString('latin1').slice(0, 12)
  })
  // All in one step: the server finds them together.
  for (const socket of sockets) socket.write('GET /jobs HTTP/1.1\r\nhost: localhost\r\n\r\n')
  for (const [n, socket] of sockets.entries()) if (n % 4 === 0) socket.destroy()
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['HTTP/1.1 200']))
  for (const socket of staying) socket.destroy()
  await until(() => server.stats().connections.open === 0)
  assert.equal((await server.drain()).isClean, true)
})
