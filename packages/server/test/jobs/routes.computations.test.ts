/** Queued and running computations with their reasons, and cancelling by handle. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { anonymous, startServer, type Server } from '../../src/index.ts'
import { checkAccess } from '../../src/http/caller.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, fetchResult, quiet, submit, waiting } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

type Listed = Readonly<Record<string, unknown>>

async function list(server: Server): Promise<Listed[]> {
  return (await call(server, '/computations')).body['computations'] as Listed[]
}

const cancelHandle = (server: Server, handle: unknown, headers: Record<string, string> = {}) =>
  call(server, `/computations/${String(handle)}`, { method: 'DELETE', headers })

test('lists running and queued computations with reasons and waiting callers; cancels one for all callers', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { loop: 1 } })
  const { body } = await submit(server, 'work', 1).reply
  const { handle } = body
  await gate.started()
  const waiter = compute(server, 'work', 2)
  await waiting(server, 1)
  await until(() => server.stats().prepare.queue.queued === 1)
  const [first, second] = await list(server)
  assert.deepEqual(
    [first!['state'], first!['held'], first!['handle'], first!['waits_for']],
    ['preparing', true, handle, undefined],
  )
  assert.deepEqual([second!['state'], second!['held'], second!['waiting']], ['queued', false, 1])
  assert.equal(second!['waits_for'], 'a permit of loop: 1 of 1 are in use')
  assert.deepEqual((await cancelHandle(server, handle)).body, { handle, state: 'cancelled' })
  assert.ok(gate.starts[0]!.context.signal.aborted)
  gate.starts[0]!.finish(1)
  ;(await gate.started(2)).finish('second')
  const { status, body: answered } = await waiter.reply
  assert.deepEqual([status, answered['result']], [200, 'second'])
  await quiet(server)
  assert.deepEqual(await list(server), [])
  assert.equal((await cancelHandle(server, answered['handle'])).body['state'], 'already_done')
  assert.equal((await cancelHandle(server, 'work-none')).status, 404)
})

test('callers that wait are answered 499, and callers of another tenant find nothing', async () => {
  const gate = new Gate('work')
  const policy = {
    callerOf: ({ headers }: { headers: Record<string, unknown> }) => ({
      ...anonymous,
      kind: 'token' as const,
      roles: ['operator' as const],
      tenant: String(headers['x-tenant']),
    }),
    check: checkAccess,
  }
  await using server = await startServer({ jobs: [gate.job], port: 0, policy })
  const headers = { 'x-tenant': 'a' }
  const waiter = compute(server, 'work', 1, { headers })
  const { body } = await submit(server, 'work', 1, { headers }).reply
  await gate.started()
  assert.equal((await cancelHandle(server, body['handle'], { 'x-tenant': 'b' })).status, 404)
  const others = await call(server, '/computations', { headers: { 'x-tenant': 'b' } })
  assert.deepEqual(others.body, { computations: [], total: 0 })
  assert.equal((await cancelHandle(server, body['handle'], headers)).status, 200)
  assert.equal((await waiter.reply).status, 499)
  gate.finishAll()
  await quiet(server)
})

test('after a restart: a computation without a seat is listed and cancelled by its handle, and never starts', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-'))
  try {
    const store = `sqlite:${path.join(folder, 'serve.db')}`
    const before = new Gate('work')
    const handles: unknown[] = []
    {
      await using server = await startServer({ jobs: [before.job], port: 0, store })
      for (const input of [1, 2, 3]) {
        handles.push((await submit(server, 'work', input).reply).body['handle'])
      }
      await before.started(3)
      assert.deepEqual(await server.drain({ deadline: 0 }), { isClean: false })
    }
    const after = new Gate('work')
    const limits = { prepareCapacity: 1 }
    let gone: unknown
    {
      await using server = await startServer({ jobs: [after.job], port: 0, store, limits })
      await after.started()
      const waitingNow = (await list(server)).filter(({ state }) => state === 'waiting')
      assert.equal(waitingNow.length, 2)
      gone = waitingNow[0]!['handle']
      assert.equal((await cancelHandle(server, gone)).body['state'], 'cancelled')
      assert.equal((await fetchResult(server, gone).reply).status, 499)
      assert.equal((await list(server)).length, 2)
      // Before it had a seat: what was answered stands over the next start.
      await server.drain({ deadline: 0 })
    }
    const last = new Gate('work')
    await using server = await startServer({ jobs: [last.job], port: 0, store })
    await last.started(2)
    assert.equal(
      (await list(server)).some(({ handle }) => handle === gone),
      false,
    )
    assert.equal((await cancelHandle(server, gone)).status, 404)
    last.finishAll()
    await quiet(server)
    while ((await list(server)).length > 0) await quiet(server)
    assert.deepEqual([after.starts.length, last.starts.length], [1, 2])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
