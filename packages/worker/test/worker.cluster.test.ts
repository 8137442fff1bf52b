/** C6: a worker does not notice which server it talks to, and survives the loss of one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openDatabase } from '@heddle/test-servers'
import { reach } from '../../core/test/kernel/until.ts'
import { Worker, type CampaignUnits, type WorkerEvent } from '../src/index.ts'
import { ServerProcess } from './support/server-process.ts'

interface Health {
  readonly cluster: { readonly shards: number }
}

/** Both servers have half of the shards: a campaign stays where it is created. */
async function shared(one: ServerProcess, two: ServerProcess): Promise<void> {
  await reach(
    () => Promise.all([one, two].map((server) => server.get<Health>('/healthz'))),
    (found) => found.every(({ cluster }) => cluster.shards === 128),
  )
}

test('E1 E2 C6: a worker does the work of two servers through one of them, also after that one was killed', async () => {
  await using postgres = await openDatabase()
  const store = `${postgres.address}?schema=fleet_cluster`
  await using one = await new ServerProcess(store).start()
  await using two = await new ServerProcess(store).start()
  await shared(one, two)
  const gate = Promise.withResolvers<void>()
  const unit = job({ name: 'unit' }, async ({ count }: CampaignUnits) => {
    await gate.promise
    return [count]
  })
  const events: WorkerEvent[] = []
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const count = (kind: string): number => events.filter((event) => event.kind === kind).length
  const worker = new Worker({
    server: `${two.url},${one.url}`,
    jobs: [unit],
    concurrency: 2,
    onEvent: (event) => {
      events.push(event)
      if (count('started') === 2) started.resolve()
      if (count('ended') === 2) ended.resolve()
    },
  })
  const end = worker.run()
  // One campaign on each server, while the worker waits at the second.
  const ids: string[] = []
  for (const server of [one, two]) {
    const { id } = await server.post<{ id: string }>('/campaigns', {
      name: 'near and far',
      job: 'unit',
      units: 1,
      outcomes: ['done'],
      beat_ms: 1_000,
      stale_ms: 120_000,
    })
    ids.push(id)
  }
  await started.promise
  for (const server of [one, two]) {
    const { held } = await server.get<{ held: number }>('/fleet/summary')
    assert.equal(held, 1)
  }

  // The server that it talks to is lost, and with it the owner of one campaign: the first server takes over.
  await two.kill()
  await reach(
    () => one.get<Health>('/healthz'),
    ({ cluster }) => cluster.shards === 256,
  )
  gate.resolve()
  await ended.promise
  const outcomes = events.flatMap((event) => (event.kind === 'ended' ? [event.outcome] : []))
  assert.deepEqual(outcomes, ['finished', 'finished'])
  for (const id of ids) {
    const campaign = await one.get<{ done: number; leases: number }>(`/campaigns/${id}`)
    assert.deepEqual([campaign.done, campaign.leases], [1, 1])
  }
  await worker.stop()
  await end
})
