import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openDatabase } from '@heddle/test-servers'
import { Worker, type CampaignUnits, type WorkerEvent } from '../src/index.ts'
import { ServerProcess } from './support/server-process.ts'

interface Summary {
  readonly held: number
  readonly granted: number
  readonly closed: Readonly<Record<string, number>>
}

/** J2, L6, C5: a job's lease and a campaign's lease over kill -9 of their server. */
async function surviveKill(store: string): Promise<void> {
  await using server = await new ServerProcess(store).start()
  const gate = Promise.withResolvers<void>()
  const hold = job({ name: 'hold' }, async (n: number) => {
    await gate.promise
    return n * 2
  })
  const unit = job({ name: 'unit' }, async ({ count }: CampaignUnits) => {
    await gate.promise
    return [count]
  })
  const { id } = await server.post<{ id: string }>('/campaigns', {
    name: 'one',
    job: 'unit',
    units: 1,
    outcomes: ['done'],
  })
  const { handle } = await server.post<{ handle: string }>('/jobs/hold', 21)
  const events: WorkerEvent[] = []
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const count = (kind: string): number => events.filter((event) => event.kind === kind).length
  const worker = new Worker({
    server: server.url,
    jobs: [hold, unit],
    concurrency: 2,
    onEvent: (event) => {
      events.push(event)
      if (count('started') === 2) started.resolve()
      if (count('ended') === 2) ended.resolve()
    },
  })
  const end = worker.run()
  await started.promise
  const before = await server.get<Summary>('/fleet/summary')
  assert.deepEqual([before.held, before.granted], [2, 2])

  await server.kill()
  await server.start()
  gate.resolve()
  await ended.promise
  const outcomes = events.flatMap((event) => (event.kind === 'ended' ? [event.outcome] : []))
  assert.deepEqual(outcomes, ['finished', 'finished'])
  // The same leases: the server that was started again granted none, and closed none for another reason.
  const after = await server.get<Summary>('/fleet/summary')
  assert.deepEqual([after.held, after.granted, after.closed], [0, 0, { finished: 2 }])
  const campaign = await server.get<{ done: number; total: unknown }>(`/campaigns/${id}`)
  assert.deepEqual([campaign.done, campaign.total], [1, [1]])
  const result = await server.get<{ result: number }>(`/results/${handle}/0?wait=60000`)
  assert.equal(result.result, 42)
  await worker.stop()
  await end
}

test('S100 J2 L6: kill -9 of a server on SQLite: every lease continues, none is reclaimed', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-fleet-'))
  try {
    await surviveKill(`sqlite:${path.join(folder, 'store.db')}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('S100 J2 L6: kill -9 of a server on PostgreSQL: every lease continues, none is reclaimed', async () => {
  await using postgres = await openDatabase()
  await surviveKill(`${postgres.address}?schema=fleet_restart`)
})
