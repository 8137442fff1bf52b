/**
 * Finds the strings of a TOML document: where each stands and what leads to it.
 *
 * It is not a parser: the document must be valid, which a real parser has to say first. It knows just
 * enough to walk from one value to the next: comments, the four kinds of strings, arrays, inline
 * tables, dotted and quoted keys, tables and arrays of tables. Numbers, dates and booleans are only
 * skipped.
 */
import { parse } from 'smol-toml'
import type { ValuePath } from './text-edit.ts'

export interface TomlString {
  readonly path: ValuePath
  /** With the quotes: `text.slice(start, end)`. */
  readonly start: number
  readonly end: number
  readonly value: string
}

const blank = /[ \t]*/y
/** Space, line ends and comments between the values of an array. */
const gap = /(?:[ \t\r\n]|#[^\n]*)*/y
const bareKey = /[\w-]+/y
const scalar = /[^,\]}#\r\n]*/y
const strings = [
  // A quote or two may stand right before the three that end it.
  /"""(?:\\[\s\S]|(?!""")[^\\])*"{3,5}/y,
  /'''(?:(?!''')[\s\S])*'{3,5}/y,
  /"(?:\\.|[^"\\\n])*"/y,
  /'[^'\n]*'/y,
]

class Walk {
  readonly found: TomlString[] = []
  readonly #text: string
  #position: number
  /** How many tables an array of tables has so far, by its path. */
  readonly #tables = new Map<string, number>()

  constructor(text: string) {
    this.#text = text
    this.#position = text.startsWith('\ufeff') ? 1 : 0
  }

  document(): void {
    let table: ValuePath = []
    this.#skip(gap)
    while (this.#position < this.#text.length) {
      if (this.#take('[[')) table = this.#header(true)
      else if (this.#take('[')) table = this.#header(false)
      else this.#pair(table)
      this.#skip(gap)
    }
  }

  #header(isArray: boolean): ValuePath {
    const keys = this.#keys()
    this.#expect(isArray ? ']]' : ']')
    let path: ValuePath = []
    for (const [index, key] of keys.entries()) {
      path = [...path, key]
      const id = JSON.stringify(path)
      if (isArray && index === keys.length - 1) {
        this.#tables.set(id, (this.#tables.get(id) ?? 0) + 1)
      }
      const count = this.#tables.get(id)
      // A table below an array of tables belongs to the last one.
      if (count !== undefined) path = [...path, count - 1]
    }
    return path
  }

  #pair(table: ValuePath): void {
    const keys = this.#keys()
    this.#expect('=')
    this.#skip(blank)
    this.#value([...table, ...keys])
  }

  #keys(): string[] {
    const keys: string[] = []
    do {
      this.#skip(blank)
      const quoted = this.#string()
      keys.push(quoted?.value ?? this.#match(bareKey))
      this.#skip(blank)
    } while (this.#take('.'))
    return keys
  }

  #value(path: ValuePath): void {
    const string = this.#string()
    if (string !== undefined) this.found.push({ path, ...string })
    else if (this.#take('[')) this.#array(path)
    else if (this.#take('{')) this.#inlineTable(path)
    else this.#match(scalar)
  }

  #array(path: ValuePath): void {
    for (let index = 0; ; index++) {
      this.#skip(gap)
      if (this.#take(']')) return
      this.#value([...path, index])
      this.#skip(gap)
      this.#take(',')
    }
  }

  #inlineTable(path: ValuePath): void {
    for (;;) {
      this.#skip(gap)
      if (this.#take('}')) return
      this.#pair(path)
      this.#skip(gap)
      this.#take(',')
    }
  }

  #string(): Omit<TomlString, 'path'> | undefined {
    const start = this.#position
    const quote = this.#text[start]
    if (quote !== '"' && quote !== "'") return undefined
    for (const kind of strings) {
      kind.lastIndex = start
      const token = kind.exec(this.#text)?.[0]
      if (token === undefined) continue
      this.#position += token.length
      return { start, end: this.#position, value: parse(`x = ${token}`)['x'] as string }
    }
    throw new SyntaxError(`an unfinished string at ${start}`)
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#position
    const token = pattern.exec(this.#text)?.[0] ?? ''
    if (token === '') throw new SyntaxError(`nothing known at ${this.#position}`)
    this.#position += token.length
    return token
  }

  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#position
    this.#position += pattern.exec(this.#text)?.[0].length ?? 0
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#position)) return false
    this.#position += text.length
    return true
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new SyntaxError(`expected ${text} at ${this.#position}`)
  }
}

/** Every string of a valid document, in its order. */
export function tomlStrings(text: string): TomlString[] {
  const walk = new Walk(text)
  walk.document()
  return walk.found
}
