/** Requests that end before their result: by their id, by a newer one of their slot. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { cancel, compute, fetchResult, quiet, submit, waiting } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'

const id = (name: string): { headers: Record<string, string> } => ({
  headers: { 'x-request-id': name },
})

test('S56 S70 cancelled while it runs: 499 for the waiting client, the second cancel reports that, nothing is stored', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const { reply } = compute(server, 'work', 1, id('mine'))
  const { context, finish } = await gate.started()
  const first = await cancel(server, 'mine')
  assert.deepEqual([first.status, first.body], [200, { request: 'mine', state: 'cancelled' }])
  const second = await cancel(server, 'mine')
  assert.deepEqual([second.status, second.body['state']], [200, 'already_cancelled'])
  const { status, body } = await reply
  assert.deepEqual([status, body.error?.code], [499, 'cancelled'])
  assert.equal(body.error?.retryable, false)
  assert.equal(context.cancelled, true)
  finish('too late')
  await quiet(server)
  assert.equal(server.stats().cache.entries, 0)
  assert.equal(server.stats().registry.outcomes.cancelled, 1)
})

test('S70 cancelled while it is queued: it never starts', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { loop: 1 } })
  await submit(server, 'work', 'running').reply
  const waits = compute(server, 'work', 'queued', id('waits'))
  await waiting(server, 1)
  const acknowledged = await submit(server, 'work', 'acknowledged', id('held')).reply
  assert.equal((await cancel(server, 'waits')).body['state'], 'cancelled')
  assert.equal((await cancel(server, 'held')).body['state'], 'cancelled')
  assert.equal((await waits.reply).status, 499)
  gate.finishAll()
  await quiet(server)
  assert.equal(gate.starts.length, 1)
  const gone = await fetchResult(server, acknowledged.body['handle']).reply
  assert.deepEqual([gone.status, gone.body.error?.code], [404, 'not_found'])
})

test('S78 cancelling my request leaves another request for the same result waiting', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const mine = compute(server, 'work', 1, id('mine'))
  const other = compute(server, 'work', 1, id('other'))
  await waiting(server, 2)
  await cancel(server, 'mine')
  assert.equal((await mine.reply).status, 499)
  assert.equal(gate.starts[0]!.context.cancelled, false)
  gate.finishAll(() => 'result')
  assert.equal((await other.reply).body['result'], 'result')
  await quiet(server)
})

test('S79 cancelled after its end: already_done; one that never was: 404', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const waits = compute(server, 'work', 1, id('waits'))
  await gate.started()
  await submit(server, 'work', 1, id('held')).reply
  gate.finishAll()
  await waits.reply
  await quiet(server)
  assert.equal((await cancel(server, 'waits')).body['state'], 'already_done')
  assert.equal((await cancel(server, 'held')).body['state'], 'already_done')
  const never = await cancel(server, 'never')
  assert.deepEqual([never.status, never.body.error?.code], [404, 'unknown_request'])
})

test('an id in use is refused with 409, and is free again afterwards', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const first = compute(server, 'work', 1, id('mine'))
  await gate.started()
  const second = await compute(server, 'work', 2, id('mine')).reply
  assert.deepEqual([second.status, second.body.error?.code], [409, 'request_exists'])
  gate.finishAll()
  assert.equal((await first.reply).status, 200)
  const third = compute(server, 'work', 2, id('mine'))
  await gate.started(2)
  gate.finishAll()
  assert.equal((await third.reply).status, 200)
  await quiet(server)
})

test('S72 S76 the newest of a slot wins: the older is answered, its work stops and writes nothing', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const older = compute(server, 'work', 'older', { query: 'slot=left' })
  const { context, finish } = await gate.started()
  const newer = compute(server, 'work', 'newer', { query: 'slot=left' })
  const { status, body } = await older.reply
  assert.deepEqual([status, body.error?.code], [499, 'superseded'])
  assert.equal(context.cancelled, true)
  ;(await gate.started(2)).finish('new')
  finish('old')
  assert.equal((await newer.reply).body['result'], 'new')
  await quiet(server)
  assert.equal(server.stats().cache.entries, 1)
})

test('S71 S72 a hundred of one slot: the last one is served, all others are superseded', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 200, loop: 1 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  await submit(server, 'work', 'running').reply
  const all = []
  for (let number = 0; number < 100; number++) {
    all.push(compute(server, 'work', number, { query: 'slot=left' }))
    await until(() => server.stats().registry.submitted === number + 1)
  }
  gate.finishAll()
  ;(await gate.started(2)).finish('last')
  const answers = await Promise.all(all.map(({ reply }) => reply))
  assert.equal(answers.at(-1)!.body['result'], 'last')
  assert.ok(answers.slice(0, -1).every(({ body }) => body.error?.code === 'superseded'))
  await quiet(server)
  assert.equal(gate.starts.length, 2)
})

test('S74 the client of an older one leaves after the newer came: the newer is served', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const older = compute(server, 'work', 'same', { query: 'slot=left' })
  await gate.started()
  const newer = compute(server, 'work', 'same', { query: 'slot=left' })
  await until(() => server.stats().registry.submitted === 2)
  older.request.destroy()
  await call(server, '/healthz')
  assert.equal(gate.starts[0]!.context.cancelled, false)
  gate.finishAll(() => 'result')
  assert.equal((await newer.reply).body['result'], 'result')
  assert.equal(gate.starts.length, 1)
  await quiet(server)
})

test('W4 acknowledged in a slot: a newer one of the slot ends it', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  await submit(server, 'work', 'older', { query: 'slot=left' }).reply
  await submit(server, 'work', 'newer', { query: 'slot=left' }).reply
  assert.equal((await gate.started()).context.cancelled, true)
  assert.equal((await gate.started(2)).context.cancelled, false)
  gate.finishAll()
  await quiet(server)
  assert.equal((await submit(server, 'work', 'newer').reply).body['state'], 'done')
})

test('S80 a hundred requests end in every way: the sum of all ends is the number of submits', async () => {
  const gate = new Gate<number>('work')
  const limits = { prepareCapacity: 200, loop: 100 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const calls = Array.from({ length: 100 }, (_, number) => {
    const slot = number % 5 === 4 ? `slot=${(number - 4) / 10 >= 5 ? 'a' : 'b'}` : ''
    return compute(server, 'work', number, { ...id(`n${number}`), query: slot })
  })
  await gate.started(100)
  await until(() => server.stats().registry.submitted === 100)
  for (const [number, { request }] of calls.entries()) {
    if (number % 5 === 0) request.destroy()
    if (number % 5 === 1) await cancel(server, `n${number}`)
  }
  for (const { input, finish, fail } of gate.starts) {
    if (input % 5 === 3) fail(new Error('not today'))
    else finish('result')
  }
  await quiet(server)
  const { outcomes, submitted } = server.stats().registry
  assert.equal(submitted, 100)
  assert.deepEqual(outcomes, {
    success: 22,
    error: 20,
    timeout: 0,
    disconnected: 20,
    superseded: 18,
    cancelled: 20,
    rejected: 0,
  })
})

test('the id of a request says nothing about other ids: a stranger cannot cancel them', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0, limits: { loop: 2 } })
  const victim = (await submit(server, 'work', 'mine').reply).body['request'] as string
  const known = (await submit(server, 'work', 'other').reply).body['request'] as string
  assert.match(victim, /^[A-Za-z0-9_-]{22}$/)
  await gate.started(2)
  // An id that counts up can be guessed by counting down.
  const counted = known.replace(/\d+$/, (digits) => String(Number(digits) - 1))
  for (const guess of [counted, known.slice(0, -1), `${known}0`]) {
    if (guess === known) continue
    assert.equal((await cancel(server, guess)).status, 404)
  }
  assert.equal((await cancel(server, victim)).body['state'], 'cancelled')
  gate.finishAll()
  await quiet(server)
})
