import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer, type ServerLog } from '../../../src/index.ts'
import { StoreWatch } from '../../../src/http/lifecycle/store-watch.ts'
import { breakStore } from '../../support/break-store.ts'
import { call } from '../../support/client.ts'
import { compute, submit } from '../../support/http.ts'

test('a failure is reported once, and is final', () => {
  let failed = false
  let told = 0
  const stats = () => ({ state: 'running' as const, pending: 0, rows: 0, commits: 0, failed })
  const watch = new StoreWatch({ stats }, undefined, () => told++)
  assert.deepEqual([watch.look(), told], [false, 0])
  failed = true
  assert.deepEqual([watch.look(), watch.look(), told], [true, true, 1])
})

test('W5 a store that cannot be written: not ready with the cause, a warning once, and no clean end', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-server-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
  const file = path.join(folder, 'serve.db')
  const logs: ServerLog[] = []
  const square = job({ name: 'square' }, (n: number) => n * n)
  await using server = await startServer({
    jobs: [square],
    port: 0,
    store: `sqlite:${file}`,
    // The machine may hold up the loop: that would be another cause.
    limits: { loopGap: Infinity },
    onLog: (line) => logs.push(line),
  })
  const metric = async (): Promise<string | undefined> =>
    /^heddle_store_failed (\d)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]
  assert.equal((await submit(server, 'square', 1).reply).status, 202)
  assert.equal((await call(server, '/readyz')).status, 200)
  assert.equal(await metric(), '0')

  breakStore(file)
  for (const input of [2, 3]) {
    const { status, body } = await submit(server, 'square', input).reply
    assert.deepEqual([status, body.error?.code], [503, 'store_failed'])
  }
  const warnings = logs.filter(({ text }) => text.startsWith('The store cannot be written'))
  assert.equal(warnings.length, 1)
  assert.equal(warnings[0]!.level, 'warning')
  const ready = await call(server, '/readyz')
  assert.deepEqual([ready.status, ready.body['causes']], [503, ['the store cannot be written']])
  const health = await call(server, '/healthz')
  assert.deepEqual([health.status, health.body['status']], [200, 'degraded'])
  assert.deepEqual(health.body['causes'], ['the store cannot be written'])
  assert.equal(await metric(), '1')
  // A request that needs no journal is still answered.
  assert.equal((await compute(server, 'square', 4).reply).body['result'], 16)
  assert.deepEqual(await server.drain(), { isClean: false, isStoreFailed: true })
})
