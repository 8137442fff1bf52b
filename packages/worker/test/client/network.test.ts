import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import { Network } from '../../src/client/network.ts'

test('N2: a request whose caller has gone is cut: an upload that hangs holds up no claim, a call that hangs no other call', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-network-'))
  const hung: http.IncomingMessage[] = []
  const server = http.createServer((request, response) => {
    request.resume()
    const isHung = request.method === 'PUT' || request.url === '/fleet/update'
    if (isHung) hung.push(request)
    else response.end(JSON.stringify({ received: 0, empty: {} }))
    if (isHung) server.emit('hung')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const settings = { server: `http://127.0.0.1:${port}`, token: undefined, watchdog: undefined }
  const network = new Network({ ...settings, worker: 'w' }, systemKernel)
  try {
    const file = path.join(folder, 'game.txt')
    await writeFile(file, 'e2e4')
    const sends: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => network.upload('/fleet/artifacts/l.1/game?epoch=1', file, 4, { signal }),
      (signal) => network.call('/fleet/update', {}, { signal }),
    ]
    for (const send of sends) {
      const controller = new AbortController()
      const isHung = once(server, 'hung')
      const sent = send(controller.signal)
      await isHung
      const cut = once(hung.at(-1)!.socket, 'close')
      controller.abort(new Error('the lease was lost'))
      await assert.rejects(sent, /the lease was lost/)
      await cut
    }
    await network.call('/fleet/claim', {})
    await network.call('/fleet/leave', {})
  } finally {
    await network.stop()
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true, force: true })
  }
})
