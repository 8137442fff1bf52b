/** Results that were promised and had to leave the store: computed again or 410, never 404. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { anonymous, serveJob, startServer, type Caller, type Server } from '../../src/index.ts'
import { compute, fetchResult, quiet, submit } from '../support/http.ts'

/** A result of 4 kB. */
const fill = job({ name: 'fill' }, (n: number) => String(n).padEnd(4_096, '.'))
const limits = { cacheBytes: 16_384, resultBytes: 32_768 }
const count = 40

async function submitAll(server: Server): Promise<string[]> {
  const handles: string[] = []
  for (let n = 0; n < count; n++) {
    const { status, body } = await submit(server, 'fill', n).reply
    assert.equal(status, 202)
    handles.push(String(body['handle']))
    await quiet(server)
  }
  return handles
}

async function statusesOf(server: Server, handles: readonly string[]): Promise<number[]> {
  const all = handles.map((handle) => fetchResult(server, handle).reply)
  return (await Promise.all(all)).map(({ status }) => status)
}

for (const where of ['memory', 'sqlite'] as const) {
  test(`S29 W5 results beyond the bounds leave (${where}): 410, never 404, and submitted again they are computed again`, async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'heddle-evicted-'))
    t.after(() => rm(folder, { recursive: true }))
    const store = where === 'memory' ? where : `sqlite:${path.join(folder, 'serve.db')}`
    const options = { jobs: [fill], port: 0, store, limits }
    const server = await startServer(options)
    let handles: string[]
    try {
      handles = await submitAll(server)
      const statuses = await statusesOf(server, handles)
      assert.deepEqual(new Set(statuses), new Set([200, 410]))
      const n = statuses.indexOf(410)
      const gone = await fetchResult(server, handles[n]).reply
      assert.deepEqual([gone.body.error!.code, gone.body.error!.retryable], ['gone', true])
      const again = await compute(server, 'fill', n).reply
      assert.deepEqual([again.status, again.body['handle']], [200, handles[n]])
      // A handle that was never promised is unknown.
      const never = `fill-${'0'.repeat(64)}`
      assert.deepEqual(await statusesOf(server, [never]), [404])
    } finally {
      await server.drain()
    }
    if (where === 'memory') return
    // Another process knows the promises from the store.
    await using later = await startServer(options)
    const statuses = await statusesOf(later, handles)
    assert.deepEqual(new Set(statuses), new Set([200, 410]))
  })
}

test('W5 a result that was stored when it was promised, and evicted then, is 410 too', async () => {
  await using server = await startServer({ jobs: [fill], port: 0, limits })
  const first = await compute(server, 'fill', -1).reply
  const promised = await submit(server, 'fill', -1).reply
  assert.deepEqual([promised.status, promised.body['state']], [202, 'done'])
  await submitAll(server)
  const handle = String(first.body['handle'])
  assert.deepEqual(await statusesOf(server, [handle]), [410])
})

test('another tenant does not learn that a result was promised', async () => {
  let tenant = 'acme'
  const caller = (): Caller => ({ ...anonymous, tenant })
  const policy = { callerOf: caller, check: () => undefined }
  const shared = serveJob({ name: 'shared', prepare: fill, shared: true })
  await using server = await startServer({ jobs: [fill, shared], port: 0, limits, policy })
  const own = String((await submit(server, 'fill', -1).reply).body['handle'])
  const ofAll = String((await submit(server, 'shared', -1).reply).body['handle'])
  await quiet(server)
  await submitAll(server)
  assert.deepEqual(await statusesOf(server, [own, ofAll]), [410, 410])
  tenant = 'other'
  assert.deepEqual(await statusesOf(server, [own, ofAll]), [404, 410])
})
