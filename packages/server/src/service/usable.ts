/**
 * Whether a result can be stored and sent.
 *
 * The store finds out only while it writes, and then somebody may have been told the result; JSON finds out when
 * somebody asks, and then the work has ended well. So it is looked at before anybody is told.
 *
 * Known limits: how large it is shows while it is written. An object that changes afterwards is not found out.
 */
import { isDate } from 'node:util/types'
import { describe, type Clock } from '@heddle/core/lowlevel'

/** Levels of a result: JSON follows it with its stack. */
const deepest = 1_000

/** Values that are looked at before everybody else has a turn: about a millisecond. */
const sliceValues = 20_000

/** A container, and what of it is still to be looked at. */
interface Level {
  readonly source: object
  readonly values: Iterator<unknown>
}

/**
 * What is wrong with a value; undefined when nothing is.
 *
 * *Cancellation*: none: it is bounded by the value.
 * @param isAnswered It is sent to clients too, as JSON.
 */
export async function findProblem(
  value: unknown,
  isAnswered: boolean,
  clock: Clock,
): Promise<string | undefined> {
  // A container of its own for the value: all are looked at in the same way.
  const levels: Level[] = [{ source: [], values: [value].values() }]
  const open = new Set<object>()
  try {
    for (let seen = 1; levels.length > 0; seen++) {
      if (seen % sliceValues === 0) await new Promise<void>((done) => clock.afterIo(done))
      const { source, values } = levels.at(-1)!
      const next = values.next()
      if (next.done === true) {
        open.delete(source)
        levels.pop()
        continue
      }
      const inside = look(next.value, isAnswered)
      if (typeof inside === 'string') return inside
      if (inside === undefined) continue
      if (open.has(inside.source)) return 'it contains itself'
      if (isAnswered && levels.length > deepest) {
        return `it is nested deeper than ${deepest} levels`
      }
      open.add(inside.source)
      levels.push(inside)
    }
    return undefined
  } catch (error) {
    // A getter, or a proxy.
    return `it cannot be read: ${describe(error)}`
  }
}

/** What is wrong with this value alone, or what is inside of it. */
function look(value: unknown, isAnswered: boolean): string | Level | undefined {
  switch (typeof value) {
    case 'object':
      return value === null ? undefined : lookInside(value)
    case 'bigint':
      return isAnswered ? 'it has a bigint, which JSON does not know' : undefined
    case 'function':
    case 'symbol':
      return `it has a ${typeof value}`
    case 'string':
    case 'number':
    case 'boolean':
    case 'undefined':
    default:
      return undefined
  }
}

function lookInside(source: object): string | Level | undefined {
  if (Array.isArray(source)) return { source, values: source.values() }
  const prototype: unknown = Object.getPrototypeOf(source)
  // What has no prototype of its own has no class.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) {
    return { source, values: valuesOf(source as Record<string, unknown>) }
  }
  if (source instanceof Map) return { source, values: keysAndValuesOf(source) }
  if (source instanceof Set) return { source, values: source.values() }
  if (isDate(source) || ArrayBuffer.isView(source) || source instanceof ArrayBuffer)
    return undefined
  const { name } = (prototype as { constructor: { name: string } }).constructor
  return `it has an instance of ${name || 'a class'}`
}

function* valuesOf(source: Record<string, unknown>): Generator {
  for (const key of Object.keys(source)) yield source[key]
}

function* keysAndValuesOf(source: ReadonlyMap<unknown, unknown>): Generator {
  for (const entry of source) yield* entry
}
