/** The structured log's data about a request: only from the table and the answer, nothing that the client wrote. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isError } from '@heddle/core'
import type { LogEvent, LogEventName } from '../log/log-event.ts'
import { idsOf } from '../tracing/request-span.ts'
import type { HttpError } from './http-error.ts'

/**
 * The event of an error answer; undefined when the client has left, which has a line of its own.
 */
export function answerEvent(
  thrown: unknown,
  { status, body }: HttpError,
  reply: FastifyReply,
): LogEvent | undefined {
  if (isError(thrown, 'HDL_CANCELLED') && thrown.details.source === 'disconnect') return undefined
  const { code, message, stage, retry_after_ms } = body.error
  return {
    event: nameOf(thrown, status),
    ...requestOf(reply.request),
    status,
    code,
    stage,
    retry_after_ms,
    reason: wordsOfClient.has(status) ? undefined : message,
  }
}

/** The message of these repeats the client's text: only the code is logged. */
const wordsOfClient = new Set([400, 404, 405, 415])

/** The event of an answer whose client left before its end. */
export function brokenPipeEvent(
  request: FastifyRequest,
  reply: FastifyReply,
  ms: number,
): LogEvent {
  const status = reply.raw.headersSent ? reply.statusCode : 499
  return { event: 'broken_pipe', ...requestOf(request), status, ms: Math.round(ms) }
}

function nameOf(thrown: unknown, status: number): LogEventName {
  if (isError(thrown, 'HDL_TIMEOUT')) return 'timeout'
  if (status === 499) return 'cancelled'
  return status === 500 ? 'failed' : 'refused'
}

function requestOf(request: FastifyRequest): Partial<LogEvent> {
  const { contract } = request.routeOptions.config
  const call = request.heddleCall
  return {
    route: contract === undefined ? undefined : `${contract.method} ${contract.path}`,
    request: idOf(request),
    caller: call?.caller.name,
    tenant: call?.caller.tenant,
    address: request.ip,
    ...idsOf(request.heddleTrace),
  }
}

/** The id that the client chose may be the reason for the refusal. */
function idOf(request: FastifyRequest): string {
  try {
    return request.heddleCall?.id ?? request.id
  } catch {
    return request.id
  }
}
