/** Artifacts that are larger than the memory limit of a server, and clients that leave or read slowly. */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import type http from 'node:http'
import { connect, type Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { job } from '@heddle/core'
import { startServer, type Server } from '../../src/server.ts'
import { call } from '../support/client.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { beatOf } from '../fleet/http-kit.ts'
import { hold, type Held } from './kit.ts'
import { Large, megabyte } from './large.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const jobs = [job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)]

async function withServer(
  use: (server: Server, held: Held, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-streams-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
    await use(server, await hold(server), folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Bytes outside of the heap, where the bytes of streams are. Collected first: on a busy machine garbage outweighs what is held. */
function buffered(): number {
  collect()
  return process.memoryUsage().arrayBuffers
}

/** Bytes of the largest file below a folder: of the upload that is on its way. */
async function largestFile(folder: string): Promise<number> {
  let largest = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.startsWith('store.db')) continue
    const file = await stat(path.join(entry.parentPath, entry.name)).catch(() => undefined)
    largest = Math.max(largest, file?.size ?? 0)
  }
  return largest
}

// Counted: what the server has read from the connection and not written to the file. The weight of the process also has what the
// collector has not freed yet.
test('S121: of an upload of 100 MB the server holds less than one, whichever is faster', async () => {
  await withServer(async (server, held, folder) => {
    let connection: Socket | undefined
    const note = (message: unknown): void => {
      const { request, socket } = message as { request: http.IncomingMessage; socket: Socket }
      if (request.method === 'PUT') connection = socket
    }
    subscribe('http.server.request.start', note)
    try {
      const large = new Large(100)
      const request = large.begin(server, held, 'large')
      const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
      const most = { read: 0, held: 0 }
      await large.send(request, 100, async () => {
        // In this order: what is written meanwhile makes it less.
        const read = connection?.bytesRead ?? 0
        const written = await largestFile(folder)
        most.read = Math.max(most.read, read)
        most.held = Math.max(most.held, read - written)
      })
      request.end()
      const [response] = await answered
      response.resume()
      assert.equal(response.statusCode, 201)
      assert.ok(most.read > 50 * megabyte, `the server has read ${most.read} bytes`)
      assert.ok(most.held < megabyte, `the server held ${most.held} bytes`)
    } finally {
      unsubscribe('http.server.request.start', note)
    }
  })
})

test('S69: a client that leaves during an upload leaves its lease unchanged, and no open file', async () => {
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
    await until(async () => (await openFiles()) <= before)
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
