/** Nothing of one tenant is visible to another: workers, too, get and see only what belongs to their own. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Graph } from '@heddle/core'
import { openPeople, startServer, type Server } from '@heddle/server'
import { reach } from '../../core/test/kernel/until.ts'
import { Worker } from '../src/index.ts'
import * as jobs from './fixtures/jobs.ts'

interface Tokens {
  readonly user: string
  readonly worker: string
}

interface Tenants {
  readonly server: Server
  readonly acme: Tokens
  readonly brook: Tokens
  /** Without a tenant of its own. */
  readonly common: Tokens
}

const frame = new Graph()
frame.add('square', jobs.square, { input: 12 })

/** A server, and for each of three tenants a token that submits and one for workers. */
async function withTenants(use: (tenants: Tenants) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-tenants-'))
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    await using opened = await openPeople(store)
    const { people } = opened
    await people.addUser({ name: 'root', role: 'admin', password: 'correct horse battery' })
    const tokensOf = async (tenant: string): Promise<Tokens> => {
      const made = { by: 'root', tenant }
      const user = await people.addToken({
        ...made,
        name: `user-of-${tenant}`,
        scopes: ['submit', 'read', 'operate'],
      })
      const worker = await people.addToken({
        ...made,
        name: `worker-of-${tenant}`,
        scopes: ['worker'],
      })
      return { user: user.token, worker: worker.token }
    }
    const [acme, brook] = [await tokensOf('acme'), await tokensOf('brook')]
    const common = await tokensOf('default')
    await using server = await startServer({
      jobs: { ...jobs, frame },
      store,
      port: 0,
      limits: { loopGap: Infinity },
    })
    await use({ server, acme, brook, common })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

async function ask({ url }: Server, route: string, token: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url + route, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

interface Claimed {
  readonly offer?: { readonly work: { readonly job: string; readonly input: unknown } }
  readonly empty?: { readonly reason: string; readonly message: string }
}

let claims = 0

async function claim(server: Server, id: string, token: string, wait = 0): Promise<Claimed> {
  const worker = {
    id,
    name: id,
    threads: 1,
    memory: 1_000,
    capabilities: [],
    tags: [],
    system: 'linux-x64',
    jobs: [{ name: 'square', version: '1' }],
  }
  const request = `claim-${++claims}`
  const answer = await ask(server, '/fleet/claim', token, { worker, request, wait_ms: wait })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** Asks until there is an answer that is not undefined. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  return (await reach(look, (found) => found !== undefined))!
}

test('W9: a job that waits for a worker is offered to workers of its tenant only', async () => {
  await withTenants(async ({ server, acme, brook, common }) => {
    const submitted = await ask(server, '/jobs/square', acme.user, 12)
    assert.equal(submitted.status, 202)
    await until(async () => {
      const { body } = await ask(server, '/fleet/summary', acme.user)
      return body['jobs_waiting'] === 1 ? true : undefined
    })
    for (const [id, { worker }] of [
      ['worker-of-brook', brook],
      ['worker-of-all', common],
    ] as const) {
      const { offer, empty } = await claim(server, id, worker)
      assert.equal(offer, undefined, `${id} got ${JSON.stringify(offer)}`)
      // Not even that acme has such a job.
      assert.equal(empty!.reason, 'no_work')
      assert.doesNotMatch(empty!.message, /square|acme/)
    }
    const { offer } = await claim(server, 'worker-of-acme', acme.worker)
    assert.deepEqual([offer!.work.job, offer!.work.input], ['square', 12])
  })
})

test('W9: a claim that waits is not woken with the job of another tenant', async () => {
  await withTenants(async ({ server, acme, brook }) => {
    const waiting = claim(server, 'worker-of-brook', brook.worker, 25_000)
    const right = claim(server, 'worker-of-acme', acme.worker, 25_000)
    for (const { user } of [acme, brook]) {
      await until(async () => {
        const { body } = await ask(server, '/fleet/summary', user)
        // Its own claim, and not that of the other tenant.
        assert.ok(Number(body['waiting']) <= 1, JSON.stringify(body))
        return body['waiting'] === 1 ? true : undefined
      })
    }
    await ask(server, '/jobs/square', acme.user, 12)
    assert.equal((await right).offer!.work.input, 12)
    await ask(server, '/jobs/square', brook.user, 5)
    assert.equal((await waiting).offer!.work.input, 5)
  })
})

test('W9: a waiting job names the tenant that has no worker, and no worker of another tenant', async () => {
  await withTenants(async ({ server, acme, brook }) => {
    await claim(server, 'worker-of-brook', brook.worker)
    await ask(server, '/jobs/square', acme.user, 12)
    const why = await until(async () => {
      const { body } = await ask(server, '/computations', acme.user)
      const [computation] = body['computations'] as { waits_for?: string }[]
      return computation?.waits_for
    })
    assert.equal(why, 'no worker of tenant acme is connected')
  })
})

test('W9: nodes of a run go to workers of the tenant that started it, also from a later node on', async () => {
  await withTenants(async ({ server, acme, brook, common }) => {
    const started = await ask(server, '/runs', acme.user, { graph: 'frame' })
    assert.equal(started.status, 201, JSON.stringify(started.body))
    await until(async () => {
      const { body } = await ask(server, '/fleet/summary', acme.user)
      return body['jobs_waiting'] === 1 ? true : undefined
    })
    assert.equal((await claim(server, 'worker-of-brook', brook.worker)).offer, undefined)
    assert.equal((await claim(server, 'worker-of-all', common.worker)).offer, undefined)
    const worker = new Worker({ server: server.url, jobs, token: acme.worker })
    const ended = worker.run()
    const outcomeOf = async (run: string): Promise<string> =>
      until(async () => {
        const { body } = await ask(server, `/runs/${run}`, acme.user)
        const outcome = body['outcome'] as string
        return ['succeeded', 'failed', 'cancelled'].includes(outcome) ? outcome : undefined
      })
    const run = started.body['run'] as string
    assert.equal(await outcomeOf(run), 'succeeded')
    const again = await ask(server, `/runs/${run}/nodes/square/retry`, acme.user, {})
    assert.equal(again.status, 201, JSON.stringify(again.body))
    assert.equal(await outcomeOf(again.body['run'] as string), 'succeeded')
    await worker.stop()
    await ended
  })
})

test('D3: the result that a worker uploads for a computation belongs to its tenant, even when another tenant can compute the handle', async () => {
  await withTenants(async ({ server, acme, brook, common }) => {
    const submitted = await ask(server, '/jobs/long-text', acme.user, 2_000_000)
    assert.equal(submitted.status, 202, JSON.stringify(submitted.body))
    const handle = submitted.body['handle'] as string
    const worker = new Worker({ server: server.url, jobs, token: acme.worker })
    const ended = worker.run()
    const list = await until(async () => {
      const { body } = await ask(server, `/artifacts/${handle}`, acme.user)
      const artifacts = body['artifacts'] as { name: string }[] | undefined
      return artifacts?.length === 1 ? artifacts : undefined
    })
    const file = `/artifacts/${handle}/${encodeURIComponent(list[0]!.name)}`
    for (const route of [`/artifacts/${handle}`, `/runs/${handle}/artifacts`, file]) {
      for (const { user } of [brook, common]) {
        const { status, body } = await ask(server, route, user)
        assert.equal(status, 404, `${route}: ${JSON.stringify(body)}`)
      }
    }
    await worker.stop()
    await ended
  })
})
