import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { bytes, job } from '@heddle/core'
import { openDatabase, type TestDatabase } from '@heddle/test-servers'
import type { AccessPolicy, Caller } from '../../src/http/caller.ts'
import { checkAccess } from '../../src/http/caller.ts'
import { callerHeader, forwardHeader } from '../../src/cluster/forward.ts'
import { startServer, type Server } from '../../src/server.ts'
import { call, type Reply } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { reach } from '../../../core/test/kernel/until.ts'
import { clusterOf, startPair } from './support/two-servers.ts'

let postgres: TestDatabase
before(async () => {
  postgres = await openDatabase()
})
after(() => postgres[Symbol.asyncDispose]())

let schemas = 0
const newStore = (): string => `${postgres.address}?schema=calls_${++schemas}`

interface Listed {
  readonly handle: string
  readonly tenant: string
  readonly state: string
}

const listed = ({ body }: Reply): readonly Listed[] => body['computations'] as Listed[]

/** Submits through one server until both have started some; resolves with the handles, by the server that works on them. */
async function spread(
  pair: { readonly one: { host: string; port: number } },
  gates: Readonly<Record<'one' | 'two', Gate<number>>>,
  headers?: Readonly<Record<string, string>>,
): Promise<Record<'one' | 'two', { readonly n: number; readonly handle: string }>> {
  const handles = new Map<number, string>()
  for (let n = 0; ; n++) {
    const { status, body } = await call(pair.one, '/jobs/work', {
      body: n,
      headers: { ...headers, 'x-request-id': `request-${n}` },
    })
    assert.equal(status, 202, JSON.stringify(body))
    assert.equal(body['request'], `request-${n}`)
    handles.set(n, String(body['handle']))
    await Promise.race([gates.one.started(1), gates.two.started(1)])
    const [here, there] = [gates.one.starts[0]?.input, gates.two.starts[0]?.input]
    if (here === undefined || there === undefined) continue
    return {
      one: { n: here, handle: handles.get(here)! },
      two: { n: there, handle: handles.get(there)! },
    }
  }
}

const bodyOf = async (answer: Response): Promise<Uint8Array> =>
  new Uint8Array(await answer.arrayBuffer())

const gatesOf = (): Record<'one' | 'two', Gate<number>> => ({
  one: new Gate<number>('work'),
  two: new Gate<number>('work'),
})

test('C6: a submit, a cancel by request id, a cancel by handle and the list work on any server', async () => {
  const gates = gatesOf()
  await using pair = await startPair({ store: newStore(), jobs: (place) => [gates[place].job] })
  const { one, two } = pair
  const found = await spread(pair, gates)
  const ran = [...gates.one.starts, ...gates.two.starts].map(({ input }) => input)
  assert.equal(new Set(ran).size, ran.length, 'what was forwarded runs at its owner only')
  // Both servers list what all of them compute.
  for (const server of [one, two]) {
    const handles = listed(await call(server, '/computations')).map(({ handle }) => handle)
    assert.ok(handles.includes(found.one.handle) && handles.includes(found.two.handle))
    const { body } = await call(server, '/computations?limit=1')
    assert.equal(listed({ body } as Reply).length, 1)
    assert.equal(body['total'], handles.length)
    assert.equal(body['servers_missing'], undefined)
  }
  // Cancels by id, through the server that does not know it.
  const byId = await call(one, `/requests/request-${found.two.n}`, { method: 'DELETE' })
  assert.deepEqual([byId.status, byId.body['state']], [200, 'cancelled'])
  assert.ok(gates.two.starts[0]!.context.signal.aborted)
  const unknown = await call(one, '/requests/none', { method: 'DELETE' })
  assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'unknown_request'])
  // Cancels by handle.
  const path = `/computations/${found.one.handle}`
  const byHandle = await call(two, path, { method: 'DELETE' })
  assert.deepEqual([byHandle.status, byHandle.body['state']], [200, 'cancelled'])
  assert.ok(gates.one.starts[0]!.context.signal.aborted)
  const retried = await call(two, `${path}/retry`, { method: 'POST' })
  assert.deepEqual([retried.status, retried.body.error?.code], [404, 'not_found'])
})

