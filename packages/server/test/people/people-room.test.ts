import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { job } from '@heddle/core'
import { openStore, systemKernel } from '@heddle/core/lowlevel'
import { People } from '../../src/people/people.ts'
import { peopleTables } from '../../src/people/people-tables.ts'
import { startServer, type Server } from '../../src/server.ts'
import { call, type Reply } from '../support/client.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)
const password = 'a long enough password'

async function storeAddress(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-people-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return `sqlite:${path.join(folder, 'serve.db')}`
}

/** A store with an admin, a viewer and a token for submitting. */
async function peopled(
  t: TestContext,
): Promise<{ readonly store: string; readonly token: string }> {
  const store = await storeAddress(t)
  await using opened = await openStore(store, { tables: peopleTables })
  const people = new People(opened.tables, systemKernel)
  await people.addUser({ name: 'Ada', role: 'admin', password })
  await people.addUser({ name: 'vera', role: 'viewer', password })
  const { token } = await people.addToken({ name: 'ci', scopes: ['submit'], by: 'test' })
  return { store, token }
}

async function serve(t: TestContext, store: string): Promise<Server> {
  const server = await startServer({ jobs: [echo], port: 0, store })
  t.after(() => server[Symbol.asyncDispose]())
  return server
}

interface Login {
  readonly cookie: string
  readonly csrf: string
  readonly header: string
}

async function login(server: Server, name: string): Promise<Login> {
  const reply = await call(server, '/login', { body: { name, password } })
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  const [header = ''] = reply.headers['set-cookie'] ?? []
  return { cookie: header.split(';')[0]!, csrf: String(reply.body['csrf']), header }
}

function as({ cookie, csrf }: Login): { headers: Record<string, string> } {
  return { headers: { cookie, 'x-csrf-token': csrf } }
}

function codeOf({ status, body }: Reply): [number, string | undefined] {
  return [status, body.error?.code]
}

test('without users and tokens every caller on this machine may do everything', async (t) => {
  const server = await serve(t, await storeAddress(t))
  assert.equal(server.isOpen, true)
  const { body } = await call(server, '/session')
  assert.deepEqual(
    [body['is_open'], body['user'], body['roles']],
    [true, null, ['viewer', 'operator', 'admin']],
  )
  assert.equal((await call(server, '/jobs')).status, 200)
})

test('an address that other machines can reach needs users or tokens', async (t) => {
  const store = await storeAddress(t)
  await assert.rejects(
    startServer({ jobs: [echo], port: 0, store, host: '0.0.0.0' }),
    (error: { code: string }) => error.code === 'HDL_OPEN_TO_OTHERS',
  )
  const withUsers = await peopled(t)
  await using server = await startServer({
    jobs: [echo],
    port: 0,
    store: withUsers.store,
    host: '0.0.0.0',
  })
  assert.equal(server.isOpen, false)
})

test('roles: a viewer sees, an admin changes, an anonymous caller does neither', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  assert.deepEqual(codeOf(await call(server, '/jobs')), [401, 'unauthenticated'])
  assert.equal((await call(server, '/healthz')).status, 200)
  const vera = await login(server, 'vera')
  assert.equal((await call(server, '/jobs', as(vera))).status, 200)
  assert.deepEqual(codeOf(await call(server, '/users', as(vera))), [403, 'forbidden'])
  assert.deepEqual(codeOf(await call(server, '/jobs/echo', { body: 1, ...as(vera) })), [
    403,
    'forbidden',
  ])
  const ada = await login(server, 'ADA')
  const { body } = await call(server, '/users', as(ada))
  assert.deepEqual(
    (body['users'] as { name: string }[]).map(({ name }) => name),
    ['ada', 'vera'],
  )
  assert.equal(JSON.stringify(body).includes('argon2'), false)
})

