/** Connections in all and of one address, over real connections. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { isError, job } from '@heddle/core'
import { startServer, type Server, type ServerOptions } from '../../../src/index.ts'
import { Connections, customerOf } from '../../../src/http/lifecycle/connections.ts'
import { Wire, call } from '../../support/client.ts'
import { Gate } from '../../support/gates.ts'
import { compute } from '../../support/http.ts'
import { until } from '../../../../core/test/kernel/until.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

async function connect(server: Server, count: number): Promise<Wire[]> {
  const before = server.stats().connections.open
  const wires: Wire[] = []
  for (let number = 1; number <= count; number++) {
    const wire = new Wire(server)
    await wire.connected()
    await until(() => server.stats().connections.open === before + number)
    wires.push(wire)
  }
  return wires
}

test('C1 C2 idle connections do not block new ones: the one that is idle for the longest time ends', async () => {
  await using server = await startServer({ jobs: [echo], port: 0, limits: { connections: 3 } })
  const wires = await connect(server, 3)
  assert.deepEqual((await compute(server, 'echo', 1).reply).body['result'], 1)
  await wires[0]!.closed()
  const { displaced, refused } = server.stats().connections
  assert.deepEqual([displaced, refused], [1, { total: 0, address: 0 }])
  for (const wire of wires) wire[Symbol.dispose]()
})

test('C2 a connection with a request is never closed for a new one: the new one is refused', async () => {
  const gate = new Gate('work')
  const limits = { connections: 2, loop: 2 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const both = [compute(server, 'work', 1), compute(server, 'work', 2)]
  await gate.started(2)
  using third = new Wire(server)
  await third.closed()
  assert.equal(server.stats().connections.refused.total, 1)
  gate.finishAll()
  for (const { reply } of both) assert.equal((await reply).status, 200)
})

test('C2 a connection is idle again after its answer', async () => {
  await using server = await startServer({ jobs: [echo], port: 0, limits: { connections: 2 } })
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
    [Symbol.dispose](this: Agent) {
      this.destroy()
    },
  })
  await call(server, '/healthz', { agent })
  await until(() => server.stats().connections.idle === 1)
  const wires = await connect(server, 1)
  using third = new Wire(server)
  await third.connected()
  await until(() => server.stats().connections.displaced === 1)
  assert.equal(wires[0]!.socket.destroyed, false)
  wires[0]![Symbol.dispose]()
})

test('C3 one address: refused above its number; loopback is limited only when it is asked for, proxies never', async () => {
  const opened = async (options: Partial<ServerOptions>): Promise<number> => {
    await using server = await startServer({ jobs: [echo], port: 0, ...options })
    const wires = Array.from({ length: 5 }, () => new Wire(server))
    await until(() => {
      const { open, refused } = server.stats().connections
      return open + refused.address === 5
    })
    for (const wire of wires) wire[Symbol.dispose]()
    await until(() => server.stats().connections.open === 0)
    return 5 - server.stats().connections.refused.address
  }
  assert.equal(await opened({}), 5)
  const limits = { connectionsPerAddress: 3 }
  assert.equal(await opened({ limits }), 3)
  assert.equal(await opened({ limits, trustedProxies: ['127.0.0.1'] }), 5)
  assert.equal(await opened({ limits, trustedProxies: ['10.0.0.0/8', '127.0.0.0/8'] }), 5)
  assert.equal(await opened({ limits, trustedProxies: ['10.0.0.0/8', '::1'] }), 3)
})

test('C3 of IPv6 the first 64 bits count', () => {
  assert.equal(customerOf('192.0.2.7'), '192.0.2.7')
  const same = ['2001:db8::1', '2001:db8::2:3', '2001:db8:0:0:9::', '2001:db8:0:0:1:2:3:4']
  assert.deepEqual(new Set(same.map(customerOf)), new Set(['2001:db8:0:0::/64']))
  assert.equal(customerOf('::1'), '0:0:0:0::/64')
  assert.notEqual(customerOf('2001:db8:0:1::1'), customerOf('2001:db8::1'))
})

test('a proxy that is not an address is refused by its name', () => {
  for (const proxy of ['', 'proxy.example', '10.0.0.0/33', '10.0.0.0/x', '1.2.3']) {
    assert.throws(
      () => new Connections({ most: 1, trustedProxies: [proxy] }),
      (error) => isError(error, 'HDL_BAD_OPTION') && error.details.value === proxy,
      proxy,
    )
  }
})
