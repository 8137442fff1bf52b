/** Errors as clients see them: one table from our codes to status and code. */
import { HeddleError, isError, type ErrorCode } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'

export interface ErrorBody {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly retryable: boolean
    readonly retry_after_ms?: number
    readonly stage?: string
  }
}

export interface HttpError {
  readonly status: number
  readonly body: ErrorBody
}

type StatusAndCode = readonly [status: number, code: string]

const byCode: Partial<Record<ErrorCode, StatusAndCode>> = {
  HDL_BAD_INPUT: [400, 'bad_request'],
  HDL_NO_SUCH_INDEX: [400, 'bad_request'],
  HDL_FORBIDDEN_HOST: [403, 'forbidden_host'],
  HDL_FORBIDDEN_ORIGIN: [403, 'forbidden_origin'],
  HDL_UNKNOWN_JOB: [404, 'unknown_job'],
  HDL_UNKNOWN_RESULT: [404, 'not_found'],
  HDL_UNKNOWN_REQUEST: [404, 'unknown_request'],
  HDL_REQUEST_EXISTS: [409, 'request_exists'],
  HDL_GONE: [410, 'gone'],
  HDL_NOT_JSON: [415, 'unsupported_media_type'],
  HDL_CANCELLED: [499, 'cancelled'],
  HDL_SUPERSEDED: [499, 'superseded'],
  HDL_OVERLOADED: [503, 'overloaded'],
  HDL_TOO_MANY_WAITERS: [503, 'overloaded'],
  HDL_DRAINING: [503, 'shutting_down'],
  HDL_STORE_FAILED: [503, 'store_failed'],
  HDL_TIMEOUT: [504, 'timeout'],
}

/** Of Fastify, for what is wrong before a route sees the request. A Map: jobs throw errors with codes of their own. */
const ofFramework: ReadonlyMap<unknown, StatusAndCode> = new Map([
  ['FST_ERR_CTP_BODY_TOO_LARGE', [413, 'too_large']],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', [415, 'unsupported_media_type']],
  ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', [400, 'bad_request']],
  ['FST_ERR_BAD_URL', [400, 'bad_request']],
  ['FST_ERR_MAX_PARAM_LENGTH', [414, 'too_large']],
])

/** Of Node, for what is no request. */
const ofConnection: ReadonlyMap<unknown, StatusAndCode> = new Map([
  ['HPE_HEADER_OVERFLOW', [431, 'too_large']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'timeout']],
])

/** Milliseconds, where nothing was measured. */
const usualRetryAfter = 1_000

/** What a request is told that a route has thrown for, or that no route has seen. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HeddleError) return ofHeddle(error)
  const [status, code] = ofFramework.get(codeOf(error)) ?? [500, 'job_failed']
  return { status, body: { error: { code, message: describe(error), retryable: false } } }
}

/** What a client is told whose bytes are no request. */
export function toConnectionError(error: unknown): HttpError {
  const [status, code] = ofConnection.get(codeOf(error)) ?? [400, 'bad_request']
  const message = `This is no request: ${describe(error)}.`
  return { status, body: { error: { code, message, retryable: status === 408 } } }
}

function ofHeddle(error: HeddleError): HttpError {
  const isQueueTimeout = isError(error, 'HDL_TIMEOUT') && error.details.stage === 'queue'
  const [status, code] = isQueueTimeout
    ? [503, 'timeout']
    : (byCode[error.code] ?? [500, 'job_failed'])
  const stage = isError(error, 'HDL_TIMEOUT') ? error.details.stage : undefined
  const retryAfter = status === 503 ? (error.retryAfter ?? usualRetryAfter) : undefined
  return {
    status,
    body: {
      error: {
        code,
        message: error.message,
        retryable: error.retryable,
        ...(retryAfter !== undefined && { retry_after_ms: Math.ceil(retryAfter) }),
        ...(stage !== undefined && { stage }),
      },
    },
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}
