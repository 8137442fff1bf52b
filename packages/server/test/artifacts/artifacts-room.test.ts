import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer, type Server } from '../../src/server.ts'
import { reach, until } from '../../../core/test/kernel/until.ts'
import { hold, sha256, target, upload, type Held } from './kit.ts'

const jobs = [job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)]

async function withServer(use: (server: Server, held: Held) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-artifacts-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
    await use(server, await hold(server))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('S121 S129: bytes are uploaded and downloaded unchanged: whole, in ranges, with ETag, and as HEAD', async () => {
  await withServer(async (server, held) => {
    const bytes = randomBytes(300_000)
    const { status, body } = await upload(server, held, 'games/1.pgn', bytes)
    assert.deepEqual([status, body['run'], body['length']], [201, held.campaign, bytes.length])
    const { artifacts } = (await (
      await fetch(`${server.url}/artifacts/${held.campaign}`)
    ).json()) as { artifacts: { name: string; sha256: string }[] }
    assert.deepEqual(
      artifacts.map(({ name, sha256: sum }) => [name, sum]),
      [['games/1.pgn', sha256(bytes)]],
    )
    const address = `${server.url}/artifacts/${held.campaign}/${encodeURIComponent('games/1.pgn')}`
    const whole = await fetch(address)
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes))
    const etag = whole.headers.get('etag')!
    const part = await fetch(address, { headers: { range: 'bytes=100000-100099' } })
    assert.equal(part.status, 206)
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(100_000, 100_100)))
    const known = await fetch(address, { headers: { 'if-none-match': etag } })
    assert.equal(known.status, 304)
    const head = await fetch(address, { method: 'HEAD' })
    assert.deepEqual(
      [head.status, head.headers.get('content-length'), (await head.arrayBuffer()).byteLength],
      [200, '300000', 0],
    )
    const outside = await fetch(address, { headers: { range: 'bytes=400000-' } })
    assert.equal(outside.status, 416)
    const unknown = await fetch(`${server.url}/artifacts/${held.campaign}/none`)
    assert.equal(unknown.status, 404)
  })
})

test('S122: another checksum is 422 and leaves nothing; the same upload twice is one artifact', async () => {
  await withServer(async (server, held) => {
    const bytes = randomBytes(1_000)
    const wrong = await upload(server, held, 'a', bytes, { sha256: sha256(randomBytes(8)) })
    assert.equal(wrong.status, 422)
    assert.equal((await upload(server, held, 'a', bytes)).status, 201)
    assert.equal((await upload(server, held, 'a', bytes)).status, 201)
    const list = await (await fetch(`${server.url}/artifacts/${held.campaign}`)).json()
    assert.equal((list as { artifacts: unknown[] }).artifacts.length, 1)
  })
})

test('D1: an upload that was cut continues where it was; one without its lease is 410', async () => {
  await withServer(async (server, held) => {
    const bytes = randomBytes(200_000)
    const { hostname, port } = new URL(server.url)
    const route = target(held, 'cut', bytes)
    const request = http.request({
      method: 'PUT',
      hostname,
      port,
      path: route,
      headers: { 'content-type': 'application/octet-stream', 'content-length': bytes.length },
    })
    request.on('error', () => undefined)
    request.write(bytes.subarray(0, 80_000))
    const ask = async (): Promise<number> =>
      ((await (await fetch(server.url + route)).json()) as { received?: number }).received ?? 0
    await until(async () => (await ask()) > 0)
    request.destroy()
    // Until the server has seen that the connection is gone, the upload is busy.
    const { received, rest } = await reach(
      async () => {
        const start = await ask()
        const answer = await fetch(`${server.url}${route}&start=${start}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/octet-stream' },
          body: bytes.subarray(start),
        })
        return { received: start, rest: answer }
      },
      (tried) => tried.rest.status !== 409,
    )
    assert.ok(received > 0 && received <= 80_000, `${received} bytes were received`)
    assert.equal(rest.status, 201)
    const address = `${server.url}/artifacts/${held.campaign}/cut`
    assert.ok(Buffer.from(await (await fetch(address)).arrayBuffer()).equals(bytes))
    const stranger = await upload(server, { ...held, worker: 'worker-2' }, 'b', randomBytes(8))
    assert.equal(stranger.status, 410)
  })
})

test('a name with control characters is refused as a bad request: a worker must not repeat it', async () => {
  await withServer(async (server, held) => {
    for (const name of ['a\nb', 'a\0b', '\u007f']) {
      const { status, body } = await upload(server, held, name, randomBytes(8))
      assert.equal(status, 400, JSON.stringify(body))
    }
  })
})

test('a name is never a path, also not in the archive', async () => {
  await withServer(async (server, held) => {
    const bytes = randomBytes(700)
    const long = `${'ä'.repeat(90)}.bin`
    for (const name of ['../../outside', '/etc/passwd', long]) {
      assert.equal((await upload(server, held, name, bytes)).status, 201)
    }
    const archive = await fetch(`${server.url}/archives/${held.campaign}`)
    const tar = Buffer.from(await archive.arrayBuffer())
    assert.equal(tar.length % 512, 0)
    if (spawnSync('tar', ['--version']).status !== 0) return
    const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-tar-'))
    try {
      const { status } = spawnSync('tar', ['-xf', '-', '-C', folder], { input: tar })
      assert.equal(status, 0)
      const found = (await readdir(folder, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
      assert.deepEqual(found.toSorted(), ['__/__/outside', 'etc/passwd', long].toSorted())
      for (const name of found) assert.ok((await readFile(path.join(folder, name))).equals(bytes))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
