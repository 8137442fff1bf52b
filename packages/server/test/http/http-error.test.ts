import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCodes } from 'fastify'
import { HeddleError, type ErrorCode } from '@heddle/core'
import { heldError } from '../../../core/src/journal/run-errors.ts'
import { errorTable } from '../../../core/src/errors.ts'
import { toConnectionError, toHttpError } from '../../src/http/http-error.ts'
import { jobFailure } from '../../src/jobs/job-errors.ts'

/** An error of any code; its message does not matter. */
function ofCode(code: ErrorCode): HeddleError {
  const error = new HeddleError('HDL_CLOSED', { what: 'It' })
  return Object.defineProperties(error, {
    code: { value: code },
    details: { value: {} },
    retryable: { value: errorTable[code].retryable },
  })
}

const expected: Partial<Record<ErrorCode, readonly [number, string]>> = {
  HDL_BAD_INPUT: [400, 'bad_request'],
  HDL_WRONG_INPUT: [400, 'bad_request'],
  HDL_WORKER_TAKEN: [403, 'worker_taken'],
  HDL_NO_SUCH_INDEX: [400, 'bad_request'],
  HDL_BODY_TOO_LARGE: [413, 'too_large'],
  HDL_NOT_JSON: [415, 'unsupported_media_type'],
  HDL_BODY_ENCODED: [415, 'unsupported_media_type'],
  HDL_UNAUTHENTICATED: [401, 'unauthenticated'],
  HDL_FORBIDDEN: [403, 'forbidden'],
  HDL_NO_ROUTE: [404, 'not_found'],
  HDL_BAD_LOGIN: [401, 'bad_login'],
  HDL_ACCOUNT_BLOCKED: [401, 'account_blocked'],
  HDL_CSRF: [403, 'csrf'],
  HDL_BAD_LINK: [410, 'bad_link'],
  HDL_NAME_TAKEN: [409, 'name_taken'],
  HDL_UNKNOWN_USER: [404, 'unknown_user'],
  HDL_UNKNOWN_TOKEN: [404, 'unknown_token'],
  HDL_LAST_ADMIN: [409, 'last_admin'],
  HDL_TOO_MANY_REQUESTS: [429, 'too_many_requests'],
  HDL_UNKNOWN_RUN: [404, 'unknown_run'],
  HDL_UNKNOWN_NODE: [404, 'unknown_node'],
  HDL_UNKNOWN_GRAPH: [404, 'unknown_graph'],
  HDL_NO_RESULT: [404, 'no_result'],
  HDL_UNKNOWN_SCHEDULE: [404, 'unknown_schedule'],
  HDL_UNKNOWN_START: [404, 'unknown_start'],
  HDL_SCHEDULE_EXPORTED: [409, 'schedule_exported'],
  HDL_NOT_STEERABLE: [409, 'not_steerable'],
  HDL_RUN_ENDED: [409, 'run_ended'],
  HDL_NOT_REPRODUCIBLE: [409, 'not_reproducible'],
  HDL_GRAPH_CHANGED: [409, 'graph_changed'],
  HDL_LOCKED: [409, 'locked'],
  HDL_METHOD_NOT_ALLOWED: [405, 'method_not_allowed'],
  HDL_FORBIDDEN_HOST: [403, 'forbidden_host'],
  HDL_FORBIDDEN_ORIGIN: [403, 'forbidden_origin'],
  HDL_UNKNOWN_JOB: [404, 'unknown_job'],
  HDL_UNKNOWN_RESULT: [404, 'not_found'],
  HDL_UNKNOWN_REQUEST: [404, 'unknown_request'],
  HDL_REQUEST_EXISTS: [409, 'request_exists'],
  HDL_GONE: [410, 'gone'],
  HDL_LEASE_ENDED: [410, 'lease_lost'],
  HDL_UNKNOWN_CAMPAIGN: [404, 'unknown_campaign'],
  HDL_PROTOCOL_VERSION: [426, 'version'],
  HDL_CANCELLED: [499, 'cancelled'],
  HDL_SUPERSEDED: [499, 'superseded'],
  HDL_OVERLOADED: [503, 'overloaded'],
  HDL_TOO_MANY_WAITERS: [503, 'overloaded'],
  HDL_DRAINING: [503, 'shutting_down'],
  HDL_NOT_OWNER: [503, 'not_owner'],
  HDL_OWNERSHIP_LOST: [503, 'not_owner'],
  HDL_STORE_FAILED: [503, 'store_failed'],
  HDL_JOURNAL_GONE: [503, 'store_failed'],
  HDL_TIMEOUT: [504, 'timeout'],
  HDL_NO_ARTIFACTS: [501, 'no_artifacts'],
  HDL_UNKNOWN_ARTIFACT: [404, 'not_found'],
  HDL_ARTIFACT_QUOTA: [413, 'quota'],
  HDL_ARTIFACT_TAKEN: [409, 'artifact_taken'],
  HDL_ARTIFACT_BUSY: [409, 'artifact_busy'],
  HDL_ARTIFACT_MISMATCH: [422, 'artifact_mismatch'],
}

