/**
 * A form from a JSON Schema: an object's properties are fields, everything that has no simple field is typed as JSON.
 *
 * Invariants, quoted by the tests:
 *  O1  Every property of an object schema has one field; any other schema has one field for the whole input.
 *  O2  A field that is left empty is left out; the whole input is null then, where no schema asks for more.
 *  O3  What is typed as JSON is parsed, and a mistake is reported with the name of its field.
 */
import { parseTyped } from '../../parts/parse-typed.ts'

export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
}

interface Choice {
  /** The JSON text. */
  readonly value: string
  readonly title: string
}

export interface Field {
  /** Empty: the whole input. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly kind: 'text' | 'number' | 'choice' | 'json'
  readonly choices: readonly Choice[]
  /** The value when the field is left empty; empty when the schema has no default. */
  readonly fallback: string
  readonly isRequired: boolean
}

const inputHint = 'A text stands in quotes: "Riga". Leave it empty for a job without an input.'
const noHint = { title: 'Input' }

export function fieldsOf(schema: JsonSchema | undefined): Field[] {
  const { properties, required = [] } = schema ?? {}
  if (properties === undefined) {
    const kind = schema === undefined ? 'json' : kindOf(schema)
    const words = kind === 'json' ? { title: 'Input, as JSON', description: inputHint } : noHint
    return [toField('', { ...words, ...schema }, schema !== undefined, kind)]
  }
  return Object.entries(properties).map(([name, property]) =>
    toField(name, property, required.includes(name), kindOf(property)),
  )
}

function toField(
  name: string,
  schema: JsonSchema,
  isRequired: boolean,
  kind: Field['kind'],
): Field {
  return {
    name,
    title: schema.title ?? name,
    description: schema.description ?? '',
    kind,
    choices: choicesOf(schema).map((choice) => ({
      value: JSON.stringify(choice),
      title: textOf(choice),
    })),
    fallback: schema.default === undefined ? '' : textOf(schema.default),
    isRequired,
  }
}

function choicesOf({ type, enum: choices }: JsonSchema): readonly unknown[] {
  return choices ?? (type === 'boolean' ? [true, false] : [])
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function kindOf(schema: JsonSchema): Field['kind'] {
  const { type } = schema
  if (choicesOf(schema).length > 0) return 'choice'
  if (type === 'string') return 'text'
  return type === 'number' || type === 'integer' ? 'number' : 'json'
}

/** The input that the fields make. */
export function valueOf(
  fields: readonly Field[],
  texts: Readonly<Record<string, string>>,
): unknown {
  const [only] = fields
  if (only?.name === '') {
    const text = texts[''] ?? ''
    return text.trim() === '' && !only.isRequired ? null : parse(only, text)
  }
  const value: Record<string, unknown> = {}
  for (const field of fields) {
    const text = texts[field.name] ?? ''
    if (text !== '') value[field.name] = parse(field, text)
  }
  return value
}

function parse(field: Field, text: string): unknown {
  if (field.kind === 'text') return text
  if (field.kind === 'number') return Number(text)
  return parseTyped(text, `The field “${field.title}”`)
}