test('C6: results that are bytes pass unchanged, and a deleted result is deleted everywhere', async () => {
  const store = newStore()
  const data = Uint8Array.from({ length: 256 }, (_, index) => index)
  const picture = job({ name: 'picture' }, (n: number) =>
    bytes(Uint8Array.from([...data, n]), 'image/x-test'),
  )
  await using pair = await startPair({ store, jobs: () => [picture] })
  const { one, two } = pair
  for (let n = 0; n < 8; n++) {
    const answer = await fetch(`${one.url}/jobs/picture?wait=60000`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: String(n),
    })
    assert.equal(answer.headers.get('content-type'), 'image/x-test')
    assert.deepEqual([...(await bodyOf(answer))], [...data, n])
    const location = answer.headers.get('content-location')!
    const range = await fetch(two.url + location, { headers: { range: 'bytes=1-3' } })
    assert.deepEqual([range.status, [...(await bodyOf(range))]], [206, [1, 2, 3]])
    const handle = location.split('/')[2]
    const removed = await call(one, '/cache', { body: { action: 'delete', handle } })
    assert.equal(removed.status, 200)
    for (const server of [one, two]) {
      assert.equal((await fetch(server.url + location)).status, 404)
    }
  }
  const forwarded = (await clusterOf(one)).forwarded + (await clusterOf(two)).forwarded
  assert.ok(forwarded > 0)
})

/** Policy of the first server: a header names the caller. The second one knows no callers. */
const policy = (knows: boolean): AccessPolicy => ({
  callerOf({ headers }): Caller {
    const tenant = headers['x-who']
    const isKnown = knows && typeof tenant === 'string'
    return {
      kind: isKnown ? 'token' : 'anonymous',
      id: 'id',
      name: 'name',
      tenant: isKnown ? tenant : 'default',
      roles: isKnown ? ['operator'] : [],
      scopes: [],
    }
  },
  check: checkAccess,
})

test('C6, F4: tenant and roles of the caller survive forwarding; the same headers from outside mean nothing', async () => {
  const gates = gatesOf()
  await using pair = await startPair({
    store: newStore(),
    jobs: (place) => [gates[place].job],
    policy: (place) => policy(place === 'one'),
  })
  const { one, two } = pair
  const headers = { 'x-who': 'acme' }
  const found = await spread(pair, gates, headers)
  const mine = listed(await call(one, '/computations', { headers }))
  assert.ok(mine.some(({ handle }) => handle === found.two.handle))
  assert.ok(mine.every(({ tenant }) => tenant === 'acme'))
  // Another tenant sees nothing of it, and cannot cancel it.
  const others = { 'x-who': 'other' }
  assert.deepEqual(listed(await call(one, '/computations', { headers: others })), [])
  const cancel = await call(one, `/computations/${found.two.handle}`, {
    method: 'DELETE',
    headers: others,
  })
  assert.equal(cancel.status, 404)
  const caller: Caller = {
    kind: 'user',
    id: 'x',
    name: 'x',
    tenant: 'acme',
    roles: ['admin'],
    scopes: [],
  }
  const forged = {
    [forwardHeader]: `${Date.now()}.${'0'.repeat(64)}.${'0'.repeat(64)}`,
    [callerHeader]: Buffer.from(JSON.stringify(caller)).toString('base64url'),
  }
  const refused = await call(two, '/computations', { headers: forged })
  assert.equal(refused.status, 401)
  gates.two.finishAll()
  const path = `/results/${found.two.handle}/0?wait=60000`
  const result = await call(one, path, { headers })
  assert.deepEqual([result.status, result.body['result']], [200, found.two.n])
  assert.equal((await call(two, path)).status, 401)
})

