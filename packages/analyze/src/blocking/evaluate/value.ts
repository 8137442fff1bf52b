/** What the evaluator knows about a value. Everything it does not know is `unknown`. */
import type { Node } from 'oxc-parser'

export const unknown: unique symbol = Symbol('unknown')

export interface PatternValue {
  readonly kind: 'pattern'
  readonly source: string
  readonly flags: string
}

/** Objects and arrays: the fields of an array are its indexes. */
export interface ObjectValue {
  readonly kind: 'object'
  readonly fields: Map<string, Value>
  readonly isArray: boolean
}

export interface FunctionValue {
  readonly kind: 'function'
  readonly node: Node
  readonly scope: Names
}

export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | PatternValue
  | ObjectValue
  | FunctionValue
  | typeof unknown

export const object = (isArray = false): ObjectValue => ({
  kind: 'object',
  fields: new Map(),
  isArray,
})

export function list(values: readonly Value[]): ObjectValue {
  const made = object(true)
  values.forEach((value, i) => made.fields.set(String(i), value))
  return made
}

export function itemsOf(value: Value): readonly Value[] | undefined {
  return isObject(value) && value.isArray ? [...value.fields.values()] : undefined
}

export function isObject(value: Value): value is ObjectValue {
  return typeof value === 'object' && value !== null && value.kind === 'object'
}

export function isPattern(value: Value): value is PatternValue {
  return typeof value === 'object' && value !== null && value.kind === 'pattern'
}

export function isFunctionValue(value: Value): value is FunctionValue {
  return typeof value === 'object' && value !== null && value.kind === 'function'
}

export function isPrimitive(value: Value): value is string | number | boolean | null | undefined {
  return value !== unknown && (typeof value !== 'object' || value === null)
}

/** Names of one block, with those around it. */
export class Names {
  readonly #parent: Names | undefined
  readonly #values = new Map<string, Value>()

  constructor(parent?: Names) {
    this.#parent = parent
  }

  declare(name: string, value: Value): void {
    this.#values.set(name, value)
  }

  get(name: string): Value {
    const owner = this.#ownerOf(name)
    return owner === undefined ? unknown : owner.#values.get(name)
  }

  has(name: string): boolean {
    return this.#ownerOf(name) !== undefined
  }

  set(name: string, value: Value): void {
    const owner = this.#ownerOf(name)
    if (owner !== undefined) owner.#values.set(name, value)
  }

  #ownerOf(name: string): Names | undefined {
    if (this.#values.has(name)) return this
    return this.#parent === undefined ? undefined : this.#parent.#ownerOf(name)
  }
}

export function newPattern(source: Value, flags: Value): Value {
  const mode = flags === undefined ? (isPattern(source) ? source.flags : '') : flags
  const text = isPattern(source) ? source.source : source
  return typeof text === 'string' && typeof mode === 'string'
    ? { kind: 'pattern', source: text, flags: mode }
    : unknown
}

export function fieldOf(owner: Value, key: string): Value {
  if (isPattern(owner)) {
    return key === 'source' ? owner.source : key === 'flags' ? owner.flags : unknown
  }
  if (isObject(owner)) {
    if (key === 'length' && owner.isArray) return owner.fields.size
    return owner.fields.has(key) ? owner.fields.get(key) : undefined
  }
  if (typeof owner === 'string') return key === 'length' ? owner.length : undefined
  return unknown
}

/** Undefined when it is not known. */
export function truth(value: Value): boolean | undefined {
  if (value === unknown) return undefined
  return isPrimitive(value) ? Boolean(value) : true
}
