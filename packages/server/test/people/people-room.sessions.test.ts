/** Sessions as browsers meet them: age, rotation, changed cookies, flags, and where a login leads. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { job } from '@heddle/core'
import { openStore, systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { People } from '../../src/people/people.ts'
import { peopleTables } from '../../src/people/people-tables.ts'
import { startServer, type Server, type ServerOptions } from '../../src/server.ts'
import { call, type Reply } from '../support/client.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)
const password = 'a long enough password'
const hour = 3_600_000

/** A server with the admin Ada, and the cookie of a login this many milliseconds ago. */
async function served(
  t: TestContext,
  ago: number,
  options: ServerOptions = {},
): Promise<{ readonly server: Server; readonly cookie: string; readonly csrf: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-sessions-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  await using opened = await openStore(store, { tables: peopleTables })
  const clock = new VirtualClock({ wallTime: Date.now() - ago })
  const people = new People(opened.tables, { ...systemKernel, clock })
  await people.start()
  await people.addUser({ name: 'ada', role: 'admin', password })
  const login = await people.login({ name: 'ada', password, remember: false, address: '' })
  const server = await startServer({ jobs: [echo], port: 0, store, ...options })
  t.after(() => server[Symbol.asyncDispose]())
  const { csrf } = login.known.session
  return { server, cookie: `heddle_session=${login.cookie}`, csrf }
}

function cookieOf({ headers }: Reply): string | undefined {
  return headers['set-cookie']?.[0]
}

function session(server: Server, cookie: string): Promise<Reply> {
  return call(server, '/session', { headers: { cookie } })
}

function nameOf({ body }: Reply): string | undefined {
  return (body['user'] as { name: string } | null)?.name
}

test('S106 a session that is too old is anonymous, and its cookie is cleared', async (t) => {
  const { server, cookie } = await served(t, 13 * hour)
  const reply = await session(server, cookie)
  assert.deepEqual([reply.status, nameOf(reply)], [200, undefined])
  assert.match(cookieOf(reply)!, /^heddle_session=; .*Max-Age=0/)
  assert.equal((await call(server, '/jobs', { headers: { cookie } })).status, 401)
})

test('S106 a session gets another secret every hour; both work for a moment, then the new one', async (t) => {
  const { server, cookie } = await served(t, 2 * hour)
  const reply = await session(server, cookie)
  assert.equal(nameOf(reply), 'ada')
  const rotated = cookieOf(reply)!.split(';')[0]!
  assert.notEqual(rotated, cookie)
  for (const either of [cookie, rotated]) assert.equal(nameOf(await session(server, either)), 'ada')
  assert.equal(cookieOf(await session(server, rotated)), undefined)
})

test('S107 a cookie of which one byte was changed is anonymous and cleared, never an error', async (t) => {
  const { server, cookie } = await served(t, 0)
  const start = 'heddle_session='.length
  for (let at = start; at < cookie.length; at += 7) {
    const changed = cookie[at] === 'A' ? 'B' : 'A'
    const reply = await session(server, cookie.slice(0, at) + changed + cookie.slice(at + 1))
    assert.deepEqual([reply.status, nameOf(reply)], [200, undefined], `byte ${at}`)
    assert.match(cookieOf(reply)!, /^heddle_session=; .*Max-Age=0/)
  }
  assert.equal(nameOf(await session(server, cookie)), 'ada')
})

test('S104 a cookie of ours fits a browser, and one that is too long is as good as none', async (t) => {
  const { server, cookie } = await served(t, 0)
  assert.ok(cookie.length < 3_800)
  const long = `${cookie}${'x'.repeat(4_000)}`
  assert.equal(nameOf(await session(server, long)), undefined)
  // Cookies of other programs on the same host are not ours to judge.
  const others = await session(server, `a=${'x'.repeat(3_000)}; ${cookie}`)
  assert.deepEqual([nameOf(others), cookieOf(others)], ['ada', undefined])
  assert.equal(cookieOf(await session(server, 'theirs=1')), undefined)
})

