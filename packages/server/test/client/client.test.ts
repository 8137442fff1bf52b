/** The typed client against a real server, and its types. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { CallError, connect } from '../../src/client/index.ts'
import { startServer } from '../../src/index.ts'

const square = job({ name: 'square' }, (n: number) => n * n)

test('submit, fetch, cancel: the types are those of the contracts', async () => {
  await using server = await startServer({ jobs: [square], port: 0 })
  const client = connect({ url: server.url })
  const submitted = await client.call('POST /jobs/:name', {
    params: { name: 'square' },
    query: { wait: 60_000, priority: 0 },
    body: 7,
  })
  assert.equal(submitted.status, 200)
  assert.ok('result' in submitted.body)
  assert.equal(submitted.body.result, 49)
  const { handle } = submitted.body
  const fetched = await client.call('GET /results/:handle/:index', {
    params: { handle, index: 0 },
  })
  assert.ok('result' in fetched.body)
  assert.equal(fetched.body.result, 49)
  const { body } = await client.call('GET /jobs')
  assert.deepEqual(
    body.jobs.map(({ name }) => name),
    ['square'],
  )
  assert.match((await client.call('GET /metrics')).body, /heddle_requests_total/)
})

test('an error has the code, the status and whether trying again helps', async () => {
  await using server = await startServer({ jobs: [square], port: 0 })
  const client = connect({ url: server.url })
  await assert.rejects(
    client.call('POST /jobs/:name', { params: { name: 'sqare' }, body: 1 }),
    (error: unknown) => {
      assert.ok(error instanceof CallError)
      assert.deepEqual([error.status, error.code, error.retryable], [404, 'unknown_job', false])
      assert.match(error.message, /Did you mean "square"/)
      return true
    },
  )
})

test('parts of an address are escaped, words that are undefined are left out', async () => {
  const asked: string[] = []
  const client = connect({
    url: 'http://server',
    token: 'T',
    headers: () => ({ 'x-csrf-token': 'C' }),
    fetch: (address, init) => {
      const { method = '', headers } = init ?? {}
      asked.push(`${method} ${address as string} ${JSON.stringify(headers)}`)
      return Promise.resolve(
        new Response('{}', { headers: { 'content-type': 'application/json' } }),
      )
    },
  })
  await client.call('DELETE /requests/:id', { params: { id: 'a/b?c' } })
  await client.call('GET /results/:handle/:index', {
    params: { handle: 'h', index: -1 },
    query: {},
  })
  assert.deepEqual(asked, [
    'DELETE http://server/requests/a%2Fb%3Fc {"content-type":"application/json","authorization":"Bearer T","x-csrf-token":"C"}',
    'GET http://server/results/h/-1 {"authorization":"Bearer T","x-csrf-token":"C"}',
  ])
})
