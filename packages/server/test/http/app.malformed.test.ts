/** Whatever is sent: no 5xx but an honest 503, no crash, and nothing left behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../src/index.ts'
import { compute, quiet } from '../support/http.ts'
import { malformed, problemOf, sendMalformed } from '../support/malformed.ts'
import { until } from '../../../core/test/kernel/until.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

test('six hundred malformed requests: 4xx, or 503 with Retry-After; then the server serves as before', async (t) => {
  const seed = 10
  t.diagnostic(`seed ${seed}`)
  await using server = await startServer({ jobs: [echo], port: 0 })
  const seen = new Map<number, number>()
  let next = 0
  const play = async (): Promise<void> => {
    while (next < 600) {
      const number = next++
      const request = malformed(seed, number)
      const answered = await sendMalformed(server, request)
      const problem = problemOf(answered)
      const said = `seed ${seed}, number ${number}: ${JSON.stringify(request.bytes.slice(0, 500))}`
      assert.equal(problem, undefined, `${problem}: ${said}\n${answered.text.slice(0, 500)}`)
      for (const status of answered.statuses) seen.set(status, (seen.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 10 }, play))
  t.diagnostic(JSON.stringify(Object.fromEntries(seen)))
  for (const status of [200, 400, 404, 415]) assert.ok(seen.has(status), `${status} was seen`)
  assert.deepEqual((await compute(server, 'echo', 'as before').reply).body['result'], 'as before')
  await quiet(server)
  await until(() => server.stats().connections.open === 0)
  assert.equal(server.stats().arrivals.arriving, 0)
})

test('requests made from a seed are the same every time', () => {
  for (let number = 0; number < 100; number++) {
    assert.deepEqual(malformed(3, number), malformed(3, number))
  }
})
