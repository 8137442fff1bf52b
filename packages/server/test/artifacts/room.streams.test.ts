/** Artifacts that are larger than what a server may hold in memory, and clients that leave or read slowly. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import http from 'node:http'
import { connect, type Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer, type Server } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { beatOf } from '../fleet/http-kit.ts'
import { hold, type Held } from './kit.ts'

const jobs = [job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)]
const megabyte = 1_000_000

async function withServer(use: (server: Server, held: Held) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-streams-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
    await use(server, await hold(server))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A file of so many megabytes, which is never in memory as a whole. */
class Large {
  readonly length: number
  readonly sha256: string
  readonly #piece = Buffer.alloc(megabyte, 'heddle')
  readonly #megabytes: number

  constructor(megabytes: number) {
    this.#megabytes = megabytes
    this.length = megabytes * megabyte
    const hash = createHash('sha256')
    for (let piece = 0; piece < megabytes; piece++) hash.update(this.#piece)
    this.sha256 = hash.digest('hex')
  }

  begin({ url }: Server, held: Held, name: string): http.ClientRequest {
    const query = new URLSearchParams({
      name,
      epoch: String(held.epoch),
      worker: held.worker,
      length: String(this.length),
      sha256: this.sha256,
    })
    const request = http.request(`${url}/fleet/artifacts/${held.lease}?${query.toString()}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream', 'content-length': this.length },
      agent: false,
    })
    request.on('error', () => undefined)
    return request
  }

  /** Sends the first megabytes, each when the one before has left. */
  async send(request: http.ClientRequest, count = this.#megabytes): Promise<void> {
    for (let piece = 0; piece < count; piece++) {
      if (!request.write(this.#piece)) await once(request, 'drain')
    }
  }

  async put(server: Server, held: Held, name: string): Promise<number> {
    const request = this.begin(server, held, name)
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    await this.send(request)
    request.end()
    const [response] = await answered
    response.resume()
    return response.statusCode!
  }
}

/** Bytes outside of the heap: where the bytes of streams are. */
function buffered(): number {
  return process.memoryUsage().arrayBuffers
}

test('S69: a client that leaves during an upload leaves its lease as it was, and no open file', async () => {
  if (process.platform !== 'linux') return
  await withServer(async (server, held) => {
    const large = new Large(50)
    // The first upload opens what stays open.
    assert.equal(await new Large(1).put(server, held, 'first'), 201)
    const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length
    const before = await openFiles()
    const request = large.begin(server, held, 'cut')
    await large.send(request, 10)
    request.destroy()
    // Until the server has seen that the connection is gone, it has the file and the connection.
    while ((await openFiles()) > before);
    assert.deepEqual((await beatOf(server, held)).body['lost'], [])
    const { body } = await call(server, `/artifacts/${held.campaign}`)
    const names = (body['artifacts'] as { readonly name: string }[]).map(({ name }) => name)
    assert.deepEqual(names, ['first'])
  })
})

test('S129: a hundred clients that do not read cost the server no copy each', async () => {
  await withServer(async (server, held) => {
    const large = new Large(20)
    assert.equal(await large.put(server, held, 'large'), 201)
    const before = buffered()
    const sockets: Socket[] = []
    try {
      const begun = Array.from({ length: 100 }, async () => {
        const socket = connect(server.port, '127.0.0.1')
        sockets.push(socket)
        socket.write(`GET /artifacts/${held.campaign}/large HTTP/1.1\r\nhost: localhost\r\n\r\n`)
        await once(socket, 'readable')
        const first = socket.read() as Buffer
        socket.pause()
        return first.toString('latin1').slice(0, 12)
      })
      assert.deepEqual(new Set(await Promise.all(begun)), new Set(['HTTP/1.1 200']))
      // Others are served meanwhile.
      assert.equal((await beatOf(server, held)).status, 200)
      const held100 = buffered() - before
      assert.ok(held100 < 100 * megabyte, `${held100} bytes for 100 readers of 20 MB`)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })
})
