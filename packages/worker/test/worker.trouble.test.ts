/** Temporary errors never end a worker or its lease; two connections are enough. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '@heddle/server'
import { until } from '../../core/test/kernel/until.ts'
import { Worker, type CampaignUnits, type WorkerEvent } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'
import { BadProxy } from './support/bad-proxy.ts'

test('K2: a worker whose network thread has died ends with 1 and reports why', async () => {
  // The thread dies at the first call: the protocol is none that it speaks.
  const worker = new Worker({ server: 'ftp://127.0.0.1', jobs, concurrency: 1 })
  const { why, message, exitCode } = await worker.run()
  assert.deepEqual([why, exitCode], ['broken', 1])
  assert.match(message, /ftp:/)
})

test('a token that no header can have is refused before anything is sent', () => {
  const make = (): Worker => new Worker({ server: 'http://127.0.0.1:9', jobs, token: 'hdl_1\n' })
  assert.throws(make, { code: 'HDL_BAD_OPTION', message: /token/ })
})

test('S141 S144 K1: 500, 502 in HTML, 503 and resets are repeated, the lease continues, over two connections', async () => {
  await using server = await startServer({ jobs, port: 0, limits: { loopGap: Infinity } })
  await using proxy = await new BadProxy(server.url).start()
  const created = await fetch(`${server.url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'rough',
      job: 'step',
      units: 3,
      outcomes: ['done'],
      beat_ms: 200,
      stale_ms: 120_000,
    }),
  })
  const { id } = (await created.json()) as { id: string }
  for (const path of ['register', 'claim', 'accept', 'beat', 'update']) {
    proxy.trouble(`/fleet/${path}`, 500, 'html', 'reset', 503)
  }
  const beaten = Promise.withResolvers<void>()
  const step = job({ name: 'step' }, async ({ count, start }: CampaignUnits) => {
    // Until the beats of the first unit have had all their trouble.
    if (start === 0) await beaten.promise
    return [count]
  })
  const events: WorkerEvent[] = []
  const worker = new Worker({
    server: proxy.url,
    jobs: [step],
    concurrency: 1,
    exitWhenIdle: true,
    onEvent: (event) => {
      events.push(event)
      if (event.kind === 'started') void watchBeats()
    },
  })
  const watchBeats = async (): Promise<void> => {
    await until(() => proxy.seen.includes('/fleet/beat passed on'))
    beaten.resolve()
  }
  const end = await worker.run()
  assert.deepEqual([end.why, end.exitCode], ['idle', 0])
  const campaign = (await (await fetch(`${server.url}/campaigns/${id}`)).json()) as {
    done: number
    total: unknown
  }
  assert.deepEqual([campaign.done, campaign.total], [3, [3]])
  const summary = (await (await fetch(`${server.url}/fleet/summary`)).json()) as {
    closed: Record<string, number>
  }
  // No lease was given up because of the trouble.
  assert.deepEqual(Object.keys(summary.closed), ['finished'])
  assert.ok(proxy.most <= 2, `${proxy.most} connections`)
  for (const path of ['register', 'claim', 'accept', 'beat', 'update']) {
    const answers = proxy.seen.filter((each) => each.startsWith(`/fleet/${path} `))
    assert.deepEqual(
      answers.slice(0, 4).map((each) => each.split(' ')[1]),
      ['500', 'html', 'reset', '503'],
    )
  }
})
