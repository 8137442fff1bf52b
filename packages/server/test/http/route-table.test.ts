/** R1 and R2 with a room of the test's own: kinds of bodies, callers, doors. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, mock, test } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { HeddleError } from '@heddle/core'
import { ThreadPool, systemKernel } from '@heddle/core/lowlevel'
import { contract } from '../../src/client/contract/contract.ts'
import {
  anonymous,
  checkAccess,
  isAllowed,
  type AccessPolicy,
  type Caller,
} from '../../src/http/caller.ts'
import { toHttpError } from '../../src/http/http-error.ts'
import type { Room } from '../../src/http/room.ts'
import { route, type Route } from '../../src/http/route.ts'
import { addRoom } from '../../src/http/route-table.ts'

const viewer: Caller = { ...anonymous, kind: 'user', id: 'v', roles: ['viewer'], scopes: [] }
const nobody: Caller = { ...anonymous, roles: [], scopes: [] }

const chores = new ThreadPool({ threads: 1 })
after(() => chores.stop())

async function appOf(routes: readonly Route[], policy: AccessPolicy): Promise<FastifyInstance> {
  const app = Fastify({ serverFactory: (handler) => createServer(handler) })
  app.removeAllContentTypeParsers()
  app.setErrorHandler((error, _, reply) => {
    const { status, body } = toHttpError(error)
    return reply.code(status).send(body)
  })
  addRoom(app, { name: 'test', routes } as unknown as Room, {
    policy,
    callers: { begin: () => undefined },
    clock: systemKernel.clock,
    parsing: { chores, clock: systemKernel.clock, loopBody: 1_000 },
    requestLimit: 600_000,
  })
  await app.ready()
  return app
}

const policyOf = (caller: Caller | Promise<Caller>): AccessPolicy => ({
  callerOf: () => caller,
  check: checkAccess,
})

const answers = { 200: Type.Unknown() }
const common = { summary: '', responses: answers } as const
const form = contract({
  ...common,
  method: 'POST',
  path: '/form',
  access: 'public',
  body: 'form',
  bodySchema: Type.Object({ a: Type.String() }),
})
const raw = contract({ ...common, method: 'PUT', path: '/raw', access: 'public', body: 'raw' })
const json = contract({
  ...common,
  method: 'POST',
  path: '/json/:id',
  access: 'operator',
  body: 'json',
  params: Type.Object({ id: Type.String() }),
  bodySchema: Type.Object({ n: Type.Integer() }),
})

test('R2 forms are fields, raw bodies are streams, JSON is checked', async () => {
  const app = await appOf(
    [
      route(form, ({ body }) => body),
      route(raw, async ({ request }) => ({ read: await text(request.raw) })),
      route(json, ({ body, params }) => ({ id: params.id, twice: 2 * body.n }), {
        tenancy: 'everyone',
      }),
    ],
    policyOf(anonymous),
  )
  const posted = await app.inject({
    method: 'POST',
    url: '/form',
    payload: 'a=x%20y',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  assert.deepEqual(posted.json(), { a: 'x y' })
  const put = await app.inject({
    method: 'PUT',
    url: '/raw',
    payload: 'abc',
    headers: { 'content-type': 'text/csv' },
  })
  assert.deepEqual(put.json(), { read: 'abc' })
  const good = await app.inject({ method: 'POST', url: '/json/z', payload: { n: 2 } })
  assert.deepEqual(good.json(), { id: 'z', twice: 4 })
  const wrong = await app.inject({ method: 'POST', url: '/json/z', payload: { n: 'x' } })
  assert.deepEqual(
    [wrong.statusCode, wrong.json<{ error: { message: string } }>().error.message],
    [400, 'n: expected a whole number.'],
  )
  await app.close()
})

test('S53 a long JSON body is parsed in a thread, with the same value as a short one', async () => {
  const parse = mock.method(JSON, 'parse')
  const app = await appOf(
    [route(json, ({ body }) => ({ twice: 2 * body.n }), { tenancy: 'everyone' })],
    policyOf(anonymous),
  )
  const send = async (payload: string): Promise<unknown[]> => {
    const headers = { 'content-type': 'application/json' }
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: '/json/z',
      payload,
      headers,
    })
    return [statusCode, body.replace(/^.*"message":"([^"]*).*$/, '$1')]
  }
  const long = `"more":[${'0,'.repeat(100_000)}0]`
  assert.deepEqual(await send(`{${long},"n":2}`), [200, '{"twice":4}'])
  assert.deepEqual(await send(`{${long},"n":"x"}`), [400, 'n: expected a whole number.'])
  assert.deepEqual(await send(`{${long},"n":2`), [400, 'The body: expected a JSON object.'])
  const longest = Math.max(...parse.mock.calls.map(({ arguments: [parsed] }) => parsed.length))
  assert.ok(longest < 70_000, `${longest} characters were parsed on the loop`)
  parse.mock.restore()
  await app.close()
})

test('R1 caller, right, words, door: each refuses before the next, and the handler sees none of it', async () => {
  const seen: string[] = []
  const routes = [
    route(
      json,
      () => {
        seen.push('handled')
        return {}
      },
      {
        tenancy: 'everyone',
        door: () => {
          seen.push('door')
          throw new HeddleError('HDL_OVERLOADED', { what: 'It', retryAfter: 5 })
        },
      },
    ),
  ]
  const ask = async (caller: Caller | Promise<Caller>, url: string): Promise<number> => {
    const app = await appOf(routes, policyOf(caller))
    const { statusCode } = await app.inject({ method: 'POST', url, payload: {} })
    await app.close()
    return statusCode
  }
  assert.equal(await ask(nobody, '/json/a'), 401)
  assert.equal(await ask(viewer, '/json/a'), 403)
  assert.equal(await ask(Promise.resolve(viewer), '/json/a'), 403)
  assert.equal(
    await ask(Promise.reject(new HeddleError('HDL_UNAUTHENTICATED', { what: 'It' })), '/json/a'),
    401,
  )
  assert.equal(await ask(anonymous, '/json/a?word=1'), 400)
  assert.deepEqual(seen, [])
  assert.equal(await ask(Promise.resolve(anonymous), '/json/a'), 503)
  assert.deepEqual(seen, ['door'])
})

test('roles include the lower ones, scopes are for tokens', () => {
  const of = (roles: Caller['roles'], scopes: string[] = []): Caller => ({
    ...nobody,
    roles,
    scopes,
  })
  const accesses = ['public', 'viewer', 'operator', 'admin', 'submit', 'worker'] as const
  const rights = (caller: Caller): string =>
    accesses.filter((one) => isAllowed(caller, one)).join(' ')
  assert.equal(rights(of([])), 'public')
  assert.equal(rights(of(['viewer'])), 'public viewer')
  assert.equal(rights(of(['operator'])), 'public viewer operator submit')
  assert.equal(rights(of(['admin'])), 'public viewer operator admin submit worker')
  assert.equal(rights(of([], ['submit'])), 'public submit')
  assert.equal(rights(of([], ['worker'])), 'public worker')
  assert.equal(rights(of([], ['read', 'operate'])), 'public viewer operator')
})

test('N2: a route whose path names a thing cannot be made without declaring how its tenant is checked', () => {
  assert.throws(() => route(json, () => ({})), {
    code: 'HDL_BAD_OPTION',
    message: /POST .json.:id", expected how the tenant of the resource in the path is checked/,
  })
})
