/**
 * The name of a result by its content.
 *
 * Canonical: keys of objects in order, so that two clients that write the same object differently
 * share one computation. The job's name is in front, so that a handle says where it comes from.
 */
import { createHash } from 'node:crypto'
import { HeddleError } from '@heddle/core'
import { checkNesting } from '../http/nesting.ts'

/** What a handle depends on besides the input. */
export interface HandleOwner {
  readonly name: string
  readonly version: string
  /** Undefined when all tenants share it. */
  readonly tenant?: string | undefined
}

/** @throws `HDL_BAD_INPUT` when the input is nested too deeply. */
export function handleOf({ name, version, tenant }: HandleOwner, input: unknown): string {
  checkNesting(`Input of "${name}"`, input)
  const content = canonical([name, version, input, ...(tenant === undefined ? [] : [tenant])])
  return `${name}-${createHash('sha256').update(content).digest('hex')}`
}

/** The job's name; undefined when it is not a handle. */
export function jobOfHandle(handle: string): string | undefined {
  return /^([A-Za-z0-9_-]{1,64})-[0-9a-f]{64}$/.exec(handle)?.[1]
}

/** Digits of the hash that tell the computations of one job apart for people. */
const shownDigits = 8
const allDigits = 64

/**
 * What logs, timeouts and blame call a computation, or one of its results: `forecast-67e915ab`, `forecast-67e915ab/-3`.
 * The whole handle is in the answers to clients and in the journal.
 */
export function shownName(handle: string, index?: number): string {
  const name = handle.slice(0, handle.length - allDigits + shownDigits)
  return index === undefined ? name : itemName(name, index)
}

/** One result of a handle. */
export function itemName(handle: string, index: number): string {
  return `${handle}/${index}`
}

/** JSON with the keys of objects in order. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, inOrder)
}

function inOrder(_: string, value: unknown): unknown {
  if (value === Infinity || value === -Infinity) throw tooLarge()
  if (!isObject(value) || Array.isArray(value)) return value
  // No prototype: a key named __proto__ is a key like any other.
  const ordered = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(value).toSorted()) {
    ordered[key] = (value as Record<string, unknown>)[key]
  }
  return ordered
}

/** It would be written as null, and have the handle of another input. */
function tooLarge(): HeddleError {
  const problem = 'it has a number that is too large for a number.'
  return new HeddleError('HDL_BAD_INPUT', { what: 'Input', problem })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
