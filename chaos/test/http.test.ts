import assert from 'node:assert/strict'
import path from 'node:path'
import test from 'node:test'
import { largeResults } from '../http/large-results.ts'
import { malformedRequests } from '../http/malformed.ts'
import { playLives } from '../http/lives.ts'
import { shaped } from '../http/shaped.ts'

test('malformed requests to a separate server cause no wrong answer and leave nothing', async () => {
  const checkout = path.resolve(import.meta.dirname, '../..')
  const report = await malformedRequests({ checkout, requests: 300, seed: 5, streams: 5 })
  assert.deepEqual(report.problems, [])
  assert.equal(report.sent, 300)
  assert.ok(report.reached >= report.sent / 2, `${report.reached} reached a route`)
  assert.ok(report.ordinary.sent > 0)
  assert.equal(report.ordinary.answered, report.ordinary.sent)
  assert.deepEqual(report.left, { connections: 0, bodies: 0, works: 0 })
  assert.ok(report.statuses['400']! > 0)
})

test('S52 large results for many clients, beside long inputs, a dashboard and health checks: every client gets all of it', async () => {
  const checkout = path.resolve(import.meta.dirname, '../..')
  const report = await largeResults({ checkout, waiters: 20, bytes: 2_000_000, after: 500 })
  for (const { whole, beside } of Object.values(report.jobs)) {
    assert.equal(whole, 20)
    assert.deepEqual(Object.keys(beside), ['200'])
  }
})

for (const end of ['drain', 'kill'] as const) {
  test(`a server under load, ended by a ${end}: nothing acknowledged is lost, no request is reset`, async () => {
    const checkout = path.resolve(import.meta.dirname, '../..')
    const report = await playLives({ checkout, lives: 1, end, clients: 6, seed: 11 })
    assert.deepEqual([report.lost, report.resets, report.badEnds], [[], 0, []])
    assert.ok(report.acknowledged > 0)
  })
}

test('requests made from the route table and a seed are the same every time, for every route', () => {
  const seen = new Set<string>()
  for (let number = 0; number < 3_000; number++) {
    const request = shaped(3, number)
    assert.deepEqual(shaped(3, number), request)
    const [, method, first] = /^(\w+) \/([\w.-]*)/.exec(request.bytes)!
    seen.add(`${method} /${first}`)
  }
  for (const start of [
    'POST /jobs',
    'GET /results',
    'POST /runs',
    'POST /schedules',
    'POST /fleet',
  ])
    assert.ok(seen.has(start), start)
  assert.ok(!seen.has('POST /drain'))
})