test('every code of the table has an error status; a code that is not about requests is 500', () => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const { status, body } = toHttpError(ofCode(code))
    const [wantedStatus, wantedCode] = expected[code] ?? [500, 'job_failed']
    assert.deepEqual([status, body.error.code], [wantedStatus, wantedCode], code)
    assert.ok(status >= 400 && status < 600)
    assert.equal(body.error.retryable, errorTable[code].retryable)
    assert.equal(body.error.retry_after_ms !== undefined, status === 503 || status === 429, code)
  }
})

test('clients are told neither where the store is nor which process holds a run', () => {
  const address = 'sqlite:/srv/secret/serve.db'
  const messageOf = (error: HeddleError): string => toHttpError(error).body.error.message
  assert.equal(
    messageOf(new HeddleError('HDL_UNKNOWN_RUN', { run: 'xyz', address, suggestion: 'xyy' })),
    'There is no run "xyz" in the store of this server. Did you mean "xyy"?',
  )
  assert.equal(
    messageOf(heldError('xyz', { pid: 7, host: 'db-3', command: 'node /srv/secret/run.ts' })),
    'Run xyz is held by another process.',
  )
})

test('a timeout names its stage; that of the queue is 503, because it can be tried again elsewhere', () => {
  const of = (stage?: string): HeddleError =>
    new HeddleError('HDL_TIMEOUT', { what: 'It', limit: 5, ...(stage !== undefined && { stage }) })
  assert.deepEqual(
    ['queue', 'prepare', 'item', 'request', undefined].map((stage) => {
      const { status, body } = toHttpError(of(stage))
      return [status, body.error.code, body.error.stage]
    }),
    [
      [503, 'timeout', 'queue'],
      [504, 'timeout', 'prepare'],
      [504, 'timeout', 'item'],
      [504, 'timeout', 'request'],
      [504, 'timeout', undefined],
    ],
  )
})

test('when to come back: as measured, rounded up; one second where nothing was', () => {
  const overloaded = new HeddleError('HDL_OVERLOADED', { what: 'It', retryAfter: 1_234.5 })
  assert.equal(toHttpError(overloaded).body.error.retry_after_ms, 1_235)
  const draining = new HeddleError('HDL_DRAINING', { what: 'It' })
  assert.equal(toHttpError(draining).body.error.retry_after_ms, 1_000)
})

test('whatever a job throws is 500 job_failed, whatever code and status it gives itself', () => {
  const thrown: unknown[] = [
    new Error('no'),
    new TypeError('no'),
    'no',
    undefined,
    null,
    7,
    {},
    Object.create(null),
    ...['constructor', '__proto__', 'toString', 'ENOENT', 200, ''].map((code) =>
      Object.assign(new Error('no'), { code }),
    ),
    ...['HPE_HEADER_OVERFLOW', 'FST_ERR_BAD_URL', 'ERR_HTTP_HEADERS_SENT'].map((code) =>
      Object.assign(new Error('no'), { code, statusCode: 404 }),
    ),
    Object.assign(new Error('no'), { statusCode: 200, status: 200 }),
  ]
  for (const error of thrown) {
    const { status, body } = toHttpError(jobFailure(error))
    assert.deepEqual([status, body.error.code, body.error.retryable], [500, 'job_failed', false])
    assert.equal(typeof body.error.message, 'string')
  }
})

