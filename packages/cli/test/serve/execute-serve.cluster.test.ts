/** Two servers on one PostgreSQL, each behind an address of its own. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import { reach } from '../../../core/test/kernel/until.ts'
import { runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'
import { fixture, Served, type Reply } from './kit.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

/** An address in front of a server that is started later. */
class FrontDoor implements Disposable {
  readonly #server = createServer((socket) => this.#pass(socket))
  readonly #sockets = new Set<Socket>()
  #port = 0
  /** Connections that came. */
  passed = 0

  static async open(): Promise<FrontDoor> {
    const door = new FrontDoor()
    door.#server.listen(0, '127.0.0.1')
    await once(door.#server, 'listening')
    return door
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  leadTo(url: string): void {
    this.#port = Number(new URL(url).port)
  }

  #pass(from: Socket): void {
    this.passed++
    const to = connect(this.#port, '127.0.0.1')
    for (const socket of [from, to]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#close(from, to))
    }
    from.pipe(to).pipe(from)
  }

  #close(...sockets: readonly Socket[]): void {
    for (const socket of sockets) {
      socket.destroy()
      this.#sockets.delete(socket)
    }
  }

  [Symbol.dispose](): void {
    this.#server.close()
    this.#close(...this.#sockets)
  }
}

test('C6: servers reach each other at --advertise, with the secret of --cluster-secret-file', async () => {
  await using stage = await Stage.open()
  using firstDoor = await FrontDoor.open()
  using secondDoor = await FrontDoor.open()
  const secret = path.join(stage.folder, 'secret')
  writeFileSync(secret, 'a secret of thirty-two characters.')
  const start = async (door: FrontDoor): Promise<Served> => {
    const words = ['--store', postgres.address, '--advertise', door.url]
    const served = await Served.start(stage, ...words, '--cluster-secret-file', secret)
    door.leadTo(served.url)
    return served
  }
  using first = await start(firstDoor)
  using _second = await start(secondDoor)
  let submitted = 0
  // The second server gets its shards some seconds after its start.
  const answers = await reach(
    async (): Promise<Reply[]> => {
      const inputs = Array.from({ length: 8 }, () => ++submitted)
      return Promise.all(inputs.map((input) => first.post('/jobs/square?wait=20000', input)))
    },
    () => secondDoor.passed > 0,
  )
  for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body))
  assert.equal(firstDoor.passed, 0, 'all requests came to the first server directly')
})

test('--advertise without a secret is refused, and so is a file that holds none', async () => {
  await using stage = await Stage.open()
  writeFileSync(path.join(stage.folder, 'short'), 'x')
  const words = ['serve', '--jobs', fixture('served.ts'), '--port', '0']
  const store = ['--store', postgres.address]
  const expected = {
    '': /"clusterSecret" is undefined, expected the path of a file/,
    none: /"clusterSecret" is "none", expected a file that can be read/,
    short: /"clusterSecret" is "short", expected one or two lines of at least 16 characters/,
  }
  for (const [file, message] of Object.entries(expected)) {
    const secret = file === '' ? [] : ['--cluster-secret-file', file]
    const all = [...words, ...store, '--advertise', 'http://10.0.0.5:4500', ...secret]
    const { code, stderr } = await runProgram(all, { cwd: stage.folder })
    assert.equal(code, 2, stderr)
    assert.match(stderr, message)
  }
})
