import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { connect, CallError, type FailureDetail } from '../../src/client/index.ts'
import { anonymous, checkAccess, type Caller } from '../../src/http/caller.ts'
import { Failures } from '../../src/http/failures.ts'
import { startServer, type Server } from '../../src/server.ts'
import { askAs, readAs, withTenants } from '../support/tenants.ts'

const broken = job(
  { name: 'broken', retries: 1, retryBaseDelay: 1 },
  (input: number, { attempt, log }) => {
    log(`divides ${input} by zero`)
    throw new RangeError(`no luck in attempt ${attempt + 1}`, { cause: new Error('of zero') })
  },
)

async function failedCall(server: Server, input: number): Promise<CallError> {
  const client = connect({ url: server.url })
  const failed = client.call('POST /jobs/:name', {
    params: { name: 'broken' },
    query: { wait: 60_000 },
    body: input,
  })
  const error: unknown = await failed.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof CallError)
  return error
}

test('an operator finds the error, the attempts and the log behind the reference that a client got', async () => {
  await using server = await startServer({ jobs: { broken }, port: 0 })
  const { message, reference } = await failedCall(server, 7)
  assert.equal(message, `The job failed. Reference: ${reference}.`)
  const client = connect({ url: server.url })
  const { body } = await client.call('GET /failures/:reference', {
    params: { reference: reference! },
  })
  const { error, attempts, log, job: name, handle, route, code } = body
  assert.deepEqual(
    [name, route, code, error.name, error.message, error.cause?.message],
    ['broken', 'POST /jobs/:name', 'job_failed', 'RangeError', 'no luck in attempt 2', 'of zero'],
  )
  assert.match(error.stack!, /failures\.test/)
  assert.match(handle!, /^broken-/)
  assert.deepEqual(
    attempts.map((each) => [each.stage, each.outcome, each.error?.message]),
    [
      ['prepare', 'failed', 'no luck in attempt 1'],
      ['prepare', 'failed', 'no luck in attempt 2'],
    ],
  )
  assert.deepEqual(
    log.map(({ text }) => text),
    ['divides 7 by zero', 'divides 7 by zero'],
  )
})

test('F1: a reference of another tenant is unknown; an admin finds it', async () => {
  await withTenants({ jobs: { broken } }, async (server) => {
    const { text } = await askAs(server, 'a', '/jobs/broken?wait=60000', { body: 7 })
    const { reference } = (JSON.parse(text) as { error: { reference: string } }).error
    const own = await readAs<FailureDetail>(server, 'a', `/failures/${reference}`)
    assert.equal(own.error.message, 'no luck in attempt 2')
    const other = await askAs(server, 'b', `/failures/${reference}`)
    const unknown = await askAs(server, 'b', '/failures/unknown')
    assert.equal(other.status, 404)
    assert.equal(other.text.replace(reference, 'unknown'), unknown.text)
    const admin = await askAs(server, 'b', `/failures/${reference}`, {
      headers: { 'x-admin': '1' },
    })
    assert.equal(admin.status, 200)
  })
})

test('F2: if two failures have one reference the last is found, and the oldest failures above the limit are forgotten', () => {
  const failures = new Failures()
  const add = (reference: string, text: string): void =>
    failures.add({
      reference,
      at: 0,
      tenant: 'default',
      route: 'GET /runs',
      code: 'internal_error',
      error: new Error(text),
    })
  const messageOf = (reference: string): string => failures.find(reference, anonymous).error.message
  add('one', 'first')
  add('one', 'second')
  assert.equal(messageOf('one'), 'second')
  for (let i = 0; i < 1_000; i++) add(`number ${i}`, 'more')
  assert.throws(() => messageOf('one'), { code: 'HDL_UNKNOWN_REQUEST' })
  assert.equal(messageOf('number 0'), 'more')
  const guest: Caller = { ...anonymous, tenant: 'b', roles: ['operator'] }
  assert.throws(() => failures.find('number 0', guest), { code: 'HDL_UNKNOWN_REQUEST' })
})

test('a viewer, and a client that may only submit, get the reference but not the details', async () => {
  const viewer: Caller = { ...anonymous, kind: 'token', roles: ['viewer'], scopes: ['submit'] }
  const policy = {
    callerOf: () => viewer,
    check: checkAccess,
  }
  await using server = await startServer({ jobs: { broken }, port: 0, policy })
  const { message, reference } = await failedCall(server, 1)
  assert.equal(message, `The job failed. Reference: ${reference}.`)
  const answer = await fetch(`${server.url}/failures/${reference}`)
  assert.equal(answer.status, 403)
  assert.doesNotMatch(await answer.text(), /luck/)
})
