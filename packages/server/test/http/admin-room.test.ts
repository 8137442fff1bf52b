import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../src/index.ts'
import { begin, call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, fetchResult, quiet } from '../support/http.ts'

test('the cache: info, delete, flush', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const handles: unknown[] = []
  for (const input of [1, 2]) {
    const { reply } = compute(server, 'work', input)
    ;(await gate.started(input)).finish(input)
    handles.push((await reply).body['handle'])
  }
  await quiet(server)
  const info = await call(server, '/cache', { body: { action: 'info' } })
  assert.equal(info.body['success'], true)
  assert.equal((info.body['cache'] as { entries: number }).entries, 2)
  await call(server, '/cache', { body: { action: 'delete', handle: handles[0] } })
  assert.equal((await fetchResult(server, handles[0]).reply).status, 404)
  assert.equal((await fetchResult(server, handles[1]).reply).status, 200)
  await call(server, '/cache', { body: { action: 'flush' } })
  assert.equal((await fetchResult(server, handles[1]).reply).status, 404)
})

test('wrong bodies get 400 with the expected form', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const wrong: [path: string, text: string, said: RegExp][] = [
    ['/cache', '', /^action: it is missing; expected "info", "flush" or "delete"/],
    [
      '/cache',
      '{"action":"info","handel":"x"}',
      /^The body: it has no "handel"\. Did you mean "handle"/,
    ],
    ['/cache', '{}', /^action: it is missing; expected/],
    ['/cache', '{"action":"save"}', /^action: expected/],
    ['/cache', '{"__proto__":{"action":"flush"}}', /^action: it is missing; expected/],
    ['/cache', '{"action":"delete"}', /^handle: expected the handle whose results to delete/],
    ['/cache', '{"action":"delete","handle":7}', /^handle: expected/],
    ['/cache', '{"action":"delete","handle":""}', /^handle: expected/],
    ['/cache', String.raw`{"action":"delete","handle":"\ud800"}`, /^handle: expected/],
    ['/runs', String.raw`{"graph":"g","key":"\ud800"}`, /^key: expected a text of 1 to 256/],
    ['/runs', String.raw`{"graph":"g","key":"\u0000"}`, /^key: expected a text of 1 to 256/],
    [
      '/runs',
      String.raw`{"graph":"g","debounce":{"key":"\udc00","delay_ms":1}}`,
      /^debounce.key: expected a text/,
    ],
    ['/runs', String.raw`{"graph":"g","title":"a\ud800"}`, /^title: expected a text of 0 to 256/],
    ['/cache', '[', /^The body: expected a JSON object/],
    ['/cache', 'null', /^The body: expected a JSON object/],
    ['/cache', '7', /^The body: expected a JSON object/],
    ['/drain', '{"deadline_ms":-1}', /^deadline_ms: expected a number of milliseconds/],
    ['/drain', '{"deadline_ms":"1"}', /^deadline_ms: expected/],
    ['/drain', '{"deadline":500}', /^The body: it has no "deadline"\. Known: deadline_ms/],
    ['/drain', '[]x', /^The body: expected a JSON object/],
  ]
  for (const [path, text, said] of wrong) {
    const { status, body } = await begin(server, path, { method: 'POST', text }).reply
    assert.equal(status, 400, text)
    assert.match(body.error!.message, said)
  }
  assert.equal(server.state, 'accepting')
})

test('drain: 202, then the server ends by itself', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const { reply } = compute(server, 'work', 1)
  await gate.started()
  const { status, body } = await call(server, '/drain', { body: { deadline_ms: 60_000 } })
  assert.deepEqual([status, body], [202, { state: 'draining' }])
  assert.equal((await call(server, '/readyz')).status, 503)
  gate.finishAll()
  assert.equal((await reply).status, 200)
  assert.deepEqual(await server.stopped, { isClean: true })
})
