/** The possible faults of a request, and their messages. */
import { isProxy } from 'node:util/types'
import { HeddleError } from '@heddle/core'
import { describe, readField } from '@heddle/core/lowlevel'
import { itemName } from './handle.ts'
import type { ServedJob } from './served-job.ts'

/** @throws `HDL_BAD_INPUT`. */
export function checkInput(served: ServedJob, input: unknown): void {
  const problem = served.check(input)
  if (problem === undefined) return
  throw new HeddleError('HDL_BAD_INPUT', { what: `Input of "${served.name}"`, problem })
}

/** @param problem What the parser says. */
export function notJson(name: string, problem: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what: `Input of "${name}" is not JSON`, problem })
}

/** @throws `HDL_NO_SUCH_INDEX`. */
export function checkIndex(handle: string, index: number, total: number): void {
  if (Number.isInteger(index) && index <= 0 && index > -total) return
  throw new HeddleError('HDL_NO_SUCH_INDEX', { handle, index, total })
}

/** Jobs may throw anything, also a value that throws when it is read. */
export function asError(thrown: unknown): Error {
  return !isProxy(thrown) && thrown instanceof Error ? thrown : new Error(describe(thrown))
}

/** Fields by which our code, or the HTTP framework, would mistake an error for one of its own. */
const meaningful = ['code', 'status', 'statusCode', 'headers']

/** The error of a job, wrapped when its fields could be mistaken for those of our errors. */
export function jobFailure(thrown: unknown): Error {
  const cause = asError(thrown)
  const isReadable = typeof readField(cause, 'message') === 'string'
  if (isReadable && !meaningful.some((key) => key in cause)) return cause
  const retryable = readField(cause, 'retryable') === true
  return new HeddleError('HDL_JOB_FAILED', { problem: describe(cause), retryable }, { cause })
}

/** The retry time follows from the rate at which admitted work ends. */
export function draining(): HeddleError {
  return new HeddleError('HDL_DRAINING', { what: 'The server' })
}

export function cancelledBy(handle: string, request: string): HeddleError {
  return new HeddleError('HDL_CANCELLED', {
    what: handle,
    source: 'user',
    by: `request ${request}`,
  })
}

/** It was made, could not be stored or has left the store, and the work has ended since. */
export function lostResult(handle: string, index: number): HeddleError {
  return new HeddleError('HDL_GONE', { what: `Result ${itemName(handle, index)}` })
}

/** It was promised and stored, and has been evicted since, with its first stage. */
export function evictedResult(handle: string): HeddleError {
  return new HeddleError('HDL_GONE', { what: `What ${handle} had` })
}

/** The parent of the results was deleted. */
export function lostSource(handle: string): HeddleError {
  return new HeddleError('HDL_GONE', { what: `What ${handle} has` })
}

/** A result that can never be stored, or not be answered with: the job has failed. */
export function unusableResult(name: string, cause: string): HeddleError {
  const action = 'be stored and sent'
  return new HeddleError('HDL_NOT_CLONEABLE', { what: `The result of ${name}`, action, cause })
}

/** Adds the stage in which the request waited when its time was over. */
export function withStage(error: HeddleError<'HDL_TIMEOUT'>, stage: string): HeddleError {
  const { what, limit, stage: own } = error.details
  return own === undefined ? new HeddleError('HDL_TIMEOUT', { what, limit, stage }) : error
}
