/** Errors as workers send them. */
import { errorBounds, type ErrorRecord } from '@heddle/core/lowlevel'

const longestText = 10_000

/** The error that a worker reports; undefined when it is not an error. A worker of another maker may send anything. */
export function readErrorRecord(given: unknown, depth = 0): ErrorRecord | undefined {
  if (typeof given !== 'object' || given === null || depth > errorBounds.causes) return undefined
  const { name, message, code, stack, cause } = given as Readonly<Record<string, unknown>>
  if (typeof message !== 'string') return undefined
  const inner = readErrorRecord(cause, depth + 1)
  return {
    name: textOf(name) ?? 'Error',
    message: message.slice(0, longestText),
    ...optional('code', textOf(code)),
    ...optional('stack', textOf(stack)),
    ...optional('cause', inner),
  }
}

function textOf(given: unknown): string | undefined {
  return typeof given === 'string' ? given.slice(0, longestText) : undefined
}

function optional<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V })
}
