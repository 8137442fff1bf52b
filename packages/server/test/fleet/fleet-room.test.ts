/** Answers to workers while the server is full, drains, or has reached a limit. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { defaultTimes } from '../../src/fleet/lease.ts'
import { startServer, type Server, type ServerOptions } from '../../src/server.ts'
import { upload } from '../artifacts/kit.ts'
import { begin, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { reach, until } from '../../../core/test/kernel/until.ts'
import { beatOf, claimAs, claimBody, emptyOf, holdAs, type HttpLease } from './http-kit.ts'

const play = job({ name: 'play', place: 'fleet', module: import.meta.url }, () => null)

async function withServer(
  options: Partial<ServerOptions>,
  use: (server: Server) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-fleet-routes-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    const limits = { loopGap: Infinity, ...options.limits }
    await using server = await startServer({ jobs: [play], store, port: 0, ...options, limits })
    await use(server)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function makeCampaign(server: Server): ReturnType<typeof call> {
  return call(server, '/campaigns', { body: { name: 'match', job: 'play', units: 1_000 } })
}

async function report(server: Server, held: HttpLease, done: number): Promise<number> {
  const body = { ...held, sequence: 1, done, result: null }
  return (await call(server, '/fleet/update', { body })).status
}

test('S93: while the server drains a claim is refused with 503; beats, updates and uploads are served', async () => {
  const gate = new Gate('work')
  await withServer({ jobs: [play, gate.job] }, async (server) => {
    const { body: campaign } = await makeCampaign(server)
    const held = await holdAs(server, 'worker-1')
    await call(server, '/jobs/work', { body: 1 })
    const running = await gate.started()
    const drained = server.drain()
    const refused = await claimAs(server, 'worker-1', 25_000)
    assert.deepEqual(
      [refused.status, refused.body.error?.code, refused.body.error?.retryable],
      [503, 'shutting_down', true],
    )
    assert.match(refused.headers['retry-after']!, /^\d+$/)
    assert.equal(refused.headers['connection'], 'close')
    const beat = await beatOf(server, held)
    assert.deepEqual([beat.status, beat.body['lost']], [200, []])
    const artifact = { ...held, campaign: String(campaign['id']) }
    assert.equal((await upload(server, artifact, 'log.txt', randomBytes(1_000))).status, 201)
    assert.equal(await report(server, held, 1), 200)
    running.finish('done')
    assert.deepEqual(await drained, { isClean: true })
  })
})

test('S93: a claim that waits when the drain begins is answered at once, and not with "no work"', async () => {
  const gate = new Gate('work')
  await withServer({ jobs: [play, gate.job] }, async (server) => {
    await call(server, '/jobs/work', { body: 1 })
    const running = await gate.started()
    const waiting = claimAs(server, 'worker-1', 25_000)
    await waitsFor(server, 1)
    const drained = server.drain()
    const { reason, message } = emptyOf(await waiting)!
    assert.deepEqual([reason, message], ['busy', 'the server is draining'])
    running.finish('done')
    await drained
  })
})

async function waitsFor(server: Server, claims: number): Promise<void> {
  await until(async () => (await call(server, '/fleet/summary')).body['waiting'] === claims)
}

test('S48: a server with all the waiting claims that it takes says "busy" and when to come back, not "no work"', async () => {
  await withServer({ fleet: { waitingClaims: 2 } }, async (server) => {
    const waiting = [0, 1].map((number) => claimAs(server, `waiting-${number}`, 25_000))
    await waitsFor(server, 2)
    const { reason, retry_after_ms: later } = emptyOf(await claimAs(server, 'worker-3', 25_000))!
    assert.equal(reason, 'busy')
    assert.ok(later > 0 && later <= 5_000, String(later))
    // Without a wait there is nothing that it could be too many for.
    assert.equal(emptyOf(await claimAs(server, 'worker-4', 0))!.reason, 'no_work')
    await makeCampaign(server)
    for (const each of waiting) assert.equal(emptyOf(await each), undefined)
  })
})

test('S49: a server that is full of jobs serves claims, beats and updates', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1, loop: 1 }
  await withServer({ jobs: [play, gate.job], limits }, async (server) => {
    await makeCampaign(server)
    const replies = []
    for (let input = 0; input < 4; input++) {
      replies.push((await call(server, '/jobs/work', { body: input })).status)
    }
    assert.ok(replies.includes(503), String(replies))
    const held = await holdAs(server, 'worker-1')
    assert.equal((await beatOf(server, held)).status, 200)
    assert.equal(await report(server, held, 1), 200)
    gate.finishAll()
    await until(() => {
      gate.finishAll()
      return server.stats().works === 0
    })
  })
})

test('S140: leases of one address are limited; the refusal says so, and beats of existing leases are answered', async () => {
  await withServer({ fleet: { leasesPerAddress: 2 } }, async (server) => {
    await makeCampaign(server)
    const one = await holdAs(server, 'worker-1')
    const two = await holdAs(server, 'worker-2')
    const { reason, message, retry_after_ms: later } = emptyOf(await claimAs(server, 'worker-3'))!
    assert.equal(reason, 'limit')
    assert.match(message, /^2 leases are held from \S+, the limit is 2$/)
    assert.ok(later > 0)
    for (const held of [one, two]) {
      assert.deepEqual((await beatOf(server, held)).body['lost'], [])
    }
    await call(server, '/fleet/fail', { body: { ...one, stage: 'hand_back', message: 'stops' } })
    await holdAs(server, 'worker-3')
  })
})

test('S146: new work wakes every claim that waits, without any time passing', async () => {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const limits = { loopGap: Infinity }
  const fleet = { leasesPerAddress: 1_000 }
  const server = await startServer({ jobs: [play], port: 0, kernel, limits, fleet })
  // Their wait ends on the virtual clock, which stands still: only the wake answers them.
  const claims = Array.from({ length: 300 }, (_, number) =>
    claimAs(server, `worker-${number}`, 25_000),
  )
  await waitsFor(server, claims.length)
  await makeCampaign(server)
  const leases = new Set<unknown>()
  for (const each of claims) {
    const { offer } = (await each).body as { offer?: { lease: string } }
    leases.add(offer?.lease)
  }
  assert.equal(leases.size, claims.length)
  assert.ok(!leases.has(undefined))
  let isOver = false
  void server.drain({ deadline: 0 }).then(() => (isOver = true))
  while (!isOver) await clock.advance(100)
})

test('S120: a line of the job of a campaign is in the log of the server, with its machine', async () => {
  const lines: string[] = []
  await withServer({ onLog: ({ text }) => lines.push(text) }, async (server) => {
    const { body: campaign } = await makeCampaign(server)
    const held = await holdAs(server, 'worker-1')
    const { status } = await call(server, '/fleet/log', {
      body: { ...held, text: 'game 7 is odd' },
    })
    assert.equal(status, 200)
    const line = `campaign ${String(campaign['id'])}: worker worker-1 at 127.0.0.1: game 7 is odd`
    assert.ok(lines.includes(line), lines.join('\n'))
  })
})

test('P5: the same lease excluded twice at once is taken out once', async () => {
  await withServer({}, async (server) => {
    const { body: campaign } = await makeCampaign(server)
    const route = `/campaigns/${String(campaign['id'])}`
    const held = await holdAs(server, 'worker-1')
    assert.equal(await report(server, held, 1), 200)
    const other = await holdAs(server, 'worker-2')
    assert.equal(await report(server, other, 1), 200)
    const body = { lease: held.lease, reason: 'its engine was broken' }
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => call(server, `${route}/exclude`, { body })),
    )
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [200, 400, 400, 400, 400],
    )
    const { body: shown } = await call(server, route)
    assert.deepEqual([shown['done'], shown['excluded']], [1, 1])
  })
})

test('P5: a lease that is excluded while the last units are reported is played again, or is refused because the campaign has ended', async () => {
  await withServer({}, async (server) => {
    for (let round = 0; round < 10; round++) {
      const made = { name: 'match', job: 'play', units: 20 }
      const { body: campaign } = await call(server, '/campaigns', { body: made })
      const route = `/campaigns/${String(campaign['id'])}`
      const first = await holdAs(server, `first-worker-${round}`)
      assert.equal(await report(server, first, 1), 200)
      const last = await holdAs(server, `last-worker-${round}`)
      const body = { lease: first.lease, reason: 'its engine was broken' }
      await Promise.all([call(server, `${route}/exclude`, { body }), report(server, last, 19)])
      const { body: shown } = await call(server, route)
      const { phase, done, excluded } = shown
      const isExcluded = phase === 'running' && done === 19 && excluded === 1
      const isEnded = phase === 'ended' && done === 20 && excluded === 0
      assert.ok(isExcluded || isEnded, JSON.stringify(shown))
      await call(server, `${route}/stop`, { body: {} })
    }
  })
})

test('a beat and a claim may name as many leases as their contract allows', async () => {
  await withServer({}, async (server) => {
    const leases = Array.from({ length: 10_000 }, (_, number) => ({
      lease: `c-00000000-0000.${number}`,
      epoch: 1,
      progress: number,
      fraction: 0.25,
      text: 'game 25 of 100 is played',
    }))
    const beat = await call(server, '/fleet/beat', { body: { worker: 'worker-1', leases } })
    assert.deepEqual([beat.status, (beat.body['lost'] as unknown[])?.length], [200, 10_000])
    const holds = leases.map(({ lease }) => lease)
    const body = { ...claimBody('worker-1', 0), holds }
    assert.equal((await call(server, '/fleet/claim', { body })).status, 200)
  })
})

test('values that are nested too deeply are refused with 400, and the campaign continues', async () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000)
  await withServer({}, async (server) => {
    const refused = await call(server, '/campaigns', {
      method: 'POST',
      text: `{"name":"deep","job":"play","units":1,"input":${deep}}`,
    })
    assert.deepEqual([refused.status, refused.body.error?.code], [400, 'bad_request'])
    const { body: campaign } = await makeCampaign(server)
    const held = await holdAs(server, 'worker-1')
    const named = JSON.stringify(held).slice(1, -1)
    const bad = await call(server, '/fleet/update', {
      method: 'POST',
      text: `{${named},"sequence":1,"done":1,"result":${deep}}`,
    })
    assert.deepEqual([bad.status, bad.body.error?.code], [400, 'bad_request'])
    // Nothing of it was counted, the lease is still held, and its next report is durable.
    assert.equal(await report(server, held, 1), 200)
    const failed = await call(server, '/fleet/fail', {
      method: 'POST',
      text: `{${JSON.stringify(await holdAs(server, 'worker-2')).slice(1, -1)},"stage":"run","message":"x","error":{"name":"E","message":"m","cause":${deep}}}`,
    })
    assert.ok(failed.status === 200 || failed.status === 400, String(failed.status))
    const { body: shown } = await call(server, `/campaigns/${String(campaign['id'])}`)
    assert.deepEqual([shown['done'], shown['phase']], [1, 'running'])
  })
})

test('S144: an idle connection is kept for longer than a worker waits between two beats', async () => {
  await withServer({}, async (server) => {
    const agent = new Agent({ keepAlive: true })
    const { headers } = await call(server, '/fleet/version', { body: { protocol: [1] }, agent })
    const [, seconds] = /^timeout=(\d+)$/.exec(String(headers['keep-alive']))!
    assert.ok(Number(seconds) * 1_000 > defaultTimes.beat, seconds)
    agent.destroy()
  })
})

test('S88: the deadline of the request ends the job on its worker', async () => {
  const clock = new VirtualClock()
  const kernel = { clock, random: seededRandom(1) }
  const server = await startServer({
    jobs: [play],
    port: 0,
    kernel,
    limits: { request: 10_000, loopGap: Infinity },
  })
  const headers = { 'x-deadline-ms': '300' }
  const { reply } = begin(server, '/jobs/play?wait=60000', { body: 1, headers })
  await until(() => server.stats().registry.active === 1)
  const held = (await reach(
    () => holdAs(server, 'worker-1').catch(() => undefined),
    (lease) => lease !== undefined,
  ))!
  assert.deepEqual((await beatOf(server, held)).body['stop'], [])
  await clock.advance(300)
  const { status, body } = await reply
  assert.deepEqual([status, body.error?.code, body.error?.stage], [504, 'timeout', 'prepare'])
  const beat = await beatOf(server, held)
  const stops = beat.body['stop'] as { readonly lease: string }[]
  assert.deepEqual(
    stops.map(({ lease }) => lease),
    [held.lease],
  )
  let isOver = false
  void server.drain({ deadline: 0 }).then(() => (isOver = true))
  while (!isOver) await clock.advance(100)
})
