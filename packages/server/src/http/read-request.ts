/** What a request says about itself in its headers, and the text of its body. */
import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { HeddleError } from '@heddle/core'
import { secretText } from './secret-text.ts'

const idPattern = /^[A-Za-z0-9_.:-]{1,128}$/

/** Bytes of an id: 128 bits. */
const idBytes = 16

/**
 * An id that cannot be guessed: knowing the id of a request is enough to cancel it. So it comes from the system's
 * source of secrets and not from the injected one, whose next number follows from the ones before.
 */
export function newRequestId(): string {
  return secretText(idBytes)
}

/** The id the client chose, or the one it is given. */
export function requestId(request: FastifyRequest): string {
  const chosen = request.headers['x-request-id']
  if (chosen === undefined) return request.id
  if (typeof chosen === 'string' && idPattern.test(chosen)) return chosen
  throw bad('X-Request-Id', 'at most 128 letters, digits and "_.:-"')
}

/** The error of a compressed body: how large it is would show only when it has been decompressed. */
export function codingProblemOf(request: FastifyRequest): Error | undefined {
  const { method, is404, headers } = request
  const { 'content-encoding': coding = '' } = headers
  // No route reads the body of a GET or HEAD, and an unknown address has no route.
  if (method === 'GET' || method === 'HEAD' || is404) return undefined
  return /^(?:identity)?$/i.test(coding)
    ? undefined
    : new HeddleError('HDL_BODY_ENCODED', { coding })
}

/**
 * The text of a body.
 *
 * @throws `HDL_BAD_INPUT` when it is not UTF-8.
 */
export function textOf(body: Buffer): string {
  if (isUtf8(body)) return body.toString('utf8')
  throw new HeddleError('HDL_BAD_INPUT', { what: 'The body', problem: 'it is not UTF-8.' })
}

/** Milliseconds until the request must be answered: the smaller of the client's limit and the server's. */
export function deadlineOf(request: FastifyRequest, limit: number): number {
  const header = request.headers['x-deadline-ms']
  return header === undefined ? limit : Math.min(limit, wholeNumber('X-Deadline-Ms', header, 1))
}

function wholeNumber(name: string, text: unknown, least: number): number {
  if (typeof text === 'string' && /^\d{1,10}$/.test(text) && Number(text) >= least)
    return Number(text)
  throw bad(name, `a whole number of milliseconds of at least ${least}`)
}

function bad(what: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what, problem: `expected ${expected}.` })
}
