/**
 * Reads a request by the schemas of its contract.
 *
 * Words of an address are text: they are converted strictly (`1e3` is not a whole number, a word given twice is
 * refused) before the schema checks them. Words that a route does not have are refused with a suggestion.
 */
import { Compile, type Validator } from 'typebox/compile'
import type { TObject, TSchema } from 'typebox'
import { HeddleError } from '@heddle/core'
import { suggest } from '@heddle/core/lowlevel'
import type { Expecting } from '../client/contract/contract.ts'

/** What is read of schemas here: the words of JSON Schema that contracts use. */
interface Words extends Expecting {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Words[]
  readonly properties?: Readonly<Record<string, Words>>
  readonly additionalProperties?: unknown
  readonly items?: Words
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
}

/** Words of a body that are compared with one that it lacks. */
const mostCompared = 100

type Reader<T> = (given: unknown) => T

type Given = Readonly<Record<string, unknown>>

/** @throws `HDL_BAD_INPUT`, by the reader. */
export function readerOfWords(schema: TObject | undefined, what: string): Reader<Given> {
  const { properties = {} } = (schema ?? {}) as Words
  const names = Object.keys(properties)
  const required = new Set((schema as { required?: readonly string[] } | undefined)?.required)
  const checks = new Map(
    names.map((name) => [name, Compile(properties[name] as unknown as TSchema)] as const),
  )
  return (given) => {
    const read: Record<string, unknown> = {}
    for (const name of Object.keys(given as Given)) {
      if (!checks.has(name)) throw unknownWord(name, names, what)
    }
    for (const name of names) {
      const raw = (given as Given)[name]
      if (raw === undefined) {
        if (required.has(name)) throw missing(name, properties[name]!)
        continue
      }
      if (typeof raw === 'string' && raw.includes('\0')) throw bad(name, 'a text without U+0000')
      const value = convert(raw, properties[name]!)
      if (!checks.get(name)!.Check(value)) throw unexpected(name, properties[name]!)
      read[name] = value
    }
    return read
  }
}

/** @throws `HDL_BAD_INPUT`, by the reader. */
export function readerOfBody(schema: TSchema | undefined): Reader<unknown> {
  if (schema === undefined) return (body) => body
  const validator: Validator = Compile(schema)
  return (body) => {
    if (validator.Check(body)) return body
    throw problemOf(validator, schema, body)
  }
}

/** The first mistake, named by its path, in words. */
function problemOf(validator: Validator, schema: Words, body: unknown): HeddleError {
  if (
    schema.type === 'object' &&
    (typeof body !== 'object' || body === null || Array.isArray(body))
  )
    return bad('The body', 'a JSON object')
  for (const { instancePath, keyword, params, message } of validator.Errors(body)) {
    if (keyword === 'required') {
      const [absent] = (params as { requiredProperties: readonly string[] }).requiredProperties
      const path = segmentsOf(instancePath)
      const misspelt = misspeltWord(absent!, find(schema, path), valueAt(body, path))
      if (misspelt !== undefined) return unknownWord(misspelt, [absent!], 'The body')
      const whole = [...path, absent!]
      return missing(whole.join('.'), find(schema, whole))
    }
    if (keyword === 'boolean' || keyword === 'additionalProperties') {
      const [unknown] =
        (params as { additionalProperties?: readonly string[] }).additionalProperties ?? []
      if (unknown === undefined) continue
      const parent = find(schema, segmentsOf(instancePath))
      return unknownWord(unknown, Object.keys(parent.properties ?? {}), 'The body')
    }
    const path = segmentsOf(instancePath)
    const found = find(schema, path)
    if (path.length === 0) return bad('The body', expectedBy(found))
    if (found.type === undefined && found.enum === undefined && found.expected === undefined)
      return new HeddleError('HDL_BAD_INPUT', { what: path.join('.'), problem: `it ${message}.` })
    return unexpected(path.join('.'), found)
  }
  return bad('The body', expectedBy(schema))
}