test('C6: a campaign is shown and stopped through any server', async () => {
  await using pair = await startPair({ store: newStore(), jobs: () => [] })
  const { one, two } = pair
  const made = await reach(
    () => call(one, '/campaigns', { body: { name: 'c', job: 'play', units: 10 } }),
    ({ status }) => status !== 503,
  )
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const id = String(made.body['id'])
  const shown = await call(two, `/campaigns/${id}`)
  assert.deepEqual([shown.status, shown.body['id']], [200, id])
  const stopped = await call(two, `/campaigns/${id}/stop`, { body: { reason: 'enough' } })
  assert.equal(stopped.status, 200, JSON.stringify(stopped.body))
  const again = await call(one, `/campaigns/${id}`)
  assert.equal(
    again.body['state'] ?? again.body['phase'],
    stopped.body['state'] ?? stopped.body['phase'],
  )
})

test('F6: calls for another owner share one connection, in groups', async () => {
  const double = job({ name: 'double' }, (n: number) => n * 2)
  await using pair = await startPair({
    store: newStore(),
    jobs: () => [double],
    limits: { prepareCapacity: 512 },
  })
  const { one, two } = pair
  const asked = Array.from({ length: 200 }, (_, n) =>
    call(one, '/jobs/double?wait=60000', { body: n }),
  )
  for (const [n, { status, body }] of (await Promise.all(asked)).entries()) {
    assert.deepEqual([status, body['result']], [200, n * 2])
  }
  const { forwarded, forward_groups: groups } = await clusterOf(one)
  assert.ok(forwarded > 0 && groups > 0 && groups <= forwarded, `${forwarded} in ${groups}`)
  // The clients have spoken to the first server only.
  assert.equal(two.stats().connections.open, 1)
})

test('F6: a result that is too long for a frame is passed on, too', async () => {
  let length = 1
  const draw = job({ name: 'draw' }, (n: number) =>
    bytes(new Uint8Array(length).fill(n), 'image/png'),
  )
  await using pair = await startPair({ store: newStore(), jobs: () => [draw] })
  const { one } = pair
  const ask = (n: number): Promise<Response> =>
    fetch(`${one.url}/jobs/draw?wait=60000`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: String(n),
    })
  // One that the other server owns.
  let n = 0
  let location: string
  do {
    const answer = await ask(++n)
    location = answer.headers.get('content-location')!
    await bodyOf(answer)
  } while ((await clusterOf(one)).forwarded === 0)
  const handle = location.split('/')[2]
  assert.equal((await call(one, '/cache', { body: { action: 'delete', handle } })).status, 200)
  length = 65 * 2 ** 20
  const expected = Buffer.alloc(length, n)
  for (const answer of [await ask(n), await fetch(one.url + location)]) {
    assert.equal(answer.status, 200)
    assert.ok(expected.equals(await bodyOf(answer)))
  }
})

test('F7: with an owner that cannot be reached nothing hangs: 503 and Retry-After', async (t) => {
  const folder = await mkdtemp(join(os.tmpdir(), 'heddle-unreachable-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const clusterSecret = join(folder, 'secret')
  await writeFile(clusterSecret, `${'s'.repeat(32)}\n`)
  const store = newStore()
  const double = job({ name: 'double' }, (n: number) => n * 2)
  const start = (advertise: string | undefined): Promise<Server> =>
    startServer({
      jobs: [double],
      store,
      port: 0,
      threads: 1,
      clusterSecret,
      advertise,
      limits: { loopGap: Infinity },
    })
  await using one = await start(undefined)
  // Nothing listens there.
  await using two = await start('http://127.0.0.1:1')
  await reach(
    async () => [await clusterOf(one), await clusterOf(two)] as const,
    ([a, b]) => a.shards === 128 && b.shards === 128,
  )
  // Until one belongs to the server that cannot be reached.
  for (let n = 0; ; n++) {
    const headers = { 'x-deadline-ms': '400' }
    const asked = await call(one, '/jobs/double', { body: n, headers })
    if (asked.status !== 503) continue
    assert.equal(asked.body.error?.code, 'not_owner')
    assert.ok(asked.body.error.retryable && Number(asked.headers['retry-after']) >= 1)
    break
  }
})