test('framework errors: too large, another type, no length, no address, QUERY without a type', () => {
  const of = (code: keyof typeof errorCodes): readonly [number, string] => {
    const { status, body } = toHttpError(new errorCodes[code]())
    return [status, body.error.code]
  }
  assert.deepEqual(of('FST_ERR_CTP_BODY_TOO_LARGE'), [413, 'too_large'])
  assert.deepEqual(of('FST_ERR_CTP_INVALID_MEDIA_TYPE'), [415, 'unsupported_media_type'])
  assert.deepEqual(of('FST_ERR_CTP_INVALID_CONTENT_LENGTH'), [400, 'bad_request'])
  assert.deepEqual(of('FST_ERR_BAD_URL'), [400, 'bad_request'])
  assert.deepEqual(of('FST_ERR_MAX_PARAM_LENGTH'), [414, 'too_large'])
  assert.deepEqual(of('FST_ERR_ROUTE_MISSING_CONTENT_TYPE'), [400, 'bad_request'])
})

test('every code of Fastify: its own 4xx, else 500 internal_error; never job_failed', () => {
  const codes = Object.keys(errorCodes) as (keyof typeof errorCodes)[]
  assert.ok(codes.length > 80, `${codes.length} codes`)
  for (const code of codes) {
    const error = new errorCodes[code]()
    const { status, body } = toHttpError(error)
    const isOfClient = error.statusCode! >= 400 && error.statusCode! < 500
    assert.equal(status, isOfClient ? error.statusCode : 500, code)
    assert.equal(body.error.code === 'internal_error', !isOfClient, code)
    assert.notEqual(body.error.code, 'job_failed', code)
    assert.equal(body.error.retryable, false)
  }
})

/** Error codes of llhttp, and of `node:http` where it answers itself or is misused. */
const nodeCodes = {
  HPE_: `
    INTERNAL STRICT CR_EXPECTED LF_EXPECTED UNEXPECTED_CONTENT_LENGTH UNEXPECTED_SPACE
    CLOSED_CONNECTION INVALID_METHOD INVALID_URL INVALID_CONSTANT INVALID_VERSION
    INVALID_HEADER_TOKEN INVALID_CONTENT_LENGTH INVALID_CHUNK_SIZE INVALID_STATUS INVALID_EOF_STATE
    INVALID_TRANSFER_ENCODING CB_MESSAGE_BEGIN CB_HEADERS_COMPLETE CB_MESSAGE_COMPLETE
    CB_CHUNK_HEADER CB_CHUNK_COMPLETE PAUSED PAUSED_UPGRADE PAUSED_H2_UPGRADE USER HEADER_OVERFLOW
    CHUNK_EXTENSIONS_OVERFLOW CB_URL_COMPLETE CB_STATUS_COMPLETE CB_METHOD_COMPLETE
    CB_VERSION_COMPLETE CB_HEADER_FIELD_COMPLETE CB_HEADER_VALUE_COMPLETE CB_RESET UNKNOWN
    JS_EXCEPTION`,
  ERR_HTTP_: `
    BODY_NOT_ALLOWED CONTENT_LENGTH_MISMATCH HEADERS_SENT INVALID_HEADER_VALUE INVALID_STATUS_CODE
    REQUEST_TIMEOUT SOCKET_ASSIGNED SOCKET_ENCODING TRAILER_INVALID INVALID_SPLICE`,
}

test('every code of Node: 4xx before there is a request, 500 internal_error after it; never job_failed', () => {
  const codes = Object.entries(nodeCodes).flatMap(([prefix, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => prefix + name),
  )
  assert.equal(codes.length, 47)
  for (const code of codes) {
    const error = Object.assign(new Error('Parse Error'), { code })
    const before = toConnectionError(error)
    assert.ok(before.status >= 400 && before.status < 500, code)
    const after = toHttpError(error)
    assert.deepEqual([after.status, after.body.error.code], [500, 'internal_error'], code)
  }
})

test('connection errors: a slow request can be retried, others cannot', () => {
  const of = (code: string): unknown[] => {
    const { status, body } = toConnectionError(Object.assign(new Error('Parse Error'), { code }))
    return [status, body.error.code, body.error.retryable]
  }
  assert.deepEqual(of('ERR_HTTP_REQUEST_TIMEOUT'), [408, 'timeout', true])
  assert.deepEqual(of('HPE_HEADER_OVERFLOW'), [431, 'too_large', false])
  assert.deepEqual(of('HPE_CHUNK_EXTENSIONS_OVERFLOW'), [413, 'too_large', false])
  assert.deepEqual(of('HPE_INVALID_METHOD'), [400, 'bad_request', false])
})