/** A word that an object should not have, in place of one that it lacks. */
function misspeltWord(
  absent: string,
  { properties = {}, additionalProperties }: Words,
  given: unknown,
): string | undefined {
  if (additionalProperties !== false) return undefined
  return Object.keys(given as Given)
    .slice(0, mostCompared)
    .find((word) => !Object.hasOwn(properties, word) && suggest(word, [absent]) !== undefined)
}

function valueAt(body: unknown, path: readonly string[]): unknown {
  return path.reduce((at, part) => (at as Given)[part], body)
}

function segmentsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The schema at a path; an empty one where there is none. */
function find(schema: Words, path: readonly string[]): Words {
  let at: Words = schema
  for (const part of path) at = at.properties?.[part] ?? at.items ?? {}
  return at
}

function unknownWord(name: string, names: readonly string[], what: string): HeddleError {
  const suggestion = suggest(name, [...names])
  const known = names.length === 0 ? 'none' : names.join(', ')
  const hint = suggestion === undefined ? `Known: ${known}.` : `Did you mean "${suggestion}"?`
  // A name of the client's is shown, not trusted: it is cut.
  const shown = JSON.stringify(name.slice(0, 64))
  return new HeddleError('HDL_BAD_INPUT', { what, problem: `it has no ${shown}. ${hint}` })
}

function missing(name: string, schema: Words): HeddleError {
  const problem = `it is missing; expected ${expectedBy(schema)}.`
  return new HeddleError('HDL_BAD_INPUT', { what: name, problem })
}

function unexpected(name: string, schema: Words): HeddleError {
  return bad(name, expectedBy(schema))
}

function bad(what: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what, problem: `expected ${expected}.` })
}

/** What a schema expects, in words. */
function expectedBy(schema: Words): string {
  const { expected, type, enum: values, minimum, maximum, minLength, maxLength } = schema
  if (expected !== undefined) return expected
  if (values !== undefined) return oneOf(values)
  const consts = schema.anyOf?.map((one) => one.const)
  if (consts?.every((one) => one !== undefined) === true) return oneOf(consts)
  switch (type) {
    case 'integer':
      return `a whole number${rangeOf(minimum, maximum)}`
    case 'number':
      return `a number${rangeOf(minimum, maximum)}`
    case 'boolean':
      return '"true" or "false"'
    case 'string':
      return `text${maxLength === undefined ? '' : ` of ${minLength ?? 0} to ${maxLength} characters`}`
    case 'object':
      return 'a JSON object'
    case 'array':
      return 'a list'
    case undefined:
    default:
      return 'another value'
  }
}

function rangeOf(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return ` of at least ${minimum}`
  return maximum === undefined ? '' : ` of at most ${maximum}`
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value))
  return texts.length === 1 ? texts[0]! : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`
}

const wholeNumber = /^-?\d{1,15}$/
const anyNumber = /^-?\d{1,15}(?:\.\d{1,15})?$/

/** Converts a text of the address to the kind of value in the schema; a text that cannot be converted is kept. */
function convert(raw: unknown, schema: Words): unknown {
  if (schema.type === 'array') {
    const list = raw === undefined ? [] : Array.isArray(raw) ? raw : [raw]
    return list.map((one) => convert(one, schema.items ?? {}))
  }
  if (typeof raw !== 'string') return raw
  const values = schema.enum ?? schema.anyOf?.map((one) => one.const)
  if (values !== undefined) return values.find((value) => String(value) === raw) ?? raw
  switch (schema.type) {
    case 'integer':
      // Not -0, which is another key than 0.
      return wholeNumber.test(raw) ? Number(raw) + 0 : raw
    case 'number':
      return anyNumber.test(raw) ? Number(raw) + 0 : raw
    case 'boolean':
      return raw === 'true' ? true : raw === 'false' ? false : raw
    case undefined:
    default:
      return raw
  }
}
