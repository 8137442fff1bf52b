import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { openPeople, startServer, type Server } from '@heddle/server'
import { reach, until } from '../../core/test/kernel/until.ts'
import { Worker, type WorkerEvent } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'

const audited = { by: 'root', address: '127.0.0.1' }

/** A store with an admin and the user ann, who has made a token for her workers and one for submitting. */
async function withPeople(
  use: (around: {
    server: Server
    workerToken: string
    submitToken: string
    people: Awaited<ReturnType<typeof openPeople>>['people']
  }) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-access-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    await using opened = await openPeople(store)
    const { people } = opened
    await people.addUser({ name: 'root', role: 'admin', password: 'correct horse battery' })
    await people.addUser({ name: 'ann', role: 'operator', password: 'correct horse battery' })
    const { token: workerToken } = await people.addToken({
      name: 'rack-1',
      scopes: ['worker'],
      by: 'ann',
    })
    const { token: submitToken } = await people.addToken({
      name: 'ci',
      scopes: ['submit', 'read', 'operate'],
      by: 'root',
    })
    await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
    await use({ server, workerToken, submitToken, people })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function ask(
  server: Server,
  route: string,
  token: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(server.url + route, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** Runs a unit until it is aborted. */
const stuck = job({ name: 'stuck' }, (_: unknown, { signal }) => {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
})

test('S132: a token of another scope may not act as a worker, one of workers may not submit', async () => {
  await withPeople(async ({ server, workerToken, submitToken }) => {
    const asWorker = await ask(server, '/fleet/version', submitToken, { protocol: [1] })
    assert.equal(asWorker.status, 403)
    const asUser = await ask(server, '/jobs/square', workerToken, 3)
    assert.equal(asUser.status, 403)
    const right = await ask(server, '/fleet/version', workerToken, { protocol: [1] })
    assert.equal(right.status, 200)
    const nobody = new Worker({ server: server.url, jobs, token: 'hdl_wrong' })
    const end = await nobody.run()
    assert.deepEqual([end.why, end.exitCode], ['refused', 3])
  })
})

test('S133 B1: the leases of a blocked user end on a server that did not block it, and its workers exit with 3', async () => {
  await withPeople(async ({ server, workerToken, submitToken, people }) => {
    const created = await ask(server, '/campaigns', submitToken, {
      name: 'long',
      job: 'stuck',
      units: 5,
      beat_ms: 200,
      stale_ms: 60_000,
    })
    assert.equal(created.status, 201)
    const started = Promise.withResolvers<void>()
    const events: WorkerEvent[] = []
    const worker = new Worker({
      server: server.url,
      token: workerToken,
      jobs: [stuck],
      concurrency: 1,
      onEvent: (event) => {
        events.push(event)
        if (event.kind === 'started') started.resolve()
      },
    })
    const end = worker.run()
    await started.promise
    // Does what `heddle users block` does, in another process.
    await people.changeUser('ann', { state: 'blocked' })
    await people.audit({ ...audited, action: 'user blocked', target: 'ann' })
    const since = performance.now()
    let closed: Record<string, number> = {}
    await until(async () => {
      const { body } = await ask(server, '/fleet/summary', submitToken)
      closed = (body['closed'] ?? closed) as Record<string, number>
      return closed['blocked'] !== undefined || performance.now() - since > 60_000
    })
    assert.ok(closed['blocked']! >= 1, JSON.stringify(closed))
    const refused = await reach(
      () => ask(server, '/fleet/version', workerToken, { protocol: [1] }),
      ({ status }) => status === 401 || performance.now() - since > 60_000,
    )
    assert.deepEqual(
      [refused.status, (refused.body['error'] as { code: string } | undefined)?.code],
      [401, 'account_blocked'],
    )
    // Its job would run for ever: the beat that is refused ends it.
    const { why, exitCode } = await end
    assert.deepEqual([why, exitCode], ['refused', 3])
    const campaign = `/campaigns/${String(created.body['id'])}`
    // A caller is remembered for a second, so its worker may have claimed once more after the first check for blocks.
    // The next check ends that lease too. A busy server says so, and clients ask again.
    const shown = await reach(
      () => ask(server, campaign, submitToken),
      ({ body: { open, workers } }) =>
        (open === 5 && workers === 0) || performance.now() - since > 60_000,
    )
    assert.equal(shown.status, 200, JSON.stringify(shown.body))
    assert.deepEqual([shown.body['open'], shown.body['workers']], [5, 0])
  })
})

test('L4 W8: a caller that knows the worker and the lease of another token can do nothing with them', async () => {
  await withPeople(async ({ server, workerToken, submitToken, people }) => {
    const { token: stranger } = await people.addToken({
      name: 'rack-2',
      scopes: ['worker'],
      by: 'root',
    })
    const { body: created } = await ask(server, '/campaigns', submitToken, {
      name: 'match',
      job: 'play',
      units: 10,
      outcomes: ['loss', 'draw', 'win'],
    })
    const worker = {
      id: 'worker-1',
      name: 'w',
      threads: 1,
      memory: 1,
      capabilities: [],
      tags: [],
      system: 'linux-x64',
      jobs: [{ name: 'play', version: '1' }],
    }
    const claim = { worker, request: 'r', wait_ms: 0 }
    const { body: claimed } = await ask(server, '/fleet/claim', workerToken, claim)
    const { lease, epoch, work } = claimed['offer'] as {
      lease: string
      epoch: number
      work: { size: number }
    }
    const call = { lease, epoch, worker: worker.id }
    const report = { ...call, sequence: 1, done: work.size, result: [0, 0, work.size] }
    const failure = { ...call, stage: 'run', message: 'no' }
    const calls: readonly [string, object][] = [
      ['/fleet/accept', call],
      ['/fleet/update', report],
      ['/fleet/fail', failure],
      ['/fleet/stop', { ...call, reason: 'no' }],
      ['/fleet/params', call],
      ['/fleet/log', { ...call, text: 'no' }],
    ]
    const tryAll = async (): Promise<void> => {
      for (const [route, body] of calls) {
        const { status } = await ask(server, route, stranger, body)
        assert.equal(status, 410, route)
      }
      const taken = await ask(server, '/fleet/claim', stranger, claim)
      assert.equal(taken.status, 403)
      await ask(server, '/fleet/fail', stranger, { ...failure, stage: 'hand_back' })
      await ask(server, '/fleet/leave', stranger, { worker: worker.id })
      const beat = { worker: worker.id, leases: [{ lease, epoch }] }
      const { body: beaten } = await ask(server, '/fleet/beat', stranger, beat)
      assert.deepEqual(beaten['lost'], [{ lease, reason: 'not_held' }])
    }
    await tryAll()
    assert.equal((await ask(server, '/fleet/accept', workerToken, call)).status, 200)
    await tryAll()
    const { body: counted } = await ask(server, '/fleet/update', workerToken, report)
    assert.equal(counted['counted'], true)
    const { body: shown } = await ask(server, `/campaigns/${String(created['id'])}`, submitToken)
    assert.deepEqual([shown['done'], shown['leases']], [work.size, 1])
  })
})

test('S120: a token of an operator stops the campaign of its lease; for any other 403 and only its own lease ends', async () => {
  await withPeople(async ({ server, workerToken, submitToken, people }) => {
    const { token: trusted } = await people.addToken({
      name: 'rack-3',
      scopes: ['worker', 'operate'],
      by: 'root',
    })
    const { body: created } = await ask(server, '/campaigns', submitToken, {
      name: 'match',
      job: 'play',
      units: 10,
    })
    const campaign = `/campaigns/${String(created['id'])}`
    const take = async (id: string, token: string): Promise<object> => {
      const worker = {
        id,
        name: id,
        threads: 1,
        memory: 1,
        capabilities: [],
        tags: [],
        system: 'linux-x64',
        jobs: [{ name: 'play', version: '1' }],
      }
      const claim = { worker, request: id, wait_ms: 0 }
      const { body } = await ask(server, '/fleet/claim', token, claim)
      const { lease, epoch } = body['offer'] as { lease: string; epoch: number }
      const call = { lease, epoch, worker: id }
      assert.equal((await ask(server, '/fleet/accept', token, call)).status, 200)
      return call
    }
    const own = await take('worker-1', workerToken)
    const other = await take('worker-2', trusted)
    const reason = 'it cannot be built'
    const refused = await ask(server, '/fleet/stop', workerToken, { ...own, reason })
    assert.equal(refused.status, 403)
    const { body: running } = await ask(server, campaign, submitToken)
    assert.deepEqual([running['phase'], running['workers']], ['running', 1])
    const again = await ask(server, '/fleet/update', workerToken, {
      ...own,
      sequence: 1,
      done: 1,
      result: null,
    })
    assert.equal(again.status, 410)
    const stopped = await ask(server, '/fleet/stop', trusted, { ...other, reason })
    assert.deepEqual([stopped.status, stopped.body], [200, { stopped: true }])
    const { body: ended } = await ask(server, campaign, submitToken)
    const { why, detail } = ended['ended'] as { why: string; detail: string }
    assert.deepEqual([why, detail], ['stopped', reason])
  })
})
