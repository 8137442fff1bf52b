/**
 * Values that would hold up the loop if they were cloned in one go.
 *
 * Structured clone has no middle: a million small objects take the loop 400 ms, 200 MB of bytes 130.
 * Such a value is carried instead. Bytes are copied in slices, and the copy is moved. Everything else
 * is written with the codec, which can pause, and the bytes are moved; on the loop writing and
 * reading take slices, in a thread they do not.
 *
 * What the codec does not know (class instances, cycles, errors) is cloned as ever, in one go.
 */
import { Decoder } from '../codec/decoder.ts'
import { Encoder } from '../codec/encoder.ts'
import { encodeSliced, stepBudget } from '../codec/sliced.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'

/** Values, or kilobytes of text, from which on a value is carried: cloning it takes about 2 ms. */
const mostCloned = 4096

/** Bytes from which on a buffer is copied in slices. */
const mostCopied = 2 * 2 ** 20

/** Bytes of an encoded value at most: one that is larger holds the same objects over and over. */
const mostEncoded = 2 ** 30

/** Bytes copied between two readings of the clock. */
const copyStep = 2 ** 20

/** Fields of a value in which buffers are looked for: enough for `{ width, height, data }`. */
const mostFields = 16

/**
 * Whether cloning a value would take long, bytes left out. Reads no more than `mostCloned` values.
 * An unreadable value, such as a getter that throws, is left to the clone, which says so.
 */
export function isLarge(value: unknown): boolean {
  try {
    return isLargeValue(value)
  } catch {
    return false
  }
}

function isLargeValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'string' && value.length >>> 10 >= mostCloned
  }
  let left = mostCloned
  const stack: object[] = [value]
  const visit = (item: unknown): void => {
    left--
    if (typeof item === 'string') left -= item.length >>> 10
    else if (typeof item === 'object' && item !== null) stack.push(item)
  }
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (ArrayBuffer.isView(next) || next instanceof ArrayBuffer) continue
    if (Array.isArray(next) || next instanceof Set) {
      if (sizeOf(next) > left) return true
      for (const item of next) visit(item)
    } else if (next instanceof Map) {
      if (next.size > left) return true
      for (const [key, item] of next) {
        visit(key)
        visit(item)
      }
    } else if (isPlain(next)) {
      for (const key in next) {
        visit((next as Record<string, unknown>)[key])
        if (left < 0) return true
      }
    }
    if (left < 0) return true
  }
  return false
}

