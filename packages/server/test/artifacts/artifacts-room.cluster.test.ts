/** C6: uploads and downloads work at every server, whichever answers for the lease. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openDatabase } from '@heddle/test-servers'
import { startPair } from '../cluster/support/two-servers.ts'
import { hold, target, upload } from './kit.ts'

const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)

test('S130 D1: a server that does not own the lease takes its uploads, and refuses those of other tokens', async () => {
  await using postgres = await openDatabase()
  const store = `${postgres.address}?schema=artifacts_anywhere`
  await using pair = await startPair({ store, jobs: () => [play] })
  const { one, two } = pair
  const held = await hold(one)
  const bytes = randomBytes(300_000)
  // Both servers: one of them owns the lease, the other one does not.
  for (const [server, name] of [
    [one, 'near'],
    [two, 'far'],
  ] as const) {
    const { status, body } = await upload(server, held, name, bytes)
    assert.deepEqual([status, body['run'], body['by']], [201, held.campaign, ''], name)
  }
  for (const server of [one, two]) {
    for (const name of ['near', 'far']) {
      const found = await fetch(`${server.url}/artifacts/${held.campaign}/${name}`)
      assert.ok(Buffer.from(await found.arrayBuffer()).equals(bytes))
    }
    const stranger = await upload(server, { ...held, worker: 'worker-2' }, 'b', bytes)
    assert.deepEqual(
      [stranger.status, (stranger.body['error'] as { code: string }).code],
      [410, 'lease_lost'],
    )
    const received = await fetch(server.url + target(held, 'far', bytes))
    assert.deepEqual(await received.json(), {
      received: bytes.length,
      run: held.campaign,
      by: '',
    })
  }
})
