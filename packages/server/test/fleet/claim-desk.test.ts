import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { ClaimDesk } from '../../src/fleet/claim-desk.ts'
import { FleetWorker } from '../../src/fleet/fleet-worker.ts'
import type { Lease } from '../../src/fleet/lease.ts'

const description = {
  id: 'worker-1',
  name: 'w',
  threads: 1,
  memory: 1,
  capabilities: [],
  tags: [],
  system: 'linux-x64',
  jobs: [],
}

test('W3: a wake that was lost costs one poll: the next claim finds the work', async () => {
  const clock = new VirtualClock()
  const lease = { id: 'c.1' } as Lease
  let hasWork = false
  const desk = new ClaimDesk({
    kernel: { clock, random: seededRandom(1) },
    choose: () => (hasWork ? lease : { reason: 'no_work', message: 'nothing waits' }),
    hasWork: () => hasWork,
    takeBack: () => undefined,
  })
  const identity = { owner: 'ann', tenant: 'default', address: '10.0.0.1' }
  const worker = new FleetWorker(description, identity, clock.now())
  const waiting = desk.claim(worker, { request: 'one', wait: 25_000 })
  // Nothing calls wake().
  hasWork = true
  await clock.advance(25_000)
  assert.equal((await waiting).kind, 'empty')
  assert.deepEqual(await desk.claim(worker, { request: 'two', wait: 25_000 }), {
    kind: 'offer',
    lease,
  })
  assert.equal(clock.pending, 0)
})
