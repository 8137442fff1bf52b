/**
 * The name of a result by its content.
 *
 * Canonical: keys of objects in order, so that two clients that write the same object differently
 * share one computation. The job's name is in front, so that a handle says where it comes from.
 */
import { createHash } from 'node:crypto'

/** What a handle depends on besides the input. */
export interface HandleOwner {
  readonly name: string
  readonly version: string
}

export function handleOf({ name, version }: HandleOwner, input: unknown): string {
  const content = canonical([name, version, input])
  return `${name}-${createHash('sha256').update(content).digest('hex')}`
}

/** The job's name; undefined when it is no handle. */
export function jobOfHandle(handle: string): string | undefined {
  return /^([A-Za-z0-9_-]{1,64})-[0-9a-f]{64}$/.exec(handle)?.[1]
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
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // No prototype: a key named __proto__ is a key like any other.
  const ordered = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(value).toSorted()) {
    ordered[key] = (value as Record<string, unknown>)[key]
  }
  return ordered
}
