/** What a request says about itself: its id, how long it waits, how urgent it is. */
import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { HeddleError } from '@heddle/core'

const idPattern = /^[A-Za-z0-9_.:-]{1,128}$/

/** Bytes of an id: 128 bits. */
const idBytes = 16

/**
 * An id that cannot be guessed: whoever knows the id of a request may cancel it. So it comes from the system's
 * source of secrets and not from the injected one, whose next number follows from the ones before.
 */
export function newRequestId(): string {
  return randomBytes(idBytes).toString('base64url')
}

/** The id the client chose, or the one it is given. */
export function requestId(request: FastifyRequest): string {
  const chosen = request.headers['x-request-id']
  if (chosen === undefined) return request.id
  if (typeof chosen === 'string' && idPattern.test(chosen)) return chosen
  throw bad('X-Request-Id', 'at most 128 letters, digits and "_.:-"')
}

/** Milliseconds until the request must be answered: the smaller of the client's limit and the server's. */
export function deadlineOf(request: FastifyRequest, limit: number): number {
  const header = request.headers['x-deadline-ms']
  return header === undefined ? limit : Math.min(limit, wholeNumber('X-Deadline-Ms', header, 1))
}

type Query = Readonly<Record<string, unknown>>

/** Milliseconds it waits for a result; undefined when it does not. */
export function waitOf(query: unknown): number | undefined {
  const { wait } = query as Query
  return wait === undefined ? undefined : wholeNumber('wait', wait, 0)
}

export function priorityOf(query: unknown): 0 | 1 | 3 {
  const { priority = '1' } = query as Query
  const found = ([0, 1, 3] as const).find((one) => String(one) === priority)
  if (found !== undefined) return found
  throw bad('priority', '0 (interactive), 1 (usual) or 3 (prefetch)')
}

export function slotOf(query: unknown): string | undefined {
  const { slot } = query as Query
  if (slot === undefined || (typeof slot === 'string' && slot !== '' && slot.length <= 256))
    return slot
  throw bad('slot', 'a name of 1 to 256 characters')
}

export function forceOf(query: unknown): boolean {
  const { force = 'false' } = query as Query
  if (force === 'true' || force === 'false') return force === 'true'
  throw bad('force', '"true" or "false"')
}

/** 0, -1, -2 … */
export function indexOf(text: unknown): number {
  if (text === undefined) return 0
  // Not -0, which is another number for a cache's key.
  if (typeof text === 'string' && /^-?\d{1,9}$/.test(text)) return Number(text) + 0
  throw bad('index', '0 or a negative whole number')
}

function wholeNumber(name: string, text: unknown, least: number): number {
  if (typeof text === 'string' && /^\d{1,10}$/.test(text) && Number(text) >= least)
    return Number(text)
  throw bad(name, `a whole number of milliseconds of at least ${least}`)
}

function bad(what: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what, problem: `expected ${expected}.` })
}
