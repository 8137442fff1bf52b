import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, quiet, waiting } from '../support/http.ts'

test('alive and ready; the figures are those of now', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  assert.deepEqual((await call(server, '/readyz')).body, {
    ready: true,
    draining: false,
    causes: [],
  })
  const idle = await call(server, '/healthz')
  assert.deepEqual([idle.status, idle.body['status'], idle.body['state']], [200, 'ok', 'accepting'])
  assert.deepEqual([idle.body['works'], idle.body['requests']], [0, 0])
  const { reply } = compute(server, 'work', 1)
  await waiting(server, 1)
  const busy = (await call(server, '/healthz')).body
  assert.deepEqual([busy['works'], busy['requests']], [1, 1])
  gate.finishAll()
  await reply
  await quiet(server)
  const later = (await call(server, '/healthz')).body
  assert.equal((later['outcomes'] as { success: number }).success, 1)
  assert.equal((later['cache'] as { entries: number }).entries, 1)
})

test('full: alive, and not ready with the reason', async () => {
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const { reply } = compute(server, 'work', 1)
  await gate.started()
  const ready = await call(server, '/readyz')
  assert.equal(ready.status, 503)
  assert.deepEqual(ready.body, { ready: false, draining: false, causes: ['the queues are full'] })
  const health = await call(server, '/healthz')
  assert.deepEqual([health.status, health.body['status']], [200, 'degraded'])
  gate.finishAll()
  await reply
  await quiet(server)
  assert.equal((await call(server, '/readyz')).status, 200)
})
