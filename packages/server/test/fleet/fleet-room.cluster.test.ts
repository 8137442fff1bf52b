/** C6: what a worker is told does not depend on the server that it talks to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openDatabase } from '@heddle/test-servers'
import { reach } from '../../../core/test/kernel/until.ts'
import { startPair } from '../cluster/support/two-servers.ts'
import { call } from '../support/client.ts'
import { claimBody, emptyOf, type HttpLease } from './http-kit.ts'

const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)

test('W10: a claim that names full jobs is answered when a lease ends at the other server, or here', async () => {
  await using postgres = await openDatabase()
  const store = `${postgres.address}?schema=freed_places`
  await using pair = await startPair({ store, jobs: () => [play] })
  const { one, two } = pair
  for (const owner of [one, two]) {
    // The worker talks to the second server, whichever owns the work.
    await call(owner, '/campaigns', { body: { name: 'match', job: 'play', units: 1 } })
    const claimed = await call(two, '/fleet/claim', { body: claimBody('worker-1', 20_000) })
    const offer = claimed.body['offer'] as Pick<HttpLease, 'lease' | 'epoch'>
    const named = { lease: offer.lease, epoch: offer.epoch, worker: 'worker-1' }
    assert.equal((await call(two, '/fleet/accept', { body: named })).status, 200)
    const since = performance.now()
    const waiting = call(two, '/fleet/claim', {
      body: { ...claimBody('worker-1', 60_000, ['play']), holds: [offer.lease] },
    })
    const summary = async (): Promise<unknown> =>
      (await call(two, '/fleet/summary')).body['waiting']
    while ((await summary()) !== 1);
    const report = { ...named, sequence: 1, done: 1, result: null }
    const { body } = await call(two, '/fleet/update', { body: report })
    assert.equal(body['closed'], 'finished')
    assert.equal(emptyOf(await waiting)?.reason, 'no_work')
    const waited = performance.now() - since
    assert.ok(waited < 30_000, `answered after ${Math.round(waited)} ms`)
  }
})

test('W4: a claim that waits is answered when its worker leaves, and gets nothing afterwards', async () => {
  await using postgres = await openDatabase()
  const store = `${postgres.address}?schema=left_worker`
  await using pair = await startPair({ store, jobs: () => [play] })
  const { one, two } = pair
  const waiting = call(two, '/fleet/claim', { body: claimBody('worker-1', 60_000) })
  await reach(
    () => call(two, '/fleet/summary'),
    ({ body }) => body['waiting'] === 1,
  )
  await call(two, '/fleet/leave', { body: { worker: 'worker-1' } })
  for (const owner of [one, two]) {
    await call(owner, '/campaigns', { body: { name: 'match', job: 'play', units: 1 } })
  }
  assert.equal(emptyOf(await waiting)?.reason, 'no_work')
})