function sizeOf(list: readonly unknown[] | ReadonlySet<unknown>): number {
  return 'size' in list ? list.size : list.length
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The whole encoded value in one buffer of its own. Undefined when the codec does not know it. */
export function encodeLarge(what: string, value: unknown): Uint8Array<ArrayBuffer> | undefined {
  try {
    const encoder = new Encoder(what, value, mostEncoded)
    while (!encoder.step(Infinity)) continue
    return join(encoder.take())
  } catch {
    // Whether it can be sent at all is decided, and explained, by the clone.
    return undefined
  }
}

/**
 * Like encodeLarge(), on the loop: in slices, and in pieces that the thread joins. Each has a
 * buffer of its own.
 */
async function encodeLargeSliced(
  what: string,
  value: unknown,
  clock: Clock,
  isOver: () => boolean,
): Promise<Uint8Array<ArrayBuffer>[] | undefined> {
  try {
    const pieces: Uint8Array<ArrayBuffer>[] = []
    for await (const piece of encodeSliced(new Encoder(what, value, mostEncoded), clock)) {
      if (isOver()) return undefined
      pieces.push(piece)
    }
    return pieces
  } catch {
    return undefined
  }
}

/** The value of the pieces that carryInput() made. */
export function decodeLarge(pieces: readonly Uint8Array<ArrayBuffer>[]): unknown {
  const decoder = new Decoder(join(pieces), false)
  while (!decoder.step(stepBudget)) continue
  return decoder.result
}

function join(pieces: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** What makes an input large: its values, or bytes in its fields. */
export type Bulk = 'values' | 'bytes'

export function bulkOf(input: unknown): Bulk | undefined {
  if (typeof input !== 'object' && typeof input !== 'string') return undefined
  if (isLarge(input)) return 'values'
  try {
    return fieldsOf(input).some(isLargeBytes) ? 'bytes' : undefined
  } catch {
    return undefined
  }
}

/** An input on its way to a thread, with its transfer list. No one else has the buffers. */
export interface CarriedInput {
  readonly input: unknown
  readonly isEncoded: boolean
  readonly transfer: readonly ArrayBuffer[]
}

/**
 * Makes a large input ready to be sent, in slices. Undefined when the codec does not know it, or when
 * `isOver` said that it is not needed any more.
 */
export async function carryInput(
  what: string,
  input: unknown,
  bulk: Bulk,
  clock: Clock,
  isOver: () => boolean,
): Promise<CarriedInput | undefined> {
  if (bulk === 'bytes') return carryBytes(input, clock, isOver)
  const pieces = await encodeLargeSliced(what, input, clock, isOver)
  if (pieces === undefined) return undefined
  return { input: pieces, isEncoded: true, transfer: pieces.map(({ buffer }) => buffer) }
}

function isLargeBytes(value: unknown): value is ArrayBuffer | ArrayBufferView {
  if (value instanceof ArrayBuffer) return value.byteLength >= mostCopied
  // Memory that is shared stays shared.
  return (
    ArrayBuffer.isView(value) &&
    value.buffer instanceof ArrayBuffer &&
    value.byteLength >= mostCopied
  )
}

/** The value itself, or its fields when it is a plain object or a short array. */
function fieldsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.length > mostFields ? [] : value
  if (!isPlain(value)) return [value]
  const fields: unknown[] = []
  for (const key in value) {
    if (fields.push((value as Record<string, unknown>)[key]) > mostFields) return []
  }
  return fields
}

/** Copies the large buffers of an input. */
async function carryBytes(
  input: unknown,
  clock: Clock,
  isOver: () => boolean,
): Promise<CarriedInput | undefined> {
  const slices = new Slices(clock, 1)
  const copies = new Map<unknown, ArrayBuffer | ArrayBufferView>()
  const transfer: ArrayBuffer[] = []
  for (const field of fieldsOf(input)) {
    if (!isLargeBytes(field) || copies.has(field)) continue
    const source = field instanceof ArrayBuffer ? new Uint8Array(field) : bytesOf(field)
    const copy = new Uint8Array(source.length)
    for (let at = 0; at < source.length; at += copyStep) {
      if (slices.due) await slices.next()
      if (isOver()) return undefined
      copy.set(source.subarray(at, at + copyStep), at)
    }
    transfer.push(copy.buffer)
    copies.set(field, viewOf(field, copy.buffer))
  }
  return { input: replaceFields(input, copies), isEncoded: false, transfer }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** The same kind of view over all of the copy. A Buffer arrives as a Uint8Array, as it does when cloned. */
function viewOf(
  like: ArrayBuffer | ArrayBufferView,
  copy: ArrayBuffer,
): ArrayBuffer | ArrayBufferView {
  if (like instanceof ArrayBuffer) return copy
  if (Buffer.isBuffer(like)) return new Uint8Array(copy)
  const View = like.constructor as new (buffer: ArrayBuffer) => ArrayBufferView
  return new View(copy)
}

function replaceFields(input: unknown, copies: ReadonlyMap<unknown, unknown>): unknown {
  if (copies.has(input)) return copies.get(input)
  const replace = (field: unknown): unknown => (copies.has(field) ? copies.get(field) : field)
  if (Array.isArray(input)) return input.map(replace)
  const entries = Object.entries(input as object)
  return Object.fromEntries(entries.map(([key, field]) => [key, replace(field)]))
}
