/** Plain data as source code. */

class TooLong extends Error {}

/**
 * An expression that makes the value again, or undefined where it has more than `limit` characters or no
 * expression makes it.
 */
export function literalOf(value: unknown, limit: number): string | undefined {
  try {
    return new LiteralWriter(limit).write(value)
  } catch (error) {
    if (error instanceof TooLong) return undefined
    throw error
  }
}

/** A string in single quotes. */
export function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner}'`
}

const plainName = /^[A-Za-z_$][\w$]*$/

/** Gives up as soon as it is clear that the text gets too long: a value may have millions of parts. */
class LiteralWriter {
  #room: number

  constructor(limit: number) {
    this.#room = limit
  }

  write(value: unknown): string {
    switch (typeof value) {
      case 'string':
        this.#use(value.length)
        return quoted(value)
      case 'number':
        this.#use(1)
        return Object.is(value, -0) ? '-0' : String(value)
      case 'bigint':
        this.#use(1)
        return `${value}n`
      case 'boolean':
      case 'undefined':
        this.#use(1)
        return String(value)
      case 'object':
        this.#use(2)
        return value === null ? 'null' : this.#writeObject(value)
      case 'function':
      case 'symbol':
        throw new TooLong()
    }
  }

  #use(characters: number): void {
    this.#room -= characters
    if (this.#room < 0) throw new TooLong()
  }

  #list(values: Iterable<unknown>): string {
    const parts: string[] = []
    for (const value of values) parts.push(this.write(value))
    return `[${parts.join(', ')}]`
  }

  #writeObject(value: object): string {
    if (Array.isArray(value)) return this.#list(value)
    if (value instanceof Set) return `new Set(${this.#list(value)})`
    if (value instanceof Map) return `new Map(${this.#list(value)})`
    // oxlint-disable-next-line no-restricted-globals -- a date as a value
    if (value instanceof Date) return `new Date(${value.getTime()})`
    if (value instanceof ArrayBuffer)
      return `new Uint8Array(${this.#list(new Uint8Array(value))}).buffer`
    if (value instanceof DataView) throw new TooLong()
    if (ArrayBuffer.isView(value)) return this.#writeView(value as unknown as TypedArray)
    const entries = Object.entries(value).map(([key, each]) => {
      this.#use(key.length)
      return `${keyOf(key)}: ${this.write(each)}`
    })
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
  }

  #writeView(view: TypedArray): string {
    const name = Buffer.isBuffer(view) ? 'Uint8Array' : view.constructor.name
    return `new ${name}(${this.#list(view)})`
  }
}

interface TypedArray extends Iterable<number | bigint> {
  readonly constructor: { readonly name: string }
}

/** `__proto__` as a plain key would set the prototype. */
function keyOf(key: string): string {
  if (key === '__proto__') return `['__proto__']`
  return plainName.test(key) ? key : quoted(key)
}
