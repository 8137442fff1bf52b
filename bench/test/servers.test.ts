/** Servers end with whoever started them, however that ends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../servers/find.ts'
import { openKeeper } from '../servers/keep.ts'
import { startRedis } from '../servers/redis.ts'
import { waitLine } from '../servers/wait-line.ts'

test('waitLine waits for the line that says so, in any of the streams', async () => {
  const [output, errors] = [new PassThrough(), new PassThrough()]
  const line = waitLine([output, errors], /ready/)
  output.write('starting\n')
  errors.write('now re')
  errors.write('ady\n')
  assert.equal(await line, 'now ready')
})

test('waitLine rejects with the last lines when the streams end first', async () => {
  const stream = new PassThrough()
  const line = waitLine([stream], /ready/)
  stream.end('one\ntwo\nthree\nfour\nfive\nno room\n')
  await assert.rejects(line, { message: 'two\nthree\nfour\nfive\nno room' })
})

test('programs are looked for where HEDDLE_BENCH_SERVERS says', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-bench-test-'))
  const before = process.env['HEDDLE_BENCH_SERVERS']
  process.env['HEDDLE_BENCH_SERVERS'] = folder
  try {
    assert.equal(findProgram('postgres'), undefined)
  } finally {
    if (before === undefined) delete process.env['HEDDLE_BENCH_SERVERS']
    else process.env['HEDDLE_BENCH_SERVERS'] = before
    rmSync(folder, { recursive: true })
  }
})

test('K1: a keeper takes its folder with it', async () => {
  const keeper = await openKeeper()
  assert.ok(existsSync(keeper.folder))
  await keeper[Symbol.asyncDispose]()
  assert.ok(!existsSync(keeper.folder))
  await keeper[Symbol.asyncDispose]()
})

test('a server that does not start is told with what it said', async () => {
  await using keeper = await openKeeper()
  const plan = {
    folder: 'broken',
    files: {},
    before: [],
    server: { file: process.execPath, args: ['-e', 'console.error("no memory"); process.exit(1)'] },
    ready: 'ready',
    stopSignal: 'SIGTERM',
  } as const
  await assert.rejects(keeper.start(plan), /did not start: no memory/)
  const absent = { ...plan, folder: 'absent', server: { file: '/no/such/program', args: [] } }
  await assert.rejects(keeper.start(absent), /ENOENT/)
})

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
  assert.ok(folder.includes('heddle-bench-'))
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
