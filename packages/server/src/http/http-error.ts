/** Errors as clients see them: one table from our codes to status and code. */
import { HeddleError, isError, type ErrorCode } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'
import type { ErrorBody } from '../client/contract/contract.ts'

export interface HttpError {
  readonly status: number
  readonly body: ErrorBody
}

type StatusAndCode = readonly [status: number, code: string]

const byCode: Partial<Record<ErrorCode, StatusAndCode>> = {
  HDL_BAD_INPUT: [400, 'bad_request'],
  HDL_NO_SUCH_INDEX: [400, 'bad_request'],
  HDL_WRONG_INPUT: [400, 'bad_request'],
  HDL_UNAUTHENTICATED: [401, 'unauthenticated'],
  HDL_FORBIDDEN: [403, 'forbidden'],
  HDL_FORBIDDEN_HOST: [403, 'forbidden_host'],
  HDL_FORBIDDEN_ORIGIN: [403, 'forbidden_origin'],
  HDL_NO_ROUTE: [404, 'not_found'],
  HDL_UNKNOWN_JOB: [404, 'unknown_job'],
  HDL_UNKNOWN_RESULT: [404, 'not_found'],
  HDL_UNKNOWN_REQUEST: [404, 'unknown_request'],
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
  HDL_METHOD_NOT_ALLOWED: [405, 'method_not_allowed'],
  HDL_REQUEST_EXISTS: [409, 'request_exists'],
  HDL_NOT_STEERABLE: [409, 'not_steerable'],
  HDL_RUN_ENDED: [409, 'run_ended'],
  HDL_NOT_REPRODUCIBLE: [409, 'not_reproducible'],
  HDL_GRAPH_CHANGED: [409, 'graph_changed'],
  HDL_LOCKED: [409, 'locked'],
  HDL_GONE: [410, 'gone'],
  HDL_LEASE_ENDED: [410, 'lease_lost'],
  HDL_UNKNOWN_CAMPAIGN: [404, 'unknown_campaign'],
  HDL_WORKER_TAKEN: [403, 'worker_taken'],
  HDL_PROTOCOL_VERSION: [426, 'version'],
  HDL_NO_ARTIFACTS: [501, 'no_artifacts'],
  HDL_UNKNOWN_ARTIFACT: [404, 'not_found'],
  HDL_ARTIFACT_QUOTA: [413, 'quota'],
  HDL_ARTIFACT_TAKEN: [409, 'artifact_taken'],
  HDL_ARTIFACT_BUSY: [409, 'artifact_busy'],
  HDL_ARTIFACT_MISMATCH: [422, 'artifact_mismatch'],
  HDL_BODY_TOO_LARGE: [413, 'too_large'],
  HDL_NOT_JSON: [415, 'unsupported_media_type'],
  HDL_BODY_ENCODED: [415, 'unsupported_media_type'],
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
}

/** Timeouts that are not those of running work: it did not start, or has not even arrived. */
const timeoutByStage: ReadonlyMap<string, StatusAndCode> = new Map([
  ['queue', [503, 'timeout']],
  ['arrival', [408, 'timeout']],
])

/** Errors of Node's parser that are not answered with a plain 400. */
const ofConnection: ReadonlyMap<unknown, StatusAndCode> = new Map([
  ['HPE_HEADER_OVERFLOW', [431, 'too_large']],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'too_large']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'timeout']],
])

/** An error of the framework in our words, where its own leave something out. */
export function inOurWords(error: unknown, bodyLimit: number): unknown {
  return codeOf(error) === 'FST_ERR_CTP_BODY_TOO_LARGE'
    ? new HeddleError('HDL_BODY_TOO_LARGE', { limit: bodyLimit })
    : error
}

/** The code for a status of the framework. Other statuses of 4xx are a `bad_request`. */
const byStatus: ReadonlyMap<number, string> = new Map([
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [408, 'timeout'],
  [413, 'too_large'],
  [414, 'too_large'],
  [415, 'unsupported_media_type'],
  [431, 'too_large'],
])

/** Codes of Fastify and of Node's HTTP. Jobs cannot have them: an error of a job is wrapped when it has a code. */
const frameworkCode = /^(?:FST_|HPE_|ERR_HTTP)/

/** Milliseconds, where nothing was measured. */
const usualRetryAfter = 1_000

/**
 * The answer to a request for which a route has thrown, or that no route has seen.
 *
 * @param measured Milliseconds of the retry time, for refusals that do not know it themselves: from the rate at
 * which the server ends what it has admitted.
 */
export function toHttpError(
  error: unknown,
  measured: () => number = () => usualRetryAfter,
): HttpError {
  if (error instanceof HeddleError) return ofHeddle(error, measured)
  const [status, code] = ofOthers(error)
  return { status, body: { error: { code, message: describe(error), retryable: false } } }
}

/** The answer to bytes that are not a request. */
export function toConnectionError(error: unknown): HttpError {
  const [status, code] = ofConnection.get(codeOf(error)) ?? [400, 'bad_request']
  const message =
    status === 408
      ? 'The request has not arrived in time.'
      : `This is not a request: ${describe(error)}.`
  return { status, body: { error: { code, message, retryable: status === 408 } } }
}

function ofHeddle(error: HeddleError, measured: () => number): HttpError {
  const stage = isError(error, 'HDL_TIMEOUT') ? error.details.stage : undefined
  const ofStage = stage === undefined ? undefined : timeoutByStage.get(stage)
  const [status, code] = ofStage ?? byCode[error.code] ?? [500, 'job_failed']
  const retryAfter = status === 503 || status === 429 ? (error.retryAfter ?? measured()) : undefined
  return {
    status,
    body: {
      error: {
        code,
        message: messageFor(error),
        retryable: error.retryable,
        ...(retryAfter !== undefined && { retry_after_ms: Math.ceil(retryAfter) }),
        ...(stage !== undefined && { stage }),
      },
    },
  }
}

/** Without files, addresses and processes of the server's machine. */
function messageFor(error: HeddleError): string {
  if (isError(error, 'HDL_UNKNOWN_RUN'))
    return withoutDetail(error, error.details.address, 'the store of this server')
  if (isError(error, 'HDL_LOCKED'))
    return withoutDetail(error, error.details.holder, 'another process')
  return error.message
}

function withoutDetail({ message }: HeddleError, detail: string, shown: string): string {
  return message.replace(detail, () => shown)
}

/** The framework says 4xx where the request is wrong. Its other errors are our mistake, never that of a job. */
function ofOthers(error: unknown): StatusAndCode {
  const { code, statusCode: status } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 500) {
    return [status, byStatus.get(status) ?? 'bad_request']
  }
  const isFramework = typeof code === 'string' && frameworkCode.test(code)
  return [500, isFramework ? 'internal_error' : 'job_failed']
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}
