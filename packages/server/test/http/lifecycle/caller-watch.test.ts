import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import type { ServerResponse } from 'node:http'
import { openStore, systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import type { BegunCall } from '../../../src/http/caller.ts'
import { anonymous } from '../../../src/http/caller.ts'
import { CallerWatch } from '../../../src/http/lifecycle/caller-watch.ts'
import type { Contract } from '../../../src/client/contract/contract.ts'
import { People } from '../../../src/people/people.ts'
import { peopleTables } from '../../../src/people/people-tables.ts'
import { startServer, type Server } from '../../../src/server.ts'
import { Wire, call, head } from '../../support/client.ts'
import { Gate } from '../../support/gates.ts'

const password = 'a long enough password'

/** A server with two users and a token. */
async function serve(t: TestContext, gate: Gate): Promise<{ server: Server; token: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-callers-'))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const added = await (async () => {
    await using opened = await openStore(store, { tables: peopleTables })
    const people = new People(opened.tables, systemKernel)
    await people.addUser({ name: 'ada', role: 'admin', password })
    await people.addUser({ name: 'vera', role: 'viewer', password })
    return await people.addToken({ name: 'ci', scopes: ['submit'], by: 'ada' })
  })()
  const server = await startServer({ jobs: [gate.job], port: 0, store })
  t.after(async () => {
    gate.finishAll()
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  return { server, token: added.token }
}

async function login(server: Server, name: string): Promise<Record<string, string>> {
  const { headers, body } = await call(server, '/login', { body: { name, password } })
  const [header = ''] = headers['set-cookie'] ?? []
  return { cookie: header.split(';')[0]!, 'x-csrf-token': String(body['csrf']) }
}

const linesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')

/** A stream of events, from its first frame on. */
async function follow(server: Server, headers: Record<string, string>): Promise<Wire> {
  const wire = new Wire(server)
  await wire.send(`GET /runs/events HTTP/1.1\r\nhost: localhost\r\n${linesOf(headers)}\r\n`)
  await wire.has(/event: runs/)
  return wire
}

test('E1 open requests end with the right of their caller: blocked, logged out, revoked; those of others stay', async (t) => {
  const gate = new Gate('work')
  const { server, token } = await serve(t, gate)
  const [ada, vera, left] = [
    await login(server, 'ada'),
    await login(server, 'vera'),
    await login(server, 'ada'),
  ]
  using stays = await follow(server, ada)
  using blocked = await follow(server, vera)
  using loggedOut = await follow(server, left)
  using revoked = new Wire(server)
  const authorization = linesOf({ authorization: `Bearer ${token}` })
  await revoked.send(`${head('/jobs/work?wait=600000', 1, authorization)}1`)
  const { context } = await gate.started()
  const change = (address: string, method: string, body?: object): Promise<{ status: number }> =>
    call(server, address, { method, headers: { ...ada, 'content-type': 'application/json' }, body })
  const { body } = await call(server, '/tokens', { headers: ada })
  const [{ id }] = body['tokens'] as [{ id: string }]
  assert.equal((await change('/users/vera', 'PATCH', { state: 'blocked' })).status, 200)
  assert.equal((await change(`/tokens/${id}`, 'DELETE')).status, 200)
  assert.equal((await call(server, '/logout', { body: {}, headers: left })).status, 200)
  await Promise.all([blocked.closed(), loggedOut.closed(), revoked.closed()])
  // The only caller of the computation has left.
  if (!context.signal.aborted) await once(context.signal, 'abort')
  const before = stays.received.length
  assert.equal((await call(server, '/jobs', { headers: ada })).status, 200)
  assert.equal(stays.socket.destroyed, false)
  assert.ok(stays.received.length >= before)
})

/** A watch on virtual time, over one open request. */
async function setUp(refused: (calls: readonly BegunCall[]) => Promise<readonly BegunCall[]>) {
  const clock = new VirtualClock()
  let isOpen = true
  const socket = { destroy: () => void (isOpen = false) }
  const raw = { req: { socket } } as unknown as ServerResponse
  const open = { all: () => (isOpen ? [raw] : [])[Symbol.iterator]() as Generator<ServerResponse> }
  const watch = new CallerWatch({ open, policy: { refused }, clock })
  await watch.start()
  const begin = (kind: 'user' | 'anonymous', access: Contract['access'] = 'viewer'): void => {
    const caller = { ...anonymous, kind }
    const begun = { caller, request: {}, reply: { raw } } as unknown as Parameters<
      typeof watch.begin
    >[0]
    watch.begin(begun, { access } as Contract)
  }
  return { clock, watch, begin, isOpen: () => isOpen }
}

test('E2 E3 a store that cannot be read refuses no caller; short and anonymous requests are not asked for', async () => {
  const asked: number[] = []
  let isAway = true
  const { clock, watch, begin, isOpen } = await setUp((calls) => {
    asked.push(calls.length)
    return isAway ? Promise.reject(new Error('away')) : Promise.resolve(calls)
  })
  begin('anonymous')
  await clock.advance(1_800)
  assert.deepEqual(asked, [0, 0])
  begin('user', 'public')
  await clock.advance(1_800)
  assert.deepEqual(asked, [0, 0, 0, 0])
  begin('user')
  await clock.advance(1_800)
  assert.deepEqual(asked.slice(4), [1, 1])
  assert.equal(isOpen(), true)
  isAway = false
  await clock.advance(900)
  assert.equal(isOpen(), false)
  await watch.stop()
  assert.equal(clock.pending, 0)
})
