/**
 * Data of a job that is hidden: `job({ redact })`.
 *
 * It applies to shown and logged data. Data needed to continue after a crash is stored unchanged:
 * docs/guide/guarantees.md.
 */
import { isProxy } from 'node:util/types'
import { HeddleError, describe } from '../errors.ts'

/** Names of fields, at any depth of inputs and results; true for all that the job says and returns. */
export type Redact = true | readonly string[]

/** Replaces redacted text. */
export const redactedText = '[redacted]'

/** Values of an input that are searched: a larger input is not searched, and all texts of its attempt are redacted. */
const mostValues = 10_000
/** Characters: shorter values stand in texts by chance. */
const shortestSecret = 4
/** How many errors of one chain are read: the error, its causes and its members. */
const mostParts = 1_000

/** @throws `HDL_BAD_OPTION`. */
export function checkRedact(redact: Redact): void {
  const isList = Array.isArray(redact) && redact.every((name) => typeof name === 'string')
  if (redact === true || isList) return
  const expected = "true, or names of fields: ['password']"
  throw new HeddleError('HDL_BAD_OPTION', { option: 'redact', value: redact, expected })
}

/** Redacts texts of one attempt: values of the named input fields are replaced wherever they occur. */
export function textRedaction(redact: Redact, input: unknown): (text: string) => string {
  const secrets = redact === true ? undefined : secretsOf(input, new Set(redact))
  if (secrets === undefined) return () => redactedText
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, redactedText), text)
}

/** Longest first, so that no part of one stays; undefined when the input is too large to search. */
function secretsOf(input: unknown, names: ReadonlySet<string>): string[] | undefined {
  const found = new Set<string>()
  const open: { readonly value: unknown; readonly isSecret: boolean }[] = [
    { value: input, isSecret: false },
  ]
  for (let seen = 0; open.length > 0; seen++) {
    if (seen + open.length > mostValues) return undefined
    const { value, isSecret } = open.pop()!
    if (typeof value === 'object' && value !== null) {
      if (isSecret && !isPlain(value)) return undefined
      for (const [key, one] of Object.entries(value)) {
        open.push({ value: one, isSecret: isSecret || names.has(key) })
      }
    } else if (isSecret) addSecret(found, String(value))
  }
  return [...found].toSorted((a, b) => b.length - a.length)
}

/** Adds the text itself and its JSON form. */
function addSecret(found: Set<string>, text: string): void {
  if (text.length < shortestSecret) return
  found.add(text)
  found.add(JSON.stringify(text).slice(1, -1))
}

/** Whether its entries are all that it holds: bytes, maps and dates are not searched. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * The same error with other texts, so that its facts stay: its class, its code, whether to try it again. Texts that are
 * recorded and shown are its message, its stack, and those of its causes; other fields may belong to the program, and
 * are not touched.
 */
export function redactError(thrown: unknown, redact: (text: string) => string): unknown {
  const seen = new Set<Error>()
  const redactOne = (one: unknown): unknown => {
    if (typeof one !== 'object' || one === null) return redactPrimitive(one, redact)
    if (isProxy(one) || !(one instanceof Error)) return new Error(redact(describe(one)))
    if (seen.has(one)) return one
    if (seen.size >= mostParts) return new Error(redactedText)
    seen.add(one)
    for (const key of ['message', 'stack', 'cause'] as const) {
      if (key in one) replace(one, key, redactOne(one[key]))
    }
    const { errors } = one as { errors?: unknown }
    if (Array.isArray(errors)) replace(one, 'errors', errors.map(redactOne))
    return one
  }
  try {
    return redactOne(thrown)
  } catch {
    // The error is frozen, or cannot be read: nothing of it is shown.
    return new Error(redactedText)
  }
}

function redactPrimitive(value: unknown, redact: (text: string) => string): unknown {
  const text = String(value)
  const shown = redact(text)
  return shown === text ? value : shown
}

function replace(error: Error, key: string, value: unknown): void {
  if ((error as unknown as Record<string, unknown>)[key] === value) return
  Object.defineProperty(error, key, { value, configurable: true, writable: true })
}

/** A value as it is shown: a copy, for plain data. */
export function redactValue(value: unknown, redact: Redact | undefined): unknown {
  if (redact === undefined) return value
  if (redact === true) return redactedText
  const names = new Set(redact)
  const copy = (one: unknown): unknown => {
    if (typeof one !== 'object' || one === null) return one
    if (Array.isArray(one)) return one.map(copy)
    if (one instanceof Map) return new Map(Array.from(one, ([key, each]) => copyEntry(key, each)))
    if (one instanceof Set) return new Set(Array.from(one, copy))
    if (!isPlain(one)) return one
    return Object.fromEntries(Object.entries(one).map(([key, each]) => copyEntry(key, each)))
  }
  const copyEntry = <K>(key: K, one: unknown): [K, unknown] => [
    key,
    typeof key === 'string' && names.has(key) ? redactedText : copy(one),
  ]
  return copy(value)
}