test('cookies are HttpOnly and SameSite, and a changed one is as good as none', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const ada = await login(server, 'ada')
  assert.match(ada.header, /; Path=\/; HttpOnly; SameSite=Lax$/)
  const changed = { ...ada, cookie: `${ada.cookie.slice(0, -2)}xx` }
  assert.equal((await call(server, '/users', as(changed))).status, 401)
  const remembered = await call(server, '/login', {
    body: { name: 'ada', password, remember: true },
  })
  assert.match(String(remembered.headers['set-cookie']), /Max-Age=3455\d{4}/)
})

test('P2 a change without the CSRF token of the session is refused', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const ada = await login(server, 'ada')
  const vera = await login(server, 'vera')
  const body = { name: 'new', role: 'viewer', password }
  for (const csrf of ['', 'x', vera.csrf]) {
    const reply = await call(server, '/users', { body, ...as({ ...ada, csrf }) })
    assert.deepEqual(codeOf(reply), [403, 'csrf'])
  }
  assert.equal((await call(server, '/users', { body, ...as(ada) })).status, 201)
})

test('U1 S133 a blocked user is cut off on every server within two seconds', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const [ada, vera] = [await login(server, 'ada'), await login(server, 'vera')]
  assert.equal((await call(server, '/jobs', as(vera))).status, 200)
  // Another server, as far as the store is concerned.
  await using opened = await openStore(store, { tables: peopleTables })
  const elsewhere = new People(opened.tables, systemKernel)
  await elsewhere.changeUser('vera', { state: 'blocked' })
  const until = systemKernel.clock.now() + 2_000
  let status = 200
  while (status === 200 && systemKernel.clock.now() < until) {
    ;({ status } = await call(server, '/jobs', as(vera)))
  }
  // However slow the machine is: the first request after two seconds is refused.
  if (status === 200) ({ status } = await call(server, '/jobs', as(vera)))
  assert.equal(status, 401)
  assert.equal((await call(server, '/jobs', as(ada))).status, 200)
  const again = await call(server, '/login', { body: { name: 'vera', password } })
  assert.deepEqual(codeOf(again), [401, 'account_blocked'])
  // What is public is open to its browser, which forgets the cookie and logs in with another name.
  assert.equal((await call(server, '/healthz', as(vera))).status, 200)
  const session = await call(server, '/session', as(vera))
  assert.deepEqual([session.status, session.body['user']], [200, null])
  assert.match(String(session.headers['set-cookie']), /heddle_session=;.*Max-Age=0/)
  const other = { name: 'ada', password }
  assert.equal((await call(server, '/login', { body: other, ...as(vera) })).status, 200)
})

test('U4 the last admin stays', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const ada = await login(server, 'ada')
  for (const body of [{ state: 'blocked' }, { role: 'viewer' }]) {
    const reply = await call(server, '/users/ada', { method: 'PATCH', body, ...patch(ada) })
    assert.deepEqual(codeOf(reply), [409, 'last_admin'])
  }
})

function patch(known: Login): { headers: Record<string, string> } {
  return { headers: { ...as(known).headers, 'content-type': 'application/json' } }
}

test('U2 S135 unknown names and wrong passwords are refused alike', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const unknown = await call(server, '/login', { body: { name: 'nobody', password } })
  const wrong = await call(server, '/login', { body: { name: 'ada', password: `${password}!` } })
  assert.deepEqual(codeOf(unknown), [401, 'bad_login'])
  assert.deepEqual(unknown.body, wrong.body)
})

test('S140 the sixth login within a minute is refused, with the time to wait', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const replies: Reply[] = []
  for (let i = 0; i < 6; i++) {
    replies.push(await call(server, '/login', { body: { name: `x${i}`, password: 'wrong one' } }))
  }
  assert.deepEqual(
    replies.map(({ status }) => status),
    [401, 401, 401, 401, 401, 429],
  )
  assert.ok(Number(replies[5]!.headers['retry-after']) >= 1)
})

