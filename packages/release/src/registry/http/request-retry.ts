/**
 * Requests that are repeated.
 *
 * Invariants, quoted by the tests:
 *  RT1  Nothing is waited for after the last try.
 *  RT2  The error is that of the last try, with all of them in `errors`.
 *  RT3  A connection that fails, in whatever way, is tried again.
 *  RT4  An answer that claims success and cannot be read, as one that was cut off, counts as a failed try.
 *  RT5  Only idempotent requests are sent twice. Any other is sent once, and its error says whether it may
 *       have happened.
 */
import { HeddleError, isError } from '@heddle/core'
import { Patience, type WaitOptions } from '@heddle/core/lowlevel'
import { classOf, failureOf, mayPass, type Asked } from '../error-class.ts'
import { defaultBackoff, jitter, mostRefusals, type Backoff } from './backoff.ts'
import type { HttpClient } from './client.ts'
import { actionOf, isRead, type HttpAnswer, type HttpRequest } from './request.ts'

export interface RetryOptions extends WaitOptions {
  /** How often it is tried, the first time included. Default 4. */
  readonly tries?: number
  readonly backoff?: Backoff
}

/** Answers that another try may change. Others are final: a read expects a 404. */
const again = new Set([429, 500, 502, 503, 504])

/**
 * Sends a request until there is an answer that another try would not change.
 *
 * Between tries it waits as long as the registry asks for, else with full jitter. A refused rate is waited for by
 * all requests and does not count as a try of this one, up to a limit.
 *
 * *Cancellation*: ends the request or the wait between two of them.
 * *Fairness*: each try takes its place behind requests that wait for a connection.
 * @throws `HDL_REGISTRY_UNAVAILABLE` or `HDL_REGISTRY_RATE` when the last try failed too.
 * @example
 * const answer = await requestWithRetry(http, { method: 'GET', url }, { tries: 4, signal })
 */
export async function requestWithRetry(
  http: HttpClient,
  request: HttpRequest,
  options: RetryOptions = {},
): Promise<HttpAnswer> {
  return readWithRetry(http, request, options, (answer) => answer)
}

/**
 * The same, returning the result of `read` for the answer. Its error decides whether there is another try (RT4).
 *
 * *Cancellation*: ends the request or the wait between two of them.
 * *Fairness*: each try takes its place behind requests that wait for a connection.
 * @throws as {@link requestWithRetry}, and what `read` throws for good.
 */
export async function readWithRetry<T>(
  http: HttpClient,
  request: HttpRequest,
  options: RetryOptions,
  read: (answer: HttpAnswer) => T | Promise<T>,
): Promise<T> {
  const { kernel } = http
  const { backoff = defaultBackoff } = options
  const write = !isRead(request)
  const tries = request.idempotent === true || !write ? (options.tries ?? 4) : 1
  const asked: Asked = { registry: new URL(request.url).origin, action: actionOf(request), write }
  const patience = new Patience(asked.action, kernel.clock, options)
  const errors: unknown[] = []
  let refusals = 0
  for (;;) {
    try {
      const answer = await http.send(request, patience.options)
      if (!again.has(answer.status)) return await read(answer)
      throw failureOf(answer, asked, kernel.clock.wallTime())
    } catch (error) {
      if (!mayPass(error)) throw error
      const kind = classOf(error)
      errors.push(error)
      // The client has made all requests wait already.
      if (kind === 'rate' && tries > 1 && ++refusals < mostRefusals) continue
      const attempt = errors.length - refusals
      if (kind === 'rate' || attempt >= tries) throw last(errors)
      const asksFor = error instanceof HeddleError ? error.retryAfter : undefined
      await patience.pause(asksFor ?? jitter(attempt - 1, kernel.random, backoff))
    }
  }
}

/** The last error, with the number of tries and all that went before. */
function last(errors: readonly unknown[]): unknown {
  const cause = errors.at(-1)
  const tries = errors.length
  if (isError(cause, 'HDL_REGISTRY_UNAVAILABLE') || isError(cause, 'HDL_REGISTRY_RATE')) {
    return new HeddleError(cause.code, { ...cause.details, tries }, { cause, errors })
  }
  return cause
}
