import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer } from '../../../src/index.ts'
import { call } from '../../support/client.ts'
import { Gate } from '../../support/gates.ts'
import { compute, quiet } from '../../support/http.ts'

const echo = job({ name: 'echo' }, (input: unknown) => input)

test('requests by route and status, times in fixed buckets, clients that left', async () => {
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [echo, gate.job], port: 0 })
  await compute(server, 'echo', 1).reply
  await call(server, '/jobs/none', { body: 1 })
  await call(server, '/nothing')
  const leaver = compute(server, 'work', 1)
  await gate.started()
  leaver.request.destroy()
  await quiet(server)
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const route = 'route="POST /jobs/:name"'
  for (const line of [
    `heddle_http_requests_total{${route},status="200"} 1`,
    `heddle_http_requests_total{${route},status="404"} 1`,
    `heddle_http_requests_total{${route},status="499"} 1`,
    'heddle_http_requests_total{route="none",status="404"} 1',
    `heddle_http_broken_pipes_total{${route}} 1`,
    `heddle_http_request_seconds_count{${route}} 3`,
    `heddle_http_request_seconds_bucket{${route},le="+Inf"} 3`,
    '# TYPE heddle_http_request_seconds histogram',
  ]) {
    assert.ok(text.includes(`${line}\n`), line)
  }
  assert.doesNotMatch(text, /\/nothing/)
})