test('S132 tokens have scopes and a rate, and are stored as hashes', async (t) => {
  const { store, token } = await peopled(t)
  const server = await serve(t, store)
  const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })
  assert.equal((await call(server, '/jobs/echo', { body: 1, ...bearer(token) })).status, 202)
  assert.deepEqual(codeOf(await call(server, '/users', bearer(token))), [403, 'forbidden'])
  for (const wrong of [`${token.slice(0, -1)}A`, `${token.slice(0, -1)}B`, 'hdl_', 'x y']) {
    if (wrong === token) continue
    assert.deepEqual(codeOf(await call(server, '/jobs', bearer(wrong))), [401, 'unauthenticated'])
  }
  const messageOf = async (text?: string): Promise<string> =>
    (await call(server, '/jobs', text === undefined ? {} : bearer(text))).body.error!.message
  const needed = 'GET /jobs needs a caller that is logged in, or a token'
  assert.equal(await messageOf(), `${needed}.`)
  assert.equal(
    await messageOf(`${token}A`),
    `${needed}: the one that came is unknown, revoked or too old.`,
  )
  assert.equal(await messageOf('x y'), `${needed}: the header Authorization is not "Bearer TOKEN".`)
  const asked = Array.from({ length: 100 }, () => call(server, '/rate_limit', bearer(token)))
  const statuses = new Set((await Promise.all(asked)).map(({ status }) => status))
  assert.ok(statuses.has(429), 'twenty at once, ten a second')
  await using opened = await openStore(store, { tables: peopleTables })
  const records = await new People(opened.tables, systemKernel).listTokens()
  assert.equal(JSON.stringify(records).includes(token.slice(-43)), false)
})

test('a token that is revoked is refused at once, also where it was just used', async () => {
  await using opened = await openStore('memory', { tables: peopleTables })
  const people = new People(opened.tables, systemKernel)
  const { token } = await people.addToken({ name: 'ci', scopes: ['submit'], by: 'test' })
  assert.ok(await people.callerOfToken(token))
  await people.revokeToken('ci')
  assert.equal(await people.callerOfToken(token), undefined)
})

test('a link sets a password once', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const ada = await login(server, 'ada')
  const added = await call(server, '/users', {
    body: { name: 'lin', role: 'operator' },
    ...as(ada),
  })
  const secret = String(added.body['link']).split('/').at(-1)!
  const set = await call(server, `/links/${secret}`, { body: { password } })
  assert.deepEqual((set.body['user'] as { name: string }).name, 'lin')
  const again = await call(server, `/links/${secret}`, { body: { password } })
  assert.deepEqual(codeOf(again), [410, 'bad_link'])
})

test('U5 S139 changes are in the log, which is searched by its own fields only', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const ada = await login(server, 'ada')
  await call(server, '/users', { body: { name: 'new', role: 'viewer', password }, ...as(ada) })
  await call(server, '/login', { body: { name: 'ada', password: 'wrong one' } })
  const read = async (query: string): Promise<string[]> => {
    const { body } = await call(server, `/actions?${query}`, as(ada))
    return (body['actions'] as { action: string }[]).map(({ action }) => action)
  }
  assert.deepEqual(await read(''), ['login refused', 'user added', 'login'])
  assert.deepEqual(await read('action=user%20added'), ['user added'])
  assert.deepEqual(await read('by=ada&limit=1'), ['user added'])
  for (const query of ['password=1', '__proto__=1', '$where=1', 'by[$ne]=x']) {
    assert.deepEqual(codeOf(await call(server, `/actions?${query}`, as(ada))), [400, 'bad_request'])
  }
  const { body } = await call(server, '/actions', as(ada))
  assert.equal(JSON.stringify(body).includes(password), false)
})

test('logging out ends the session on the server', async (t) => {
  const { store } = await peopled(t)
  const server = await serve(t, store)
  const ada = await login(server, 'ada')
  const out = await call(server, '/logout', { body: {}, ...as(ada) })
  assert.match(String(out.headers['set-cookie']), /heddle_session=; .*Max-Age=0/)
  assert.equal((await call(server, '/users', as(ada))).status, 401)
})
