/** What callers are shown of failures on the side of the server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { anonymous, startServer, type Caller, type ServerLog } from '../../src/index.ts'
import { checkAccess } from '../../src/http/caller.ts'
import { compute } from '../support/http.ts'

const fails = job({ name: 'fails' }, () => {
  throw new Error("ENOENT: no such file, open '/srv/secrets/key.pem'")
})

test('a job that fails: the client sees the code and a reference, the log has the rest', async () => {
  const log: ServerLog[] = []
  await using server = await startServer({
    jobs: [fails],
    port: 0,
    onLog: (line) => log.push(line),
  })
  const headers = { 'x-request-id': 'ask-1' }
  const { status, body } = await compute(server, 'fails', 1, { headers }).reply
  assert.deepEqual(
    [status, body.error],
    [
      500,
      {
        code: 'job_failed',
        message: 'The job failed. Reference: ask-1.',
        retryable: false,
        reference: 'ask-1',
      },
    ],
  )
  assert.doesNotMatch(JSON.stringify(body), /secrets/)
  assert.ok(log.some(({ text }) => /ask-1 .*job_failed.*key\.pem/.test(text)))
})

test('operators see the message, and every caller where the server is configured so', async () => {
  const operator: Caller = { ...anonymous, kind: 'user' }
  const policy = { callerOf: () => operator, check: checkAccess }
  for (const options of [{ policy }, { errorDetails: 'everyone' as const }]) {
    await using server = await startServer({ jobs: [fails], port: 0, ...options })
    const { body } = await compute(server, 'fails', 1).reply
    assert.match(body.error!.message, /key\.pem/)
  }
})
