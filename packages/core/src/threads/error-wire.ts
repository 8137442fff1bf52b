import { final, isFinal } from '../attempts/retry.ts'
import {
  HeddleError,
  describe,
  errorBounds,
  errorTable,
  readField,
  type ErrorCode,
} from '../errors.ts'

/**
 * Errors on their way between threads.
 *
 * Structured clone keeps the message and stack of the built-in classes and drops the rest: own
 * fields such as `code`, names of subclasses, and everything when one field cannot be cloned. Here
 * an error is taken apart instead, so that its cloneable fields are sent, and one bad field costs only
 * itself.
 */
export interface ErrorWire {
  /** The thrown value, if it is not an error. */
  readonly value?: unknown
  readonly message?: string
  readonly name?: string
  readonly stack?: string | undefined
  /** The built-in class it derives from. */
  readonly base?: string
  /** Own fields that can be cloned. */
  readonly fields?: Readonly<Record<string, unknown>>
  readonly cause?: ErrorWire
  readonly errors?: readonly ErrorWire[]
  /** The job must not be tried again: it threw final(). */
  readonly final?: true
  /** Set for our own errors. */
  readonly heddle?: { readonly code: ErrorCode; readonly details: unknown }
}

const { causes: deepest } = errorBounds

const bases = new Map<string, ErrorConstructor>(
  [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((base) => [
    base.name,
    base,
  ]),
)

const separate = new Set(['name', 'message', 'stack', 'cause', 'errors'])
const heddleFields = new Set(['code', 'details', 'help', 'retryable', 'retryAfter'])

function cloneable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) {
    return typeof value !== 'function' && typeof value !== 'symbol'
  }
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}

function baseOf(error: Error): string {
  for (let type = Object.getPrototypeOf(error); type !== null; type = Object.getPrototypeOf(type)) {
    const name: unknown = type.constructor?.name
    if (typeof name === 'string' && bases.get(name)?.prototype === type) return name
  }
  return 'Error'
}

export function encodeError(thrown: unknown, depth = 0): ErrorWire {
  const wire = takeApart(thrown, depth)
  return isFinal(thrown) ? { ...wire, final: true } : wire
}

function takeApart(thrown: unknown, depth: number): ErrorWire {
  if (!(thrown instanceof Error)) {
    return cloneable(thrown) ? { value: thrown } : { value: describe(thrown) }
  }
  const isOurs = thrown instanceof HeddleError
  const fields: Record<string, unknown> = {}
  for (const key of Object.keys(thrown)) {
    if (separate.has(key) || (isOurs && heddleFields.has(key))) continue
    const value = readField(thrown, key)
    if (cloneable(value)) fields[key] = value
  }
  // DOMException and others keep their code in a getter of the prototype.
  const code = readField(thrown, 'code')
  if (!isOurs && code !== undefined && cloneable(code)) fields['code'] = code
  const cause = readField(thrown, 'cause')
  const errors = readField(thrown, 'errors')
  const stack = readField(thrown, 'stack')
  return {
    message: describe(readField(thrown, 'message')),
    name: describe(readField(thrown, 'name')),
    stack: typeof stack === 'string' ? stack : undefined,
    base: baseOf(thrown),
    fields,
    ...(cause !== undefined && depth < deepest && { cause: encodeError(cause, depth + 1) }),
    ...(Array.isArray(errors) &&
      depth < deepest && { errors: errors.map((each) => encodeError(each, depth + 1)) }),
    ...(isOurs && {
      heddle: {
        code: thrown.code,
        details: cloneable(thrown.details) ? thrown.details : undefined,
      },
    }),
  }
}

function hidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true })
}

function rebuildOurs(
  { code, details }: NonNullable<ErrorWire['heddle']>,
  options: ErrorOptions & { errors?: readonly unknown[] },
): Error | undefined {
  // Another version of the package may know other codes.
  if (!Object.hasOwn(errorTable, code) || details === undefined) return undefined
  return new HeddleError(code, details, options)
}

export function decodeError(wire: ErrorWire): unknown {
  const thrown = putTogether(wire)
  return wire.final === true ? final(thrown) : thrown
}

function putTogether(wire: ErrorWire): unknown {
  if (wire.message === undefined) return wire.value
  const options = wire.cause === undefined ? {} : { cause: decodeError(wire.cause) }
  const errors = wire.errors?.map((each) => decodeError(each))
  let error: Error | undefined
  if (wire.heddle !== undefined) {
    error = rebuildOurs(wire.heddle, errors === undefined ? options : { ...options, errors })
  }
  if (error === undefined) {
    const Base = bases.get(wire.base ?? 'Error') ?? Error
    error = new Base(wire.message, options)
    if (wire.heddle !== undefined) Object.assign(error, { code: wire.heddle.code })
    if (errors !== undefined) hidden(error, 'errors', errors)
    if (wire.name !== undefined && wire.name !== error.name) hidden(error, 'name', wire.name)
  }
  hidden(error, 'message', wire.message)
  hidden(error, 'stack', wire.stack)
  return Object.assign(error, wire.fields)
}

/** The message of an error as a part of our own sentence: without its full stop. */
export function clause(thrown: unknown): string {
  return describe(thrown).replace(/\.$/, '')
}
