/**
 * Inputs and results of jobs as JSON. What JSON has no word for becomes an object with one key that begins with `$`:
 * `{ "$bigint": "12" }`, `{ "$date": "2026-…" }`, `{ "$map": [[key, value]] }`, `{ "$set": […] }`,
 * `{ "$bytes": "base64", "of": "Uint8Array" }`, `{ "$number": "NaN" }`, `{ "$undefined": true }`,
 * `{ "$instance": "Socket" }` for other values.
 */
import { redactedText, type Redact } from '../graph/redact.ts'

export function toJsonText(value: unknown, indent?: number): string {
  return JSON.stringify(toJson(value, new Room(Infinity)), undefined, indent)
}

/** A value as JSON, or its beginning. */
export interface JsonHead {
  readonly text: string
  /** Whether the value is larger: the text is its beginning, which is not JSON. */
  readonly isCut: boolean
}

/**
 * The first `most` characters of a value as JSON. The work is bounded by them, however large the value is. What `redact` names
 * is not in it.
 *
 * @throws what code of the value throws: a getter, a proxy.
 */
export function jsonHead(value: unknown, most: number, redact?: Redact): JsonHead {
  const hidden = Array.isArray(redact) && redact.length > 0 ? new Set(redact) : undefined
  const isSimple = redact !== true && hidden === undefined && plainSize(value, most) <= most
  const room = new Room(most, hidden)
  const copy = isSimple ? value : redact === true ? redactedText : toJson(value, room)
  const text = JSON.stringify(copy)
  return { text: text.slice(0, most), isCut: room.isCut || text.length > most }
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** How much of a value is still copied, in characters of its JSON, about. */
class Room {
  #left: number
  readonly #hidden: ReadonlySet<string> | undefined
  isCut = false

  constructor(most: number, hidden?: ReadonlySet<string>) {
    this.#left = most
    this.#hidden = hidden
  }

  get isFull(): boolean {
    if (this.#left > 0) return false
    this.isCut = true
    return true
  }

  take(characters: number): void {
    this.#left -= characters
  }

  /** The part of a text, or of bytes, that still fits. */
  cut<T extends { readonly length: number; slice(start: number, end: number): T }>(content: T): T {
    const fitting =
      content.length <= this.#left ? content : content.slice(0, Math.max(0, this.#left))
    if (fitting !== content) this.isCut = true
    this.take(content.length + 2)
    return fitting
  }

  hides(key: unknown): boolean {
    return this.#hidden !== undefined && typeof key === 'string' && this.#hidden.has(key)
  }
}

/** Characters of the JSON of a value that JSON.stringify() writes as toJson() would; more than `most` for any other. */
function plainSize(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value === 'boolean') return 5
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? 8 : Infinity
  if (typeof value !== 'object') return Infinity
  return value === null ? 4 : sizeOfPlain(value, most)
}

function sizeOfPlain(value: object, most: number): number {
  let size = 2
  if (Array.isArray(value)) {
    if (value.length > most) return Infinity
    for (const each of value as unknown[]) {
      size += 1 + plainSize(each, most - size)
      if (size > most) return Infinity
    }
    return size
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return Infinity
  for (const key in value) {
    size += key.length + 4 + plainSize((value as Record<string, unknown>)[key], most - size)
    if (size > most) return Infinity
  }
  return size
}

function toJson(value: unknown, room: Room): Json {
  switch (typeof value) {
    case 'string':
      return room.cut(value)
    case 'boolean':
      room.take(4)
      return value
    case 'number':
      room.take(4)
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { $number: nameOf(value) }
    case 'bigint':
      return { $bigint: room.cut(String(value)) }
    case 'undefined':
      room.take(1)
      return { $undefined: true }
    case 'object':
      room.take(2)
      return value === null ? null : toJsonObject(value, room)
    case 'function':
      return { $instance: 'Function' }
    case 'symbol':
      return { $instance: 'Symbol' }
  }
}

function nameOf(number: number): string {
  return Object.is(number, -0) ? '-0' : String(number)
}

function toJsonObject(value: object, room: Room): Json {
  if (Array.isArray(value)) return listOf(value, room, (each) => toJson(each, room))
  if (value instanceof Map) {
    const pair = ([key, each]: [unknown, unknown]): Json => [
      toJson(key, room),
      valueAt(key, each, room),
    ]
    return { $map: listOf(value as Map<unknown, unknown>, room, pair) }
  }
  if (value instanceof Set) return { $set: listOf(value, room, (each) => toJson(each, room)) }
  // oxlint-disable-next-line no-restricted-globals -- a date as a value
  if (value instanceof Date) return { $date: dateText(value) }
  if (value instanceof ArrayBuffer) return bytes(new Uint8Array(value), 'ArrayBuffer', room)
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value
    return bytes(new Uint8Array(buffer, byteOffset, byteLength), value.constructor.name, room)
  }
  if (!isPlain(value)) return { $instance: instanceName(value) }
  const copy: [string, Json][] = []
  for (const key of Object.keys(value)) {
    if (room.isFull) break
    copy.push([room.cut(key), valueAt(key, (value as Record<string, unknown>)[key], room)])
  }
  return Object.fromEntries(copy)
}

function valueAt(key: unknown, value: unknown, room: Room): Json {
  return room.hides(key) ? redactedText : toJson(value, room)
}

function listOf<T>(items: Iterable<T>, room: Room, copy: (item: T) => Json): Json[] {
  const list: Json[] = []
  for (const item of items) {
    if (room.isFull) break
    list.push(copy(item))
  }
  return list
}

/** Also of another realm, as made by a thread or a test. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** An instance may hold connections and passwords: only its class is shown. */
function instanceName(value: object): string {
  const { name } = (value.constructor ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' ? name.slice(0, 100) : 'Object'
}

function dateText(date: { getTime(): number; toISOString(): string }): string | null {
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

function bytes(content: Uint8Array, of: string, room: Room): Json {
  const { buffer, byteOffset, byteLength } = room.cut(content)
  return { $bytes: Buffer.from(buffer, byteOffset, byteLength).toString('base64'), of }
}
