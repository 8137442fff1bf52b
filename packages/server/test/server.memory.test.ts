import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer, type Server } from '../src/server.ts'
import { call } from './support/client.ts'

const fail = (n: number): never => {
  throw new RangeError(`${n} is odd`)
}
const even = job({ name: 'even' }, (n: number) => (n % 2 === 0 ? n : fail(n)))

interface Question {
  readonly where: string
  readonly allowed: readonly number[]
}

const computed = (n: number): readonly number[] => [n % 2 === 0 ? 200 : 500]

const questions: readonly ((n: number) => Question)[] = [
  (n) => ({ where: `/jobs/even?wait=60000&slot=s${n}`, allowed: computed(n) }),
  (n) => ({ where: '/jobs/even?wait=60000', allowed: computed(n) }),
  // Acknowledged, or failed before that.
  (n) => ({ where: '/jobs/even', allowed: n % 2 === 0 ? [202] : [202, 500] }),
  () => ({ where: `/results/even-${'0'.repeat(64)}/0`, allowed: [404] }),
  (n) => ({ where: '/jobs/even?wait=60000&priority=0', allowed: computed(n) }),
]

/** How many fields a health check has: its numbers may become longer, and nothing else. */
async function fieldsOfHealth(server: Server): Promise<number> {
  const { status, body } = await call(server, '/healthz')
  assert.equal(status, 200)
  return JSON.stringify(body).match(/":/g)!.length
}

test('S101 S102 ten thousand requests leave nothing: no work, no waiter, no slot, no field of health; the cache is bounded', async () => {
  const limits = { cacheBytes: 256 * 1024 }
  await using server = await startServer({ jobs: [even], port: 0, threads: 1, limits })
  let fields = 0
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const ask = async (n: number): Promise<void> => {
    const { where, allowed } = questions[n % questions.length]!(n)
    const { status } = await call(server, where, where[1] === 'r' ? { agent } : { body: n, agent })
    assert.ok(allowed.includes(status), `${where} with ${n}: ${status}`)
  }
  for (let n = 0; n < 10_000; n += 16) {
    await Promise.all(Array.from({ length: 16 }, (_, i) => ask(n + i)))
    // Every kind of request has been there.
    if (n === 160) fields = await fieldsOfHealth(server)
  }
  const { works, requests, slots, registry, prepare, items, cache } = server.stats()
  assert.deepEqual({ works, requests, slots }, { works: 0, requests: 0, slots: 0 })
  assert.deepEqual([registry.active, registry.keys], [0, 0])
  for (const { queue } of [prepare, items]) {
    assert.deepEqual([queue.queued, queue.running, queue.reserved], [0, 0, 0])
  }
  assert.ok(cache.bytes <= limits.cacheBytes, `${cache.bytes} bytes`)
  assert.ok(registry.remembered <= 10_000, `${registry.remembered} remembered`)
  assert.equal(await fieldsOfHealth(server), fields)
  agent.destroy()
})