test('S109 a login redirects nowhere: addresses of other sites are refused, and no answer redirects', async (t) => {
  const { server } = await served(t, 0)
  for (const next of ['https://evil', '//evil', '/ok']) {
    const address = `/login?next=${encodeURIComponent(next)}`
    const { status, headers } = await call(server, address, { body: { name: 'ada', password } })
    assert.deepEqual([status, headers['location']], [400, undefined])
  }
})

test('S110 cookies are Secure for https only, and a stranger cannot claim it', async (t) => {
  const { server } = await served(t, 0)
  const proxied = await served(t, 0, { trustedProxies: ['127.0.0.1'] })
  const flags = async (to: Server, headers: Record<string, string>): Promise<string> => {
    const body = { name: 'ada', password }
    return cookieOf(await call(to, '/login', { body, headers }))!.replace(/^[^;]*; /, '')
  }
  const https = { 'x-forwarded-proto': 'https' }
  const plain = 'Path=/; HttpOnly; SameSite=Lax'
  assert.equal(await flags(server, {}), plain)
  assert.equal(await flags(server, https), plain)
  assert.equal(await flags(proxied.server, {}), plain)
  assert.equal(await flags(proxied.server, { 'x-forwarded-proto': 'http' }), plain)
  assert.equal(await flags(proxied.server, https), `${plain}; Secure`)
})

test('S134 no line of the log has a password, a token, a cookie or a part of them', async (t) => {
  const lines: string[] = []
  const { server, cookie, csrf } = await served(t, 0, {
    log: { to: { write: (line) => void lines.push(line) }, level: 'debug' },
    onLog: ({ text }) => lines.push(text),
  })
  const headers = { cookie, 'x-csrf-token': csrf }
  const made = await call(server, '/tokens', { body: { name: 'ci', scopes: ['submit'] }, headers })
  const token = String(made.body['token'])
  const link = await call(server, '/users', { body: { name: 'lin', role: 'viewer' }, headers })
  const secret = String(link.body['link']).split('/').at(-1)!
  const bearer = { authorization: `Bearer ${token}` }
  const wrong = { authorization: `Bearer ${token}x` }
  const answers = [
    call(server, '/login', { body: { name: 'ada', password: `${password}!` } }),
    call(server, '/login', { body: { name: password, password } }),
    call(server, `/login?password=${encodeURIComponent(password)}`, { body: {} }),
    call(server, '/login', { body: { name: 'ada', password, extra: token } }),
    call(server, '/jobs/echo', { body: { password, token }, headers: bearer }),
    call(server, `/jobs/${token}`, { body: 1, headers: bearer }),
    call(server, '/jobs/echo', { body: 1, headers: wrong }),
    call(server, `/${token}`, { headers: bearer }),
    call(server, '/jobs/echo?wait=-1', { body: 1, headers: { cookie, 'x-csrf-token': token } }),
    call(server, '/users', { body: { name: token, role: password }, headers }),
    call(server, `/links/${secret}`, { body: { password: 'short' } }),
    call(server, `/links/${secret}x`, { body: { password } }),
    call(server, `/tokens/${token}`, { method: 'DELETE', headers }),
    call(server, `/runs/${secret}`, { headers: { cookie } }),
    call(server, `/results/${token}/0`, { headers: bearer }),
    call(server, `/requests/${token}`, { method: 'DELETE', headers: bearer }),
    call(server, '/login', { text: `{"password":"${password}`, body: 1 }),
  ]
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  assert.ok(statuses.filter((status) => status >= 400).length >= 14, statuses.join(' '))
  assert.ok(statuses.every((status) => status < 500))
  await server.drain()
  const all = lines.join('\n')
  assert.ok(lines.length >= 14, all)
  const secretOfCookie = cookie.slice('heddle_session='.length)
  for (const each of [password, token, secret, csrf, secretOfCookie]) {
    // Half of it would help to find the rest.
    for (const part of [each.slice(0, 12), each.slice(-12)]) {
      assert.ok(!all.includes(part), `"${part}" in ${all}`)
    }
  }
})
