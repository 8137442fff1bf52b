/**
 * Whether a result can be stored and sent.
 *
 * The store finds out only while it writes, and then a caller may have got the result; JSON finds out when
 * a caller asks, and then the work has ended well. So it is checked before any caller gets it.
 *
 * Known limits: how large it is shows while it is written. An object that changes afterwards is not found out.
 */
import { isAnyArrayBuffer, isDate } from 'node:util/types'
import { describe, PresentItems, type Clock } from '@heddle/core/lowlevel'
import { deepest } from '../http/nesting.ts'

/** Levels of a path that is still read by people. */
const deepestPath = 20

/** Values that are checked before other work has a turn: about a millisecond. */
const sliceValues = 20_000

/** Stands for a place of an array that has no item. */
const hole: unique symbol = Symbol('hole')

/** A container, and its members that are not yet checked. */
interface Level {
  readonly source: object
  readonly values: Iterator<unknown>
  /** How many values have been checked. */
  looked?: number
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
  // A container of its own for the value: all values are checked in the same way.
  const levels: Level[] = [{ source: [], values: [value].values() }]
  const open = new Set<object>()
  try {
    for (let seen = 1; levels.length > 0; seen++) {
      if (seen % sliceValues === 0) await new Promise<void>((done) => clock.afterIo(done))
      const level = levels.at(-1)!
      const { source, values } = level
      const next = values.next()
      level.looked = (level.looked ?? 0) + 1
      if (next.done === true) {
        open.delete(source)
        levels.pop()
        continue
      }
      const inside = look(next.value, isAnswered)
      if (typeof inside === 'string') return pathOf(levels) + inside
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

/** Where in the result the walk is: `at rows[1].mean `. Nothing for the result itself, or when it is very deep. */
function pathOf(levels: readonly Level[]): string {
  if (levels.length === 1 || levels.length > deepestPath) return ''
  const steps = levels.slice(1).map(({ source, looked = 1 }) => {
    if (Array.isArray(source)) return `[${looked - 1}]`
    return source instanceof Map || source instanceof Set
      ? '(…)'
      : `.${Object.keys(source)[looked - 1]}`
  })
  return `at ${steps.join('').replace(/^\./, '')} `
}

/** The fault of this value alone, or the values inside of it. */
function look(value: unknown, isAnswered: boolean): string | Level | undefined {
  switch (typeof value) {
    case 'object':
      return value === null ? undefined : lookInside(value, isAnswered)
    case 'bigint':
      return isAnswered ? 'it has a bigint, which JSON does not know' : undefined
    case 'function':
      return 'it has a function'
    case 'symbol':
      if (value !== hole) return 'it has a symbol'
      return isAnswered ? 'it has a hole in an array, which JSON does not know' : undefined
    case 'number':
      return isAnswered && !Number.isFinite(value)
        ? `it has ${value}, which JSON does not know`
        : undefined
    case 'string':
    case 'boolean':
    case 'undefined':
    default:
      return undefined
  }
}

function lookInside(source: object, isAnswered: boolean): string | Level | undefined {
  if (Array.isArray(source)) return lookAtItems(source)
  const prototype: unknown = Object.getPrototypeOf(source)
  // An object without a prototype of its own has no class.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) {
    return { source, values: valuesOf(source as Record<string, unknown>) }
  }
  // JSON.stringify() makes {} of them and says nothing.
  if (isAnswered && (source instanceof Map || source instanceof Set || isAnyArrayBuffer(source))) {
    return `it has an instance of ${source.constructor.name}, which JSON does not know`
  }
  if (source instanceof Map) return { source, values: keysAndValuesOf(source) }
  if (source instanceof Set) return { source, values: source.values() }
  if (isDate(source) || ArrayBuffer.isView(source) || source instanceof ArrayBuffer)
    return undefined
  const { name } = (prototype as { constructor: { name: string } }).constructor
  return `it has an instance of ${name || 'a class'}`
}

function lookAtItems(source: readonly unknown[]): Level {
  const level: Level = { source, values: itemsOf(source, (index) => (level.looked = index)) }
  return level
}

/** The items, and one hole for each run of them. */
function* itemsOf(source: readonly unknown[], onSkip: (index: number) => void): Generator {
  let present: PresentItems | undefined
  for (let index = 0; index < source.length; index++) {
    const item = source[index]
    if (item !== undefined || index in source) yield item
    else {
      yield hole
      present ??= new PresentItems(source)
      index = present.find(index + 1, source.length, 1) - 1
      onSkip(index + 1)
    }
  }
}

function* valuesOf(source: Record<string, unknown>): Generator {
  for (const key of Object.keys(source)) yield source[key]
}

function* keysAndValuesOf(source: ReadonlyMap<unknown, unknown>): Generator {
  for (const entry of source) yield* entry
}
