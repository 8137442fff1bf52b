/** Errors as clients see them: one table from our codes to status and code. */
import { HeddleError, isError, type ErrorCode } from '@heddle/core'

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

const byCode: Partial<Record<ErrorCode, readonly [status: number, code: string]>> = {
  HDL_BAD_INPUT: [400, 'bad_request'],
  HDL_NO_SUCH_INDEX: [400, 'bad_request'],
  HDL_UNKNOWN_JOB: [404, 'unknown_job'],
  HDL_UNKNOWN_RESULT: [404, 'not_found'],
  HDL_UNKNOWN_REQUEST: [404, 'unknown_request'],
  HDL_REQUEST_EXISTS: [409, 'request_exists'],
  HDL_GONE: [410, 'gone'],
  HDL_CANCELLED: [499, 'cancelled'],
  HDL_SUPERSEDED: [499, 'superseded'],
  HDL_OVERLOADED: [503, 'overloaded'],
  HDL_TOO_MANY_WAITERS: [503, 'overloaded'],
  HDL_DRAINING: [503, 'shutting_down'],
  HDL_STORE_FAILED: [503, 'store_failed'],
  HDL_TIMEOUT: [504, 'timeout'],
}

/** Of Fastify, for what is wrong before a route sees the request. */
const ofFramework: Readonly<Record<string, readonly [status: number, code: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'unsupported_media_type'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'bad_request'],
  FST_ERR_BAD_URL: [400, 'bad_request'],
}

/** Milliseconds, where nothing was measured. */
const usualRetryAfter = 1_000

export function toHttpError(error: unknown): HttpError {
  if (error instanceof HeddleError) return ofHeddle(error)
  const code = (error as { code?: unknown } | undefined)?.code
  const [status, name] = (typeof code === 'string' ? ofFramework[code] : undefined) ?? [
    500,
    'job_failed',
  ]
  return { status, body: { error: { code: name, message: messageOf(error), retryable: false } } }
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
