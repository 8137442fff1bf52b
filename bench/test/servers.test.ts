/** Servers end with the process that started them, however that ends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findProgram, openKeeper, waitLine } from '@heddle/test-servers'
import { startRedis } from '../servers/redis.ts'

const skip =
  findProgram('redis-server') === undefined &&
  "redis-server is not on this machine: install Debian's package redis-server to run this test"

test('Redis is started on the loopback, durable as asked, and stopped', { skip }, async () => {
  const keeper = await openKeeper()
  const address = await startRedis(keeper, 'always')
  const socket = await connectTo(address)
  assert.match(await ask(socket, 'CONFIG GET append*'), /appendfsync\s+\$\d+\s+always/)
  assert.match(await ask(socket, 'CONFIG GET bind'), /127\.0\.0\.1/)
  const ended = once(socket, 'close')
  await keeper[Symbol.asyncDispose]()
  await ended
  await assert.rejects(connectTo(address), { code: 'ECONNREFUSED' })
  assert.ok(!existsSync(keeper.folder))
})

test('K1: servers and folder go when the bench is killed', { skip }, async () => {
  const program = fileURLToPath(new URL('fixtures/start-redis.ts', import.meta.url))
  const bench = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const line = await waitLine([bench.stdout], /^started /)
  const [, folder = '', address = ''] = line.split(' ')
  const socket = await connectTo(address)
  const ended = once(socket, 'close')
  bench.kill('SIGKILL')
  await ended
  assert.ok(folder.includes('heddle-servers-'))
})

async function connectTo(address: string): Promise<Socket> {
  const { hostname, port, password } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.setEncoding('utf8')
  await once(socket, 'connect')
  assert.equal(await ask(socket, `AUTH ${password}`), '+OK\r\n')
  return socket
}

async function ask(socket: Socket, command: string): Promise<string> {
  socket.write(`${command}\r\n`)
  const [answer] = (await once(socket, 'data')) as [string]
  return answer
}
