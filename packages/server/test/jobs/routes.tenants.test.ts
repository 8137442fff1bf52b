/** Slots, ids of requests and handles belong to the tenant of the caller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import {
  anonymous,
  serveJob,
  startServer,
  type AccessPolicy,
  type Caller,
} from '../../src/index.ts'
import { checkAccess } from '../../src/http/caller.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, fetchResult, quiet, submit, waiting } from '../support/http.ts'

/** The tenant is the header: only tests may trust it. */
const policy: AccessPolicy = {
  callerOf: ({ headers }: FastifyRequest): Caller => ({
    ...anonymous,
    kind: 'token',
    tenant: String(headers['x-tenant']),
  }),
  check: checkAccess,
}

const of = (tenant: string, more: Record<string, string> = {}) => ({
  headers: { 'x-tenant': tenant, ...more },
})

test('the same input of two tenants: two computations, two handles, and neither reads that of the other', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, policy })
  const a = (await submit(server, 'work', 1, of('a')).reply).body['handle']
  const b = (await submit(server, 'work', 1, of('b')).reply).body['handle']
  assert.notEqual(a, b)
  ;(await gate.started(1)).finish('result of a')
  ;(await gate.started(2)).finish('result of b')
  await quiet(server)
  const read = async (handle: unknown, tenant: string) => {
    const { status, body } = await call(server, `/results/${String(handle)}/0`, of(tenant))
    return [status, body['result']]
  }
  assert.deepEqual(await read(a, 'a'), [200, 'result of a'])
  assert.deepEqual(await read(b, 'b'), [200, 'result of b'])
  assert.deepEqual(await read(a, 'b'), [404, undefined])
  assert.deepEqual(await read(b, 'a'), [404, undefined])
})

test('a handle of another tenant is unknown while it is computed, and when it has failed', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, policy })
  const { body } = await submit(server, 'work', 1, of('a')).reply
  const ask = async (tenant: string) =>
    (await call(server, `/results/${String(body['handle'])}/0`, of(tenant))).status
  assert.deepEqual([await ask('a'), await ask('b')], [202, 404])
  ;(await gate.started()).fail(new Error('it failed'))
  await quiet(server)
  assert.deepEqual([await ask('a'), await ask('b')], [500, 404])
})

test('the id of a request of another tenant cannot be cancelled, and may be used by both', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, policy })
  const mine = compute(server, 'work', 1, of('a', { 'x-request-id': 'one' }))
  const theirs = compute(server, 'work', 2, of('b', { 'x-request-id': 'one' }))
  await waiting(server, 2)
  const cancelAs = async (tenant: string) =>
    (await call(server, '/requests/one', { method: 'DELETE', ...of(tenant) })).status
  assert.equal(await cancelAs('c'), 404)
  assert.equal(await cancelAs('a'), 200)
  assert.equal((await mine.reply).status, 499)
  gate.finishAll()
  assert.equal((await theirs.reply).status, 200)
  await quiet(server)
})

test('a slot of another tenant is another slot', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, policy })
  const first = compute(server, 'work', 1, { query: 'slot=panel', ...of('a') })
  await waiting(server, 1)
  const second = compute(server, 'work', 2, { query: 'slot=panel', ...of('b') })
  await waiting(server, 2)
  gate.finishAll()
  assert.deepEqual([(await first.reply).status, (await second.reply).status], [200, 200])
  await quiet(server)
})

test('a shared job: tenants join and read by the same input, and cannot cancel each other', async () => {
  const gate = new Gate('load')
  const shared = serveJob({ name: 'shared', prepare: gate.job, shared: true })
  await using server = await startServer({ jobs: [shared], port: 0, policy })
  const mine = compute(server, 'shared', 1, of('a', { 'x-request-id': 'mine' }))
  await gate.started()
  const theirs = compute(server, 'shared', 1, of('b'))
  await waiting(server, 2)
  assert.equal((await call(server, '/requests/mine', { method: 'DELETE', ...of('b') })).status, 404)
  gate.finishAll(() => 'once')
  const [one, two] = [await mine.reply, await theirs.reply]
  assert.deepEqual([one.body['result'], two.body['result']], ['once', 'once'])
  assert.equal(one.body['handle'], two.body['handle'])
  assert.equal(gate.starts.length, 1)
  await quiet(server)
  assert.equal((await fetchResult(server, one.body['handle']).reply).status, 200)
})

test('a tenant over its share is answered 429 with Retry-After; another is admitted', async () => {
  const gate = new Gate('work')
  const limits = { tenantCapacity: 2 }
  await using server = await startServer({ jobs: [gate.job], port: 0, policy, limits })
  for (const input of [1, 2]) await submit(server, 'work', input, of('a')).reply
  const { status, headers, body } = await submit(server, 'work', 3, of('a')).reply
  assert.deepEqual(
    [status, body.error?.code, body.error?.retryable],
    [429, 'too_many_requests', true],
  )
  assert.ok(Number(headers['retry-after']) >= 1)
  assert.equal((await submit(server, 'work', 4, of('b')).reply).status, 202)
  gate.finishAll()
})

test('POST /cache deletes results of the own tenant only; all of them only for an admin', async () => {
  const gate = new Gate('work')
  const operators: AccessPolicy = {
    ...policy,
    callerOf: (request: FastifyRequest): Caller => ({
      ...(policy.callerOf(request, undefined as never) as Caller),
      roles: request.headers['x-tenant'] === 'root' ? ['admin'] : ['viewer', 'operator'],
    }),
  }
  await using server = await startServer({ jobs: [gate.job], port: 0, policy: operators })
  const { body } = await submit(server, 'work', 1, of('a')).reply
  ;(await gate.started()).finish('result of a')
  await quiet(server)
  const handle = String(body['handle'])
  const cache = async (tenant: string, action: string) => {
    const reply = await call(server, '/cache', { body: { action, handle }, ...of(tenant) })
    return [reply.status, reply.body['success'] ?? reply.body.error?.code]
  }
  assert.deepEqual(await cache('b', 'delete'), [200, false])
  assert.equal((await call(server, `/results/${handle}/0`, of('a'))).status, 200)
  assert.deepEqual(await cache('b', 'flush'), [403, 'forbidden'])
  assert.deepEqual(await cache('a', 'delete'), [200, true])
  assert.deepEqual(await cache('root', 'flush'), [200, true])
})
