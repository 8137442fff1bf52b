import { describe, HeddleError } from '../errors.ts'
import { PresentItems } from './present.ts'
import {
  binaryKinds,
  copyLength,
  maxShapeKeys,
  maxShapes,
  pieceLength,
  smallInt,
  Tag,
} from './tags.ts'

/** The cost that a step is charged for one value, in bytes: a value costs about as much as copying these. */
const valueCost = 64

/** The cost that a step is charged for a hole, and how many holes it reads in one go: about 0.3 ms. */
const holeCost = 128
const mostHoles = 2048

/** Copying is about four times cheaper than turning text into bytes. */
const copyDiscount = 4

/** Values up to here are complete in one piece, and are kept in a row of the disk tier. */
const firstPieceSize = 128 * 1024
const pieceSize = 256 * 1024

/** Short texts are written character by character: a native call costs more than the loop. */
const shortText = 32

/** A piece of output with the views that write into it: making them costs more than a small value. */
class Piece {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly view: DataView
  readonly text: Buffer

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
    this.view = new DataView(this.bytes.buffer)
    this.text = Buffer.from(this.bytes.buffer)
  }
}

/** The piece of the last encoder that fitted into one; most values do. */
let spare: Piece | undefined

/** A list of keys, found key by key. The child that was taken last is tried first: neighbouring objects have the same keys. */
class Shape {
  id = -1
  #lastKey: string | undefined
  #lastChild: Shape | undefined
  /** Made for the second child: most shapes have one, and a map costs more than a small value. */
  #children: Map<string, Shape> | undefined

  child(key: string, grow: boolean): Shape | undefined {
    if (key === this.#lastKey) return this.#lastChild
    let child = this.#children?.get(key)
    if (child === undefined && grow) {
      child = new Shape()
      if (this.#lastKey !== undefined) {
        this.#children ??= new Map([[this.#lastKey, this.#lastChild!]])
        this.#children.set(key, child)
      }
    }
    if (child !== undefined) {
      this.#lastKey = key
      this.#lastChild = child
    }
    return child
  }
}

/** The holes of an array. */
interface Holes {
  readonly present: PresentItems
  /** The start of the run that is not written yet, else -1. */
  from: number
}

/** A container whose values are still to be written. */
class Frame {
  readonly tag: number
  readonly source: object | string
  readonly keys: readonly string[] | undefined
  readonly length: number
  readonly items: Iterator<unknown> | undefined
  index = 0
  /** Holes of a sparse array. */
  holes: Holes | undefined

  constructor(
    tag: number,
    source: object | string,
    length: number,
    keys?: readonly string[],
    items?: Iterator<unknown>,
  ) {
    this.tag = tag
    this.source = source
    this.length = length
    this.keys = keys
    this.items = items
  }

  /** The position, in its container, of the value being written, for messages. */
  get place(): string {
    if (this.keys !== undefined) return `.${this.keys[this.index - 1] ?? ''}`
    return this.tag === Tag.map ? `.entry(${this.index >> 1})` : `[${this.index - 1}]`
  }
}

/**
 * Turns a value into bytes, a step at a time.
 *
 * It never recurses, so depth is limited by memory only, and it can stop between any two values.
 * The value must not change until the last step: see the ownership rule of the cache. Where the value may
 * belong to code that still runs, `encodeUnchanged` finds out whether it did.
 *
 * Shared references are written once for each place; a cycle is refused, as are functions, symbols,
 * class instances and memory shared with other threads.
 */
export class Encoder {
  readonly #what: string
  readonly #value: unknown
  readonly #limit: number
  readonly #stack: Frame[] = []
  readonly #shapes = new Shape()
  #shapeCount = 0
  #piece: Piece
  #at = 0
  #finished: Uint8Array<ArrayBuffer>[] = []
  #finishedBytes = 0
  #started = false
  #values = 0
  /** The error of ours that ended it, to tell it from those of the caller's code. */
  #refusal: HeddleError | undefined

  /** `key` is named in errors; more than `limit` bytes are refused. */
  constructor(key: string, value: unknown, limit: number) {
    this.#what = key
    this.#value = value
    this.#limit = limit
    this.#piece = spare ?? new Piece(firstPieceSize)
    spare = undefined
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#finishedBytes + this.#at
  }

  /** Values written so far, the containers included. */
  get values(): number {
    return this.#values
  }

  /**
   * Works for about `budget` bytes. True when the value is complete.
   *
   * Reading a value can run the caller's code: getters and the traps of a proxy. Whatever that throws
   * makes the value one that cannot be stored, and is the cause of the error.
   *
   * @throws `HDL_NOT_CLONEABLE`, `HDL_VALUE_TOO_LARGE`
   */
  step(budget: number): boolean {
    try {
      return this.#work(budget)
    } catch (error) {
      if (error === this.#refusal) throw error
      throw this.#refuse(`cannot be read (${describe(error)})`, error)
    }
  }

  #work(budget: number): boolean {
    if (!this.#started) {
      this.#started = true
      budget -= this.#write(this.#value)
    }
    const stack = this.#stack
    while (stack.length > 0) {
      if (budget <= 0) return false
      budget -= this.#advance(stack.at(-1)!)
    }
    this.#checkSize()
    return true
  }

  /** The pieces that are complete. After the last step: all that is left. They belong to the caller. */
  take(): Uint8Array<ArrayBuffer>[] {
    if (this.#stack.length === 0) this.#flush()
    const pieces = this.#finished
    this.#finished = []
    return pieces
  }

  /** The whole value, when it fitted into the first piece. */
  takeWhole(): Uint8Array<ArrayBuffer> | undefined {
    if (this.#stack.length > 0 || this.#finishedBytes > 0) return undefined
    const whole = this.#piece.bytes.slice(0, this.#at)
    spare = this.#piece
    return whole
  }

  #advance(frame: Frame): number {
    if (frame.index >= frame.length) {
      this.#stack.pop()
      return 0
    }
    const index = frame.index++
    switch (frame.tag) {
      case Tag.array: {
        const items = frame.source as readonly unknown[]
        const item = items[index]
        if (item === undefined && !(index in items)) return this.#skipHoles(frame, items, index)
        return this.#write(item)
      }
      case Tag.object:
        return this.#write((frame.source as Record<string, unknown>)[frame.keys![index]!])
      case Tag.dictionary: {
        const key = frame.keys![index]!
        return this.#key(key) + this.#write((frame.source as Record<string, unknown>)[key])
      }
      case Tag.pieces:
        return this.#nextText(frame)
      case Tag.binary:
        return this.#nextBytes(frame)
      default:
        return this.#nextItem(frame)
    }
  }

  /** A run is written when its end is known: how far a step looks must not show in the bytes. */
  #skipHoles(frame: Frame, items: readonly unknown[], index: number): number {
    const holes = (frame.holes ??= { present: new PresentItems(items), from: -1 })
    if (holes.from < 0) holes.from = index
    const next = holes.present.find(index + 1, frame.length, mostHoles)
    frame.index = next
    const cost = valueCost + Math.min(next - index, mostHoles) * holeCost
    if (next < frame.length && !(next in items)) return cost
    const count = next - holes.from
    holes.from = -1
    if (count === 1) return this.#tag(Tag.hole)
    this.#tag(Tag.holes)
    this.#varint(count)
    return cost
  }

  #nextItem(frame: Frame): number {
    const { done, value } = frame.items!.next()
    if (done) throw this.#refuse('changed while it was written')
    return this.#write(value)
  }

  #nextText(frame: Frame): number {
    const text = frame.source as string
    // The frame counts in pieces; where they begin is worked out so that no surrogate pair is cut.
    const start = cutAt(text, (frame.index - 1) * pieceLength)
    return this.#text(text.slice(start, cutAt(text, frame.index * pieceLength)))
  }

  #nextBytes(frame: Frame): number {
    const bytes = frame.source as Uint8Array
    const start = (frame.index - 1) * copyLength
    const copy = new Uint8Array(Math.min(copyLength, bytes.length - start))
    copy.set(bytes.subarray(start, start + copy.length))
    this.#finish(copy)
    return copy.length / copyDiscount
  }

  #write(value: unknown): number {
    this.#values++
    switch (typeof value) {
      case 'string':
        return this.#string(value)
      case 'number':
        return this.#number(value)
      case 'boolean':
        return this.#tag(value ? Tag.true : Tag.false)
      case 'undefined':
        return this.#tag(Tag.undefined)
      case 'object':
        return value === null ? this.#tag(Tag.null) : this.#object(value)
      case 'bigint': {
        this.#tag(Tag.bigint)
        this.#tag(value < 0n ? 1 : 0)
        return this.#text((value < 0n ? -value : value).toString(16))
      }
      case 'function':
      case 'symbol':
      default:
        throw this.#refuse(`is a ${typeof value}`)
    }
  }

  #number(value: number): number {
    if ((value | 0) === value && !Object.is(value, -0)) {
      if (value >= 0 && value < 128) return this.#tag(smallInt + value)
      this.#tag(Tag.int)
      this.#varint(((value << 1) ^ (value >> 31)) >>> 0)
      return valueCost
    }
    return this.#double(Tag.double, value)
  }

  #double(tag: number, value: number): number {
    this.#room(9)
    this.#piece.bytes[this.#at] = tag
    this.#piece.view.setFloat64(this.#at + 1, value, true)
    this.#at += 9
    return valueCost
  }

  #string(text: string): number {
    const { length } = text
    if (length > pieceLength) {
      this.#tag(Tag.pieces)
      const pieces = Math.ceil(length / pieceLength)
      this.#varint(pieces)
      this.#push(new Frame(Tag.pieces, text, pieces))
      return valueCost
    }
    if (length > shortText) return this.#text(text)
    this.#room(length + 2)
    const { bytes } = this.#piece
    let at = this.#at + 2
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code > 127) return this.#text(text)
      bytes[at++] = code
    }
    bytes[this.#at] = Tag.ascii
    bytes[this.#at + 1] = length
    this.#at = at
    return valueCost + length
  }

  /** In one go, however long: the next bytes must not come before it. */
  #key(key: string): number {
    return key.length > pieceLength ? this.#text(key) : this.#string(key)
  }

  #text(text: string): number {
    const length = Buffer.byteLength(text, 'utf8')
    if (length === text.length) return this.#encoded(Tag.ascii, text, length, 'latin1')
    // Half of a surrogate pair has no UTF-8 form, and must come back as it was.
    if (text.isWellFormed()) return this.#encoded(Tag.utf8, text, length, 'utf8')
    return this.#encoded(Tag.utf16, text, text.length * 2, 'utf16le')
  }

  #encoded(tag: number, text: string, length: number, encoding: BufferEncoding): number {
    this.#tag(tag)
    this.#varint(length)
    this.#room(length)
    this.#piece.text.write(text, this.#at, length, encoding)
    this.#at += length
    return valueCost + length
  }

  #object(value: object): number {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (Array.isArray(value)) {
      if (prototype !== Array.prototype) this.#refuseSubclass(prototype)
      this.#tag(Tag.array)
      this.#varint(value.length)
      return this.#push(new Frame(Tag.array, value, value.length))
    }
    // Also the Object.prototype of another realm: an object without a prototype of its own has no class.
    if (prototype === null || Object.getPrototypeOf(prototype) === null) return this.#plain(value)
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return this.#binary(value)
    if (value instanceof Map) {
      if (prototype !== Map.prototype) this.#refuseSubclass(prototype)
      this.#tag(Tag.map)
      this.#varint(value.size)
      return this.#push(new Frame(Tag.map, value, value.size * 2, undefined, inTurn(value)))
    }
    if (value instanceof Set) {
      if (prototype !== Set.prototype) this.#refuseSubclass(prototype)
      this.#tag(Tag.set)
      this.#varint(value.size)
      return this.#push(new Frame(Tag.set, value, value.size, undefined, value.values()))
    }
    // oxlint-disable-next-line no-restricted-globals -- a date that is data, not the time of day
    if (value instanceof Date) return this.#double(Tag.date, value.getTime())
    throw this.#refuseInstance(prototype)
  }

  /** A class that extends a built-in one would be read back without its fields and methods. Those of another realm pass. */
  #refuseSubclass(prototype: unknown): void {
    if (prototype === null) return
    const base: unknown = Object.getPrototypeOf(prototype)
    if (base !== null && Object.getPrototypeOf(base) !== null) throw this.#refuseInstance(prototype)
  }

  #refuseInstance(prototype: unknown): HeddleError {
    const name = (prototype as { constructor?: { name?: string } }).constructor?.name
    return this.#refuse(`is an instance of ${name === undefined || name === '' ? 'a class' : name}`)
  }

  #plain(value: object): number {
    const keys = Object.keys(value)
    const shape = keys.length <= maxShapeKeys ? this.#shapeOf(keys) : undefined
    let cost = valueCost
    if (shape === undefined) {
      this.#tag(Tag.dictionary)
      this.#varint(keys.length)
    } else if (shape.id >= 0) {
      this.#tag(Tag.object)
      this.#varint(shape.id)
    } else {
      shape.id = this.#shapeCount++
      this.#tag(Tag.shape)
      this.#varint(keys.length)
      for (const key of keys) cost += this.#key(key)
    }
    const tag = shape === undefined ? Tag.dictionary : Tag.object
    return cost + this.#push(new Frame(tag, value, keys.length, keys))
  }

  #shapeOf(keys: readonly string[]): Shape | undefined {
    const grow = this.#shapeCount < maxShapes
    let shape: Shape | undefined = this.#shapes
    for (const key of keys) {
      shape = shape.child(key, grow)
      if (shape === undefined) return undefined
    }
    return shape.id >= 0 || grow ? shape : undefined
  }

  #binary(value: ArrayBufferView | ArrayBuffer): number {
    const kind = binaryKinds.findIndex((each) => value instanceof each)
    const buffer = value instanceof ArrayBuffer ? value : value.buffer
    if (kind < 0 || !(buffer instanceof ArrayBuffer)) {
      throw this.#refuse('is memory that is shared with other threads, or of an unknown kind')
    }
    const bytes =
      value instanceof ArrayBuffer
        ? new Uint8Array(value)
        : new Uint8Array(buffer, value.byteOffset, value.byteLength)
    this.#tag(Tag.binary)
    this.#tag(kind)
    this.#varint(bytes.length)
    // Aligned, so that the reader can view the bytes in place.
    while (this.bytes % 8 !== 0) this.#tag(0)
    if (this.#at + bytes.length <= this.#piece.bytes.length) {
      this.#piece.bytes.set(bytes, this.#at)
      this.#at += bytes.length
      return valueCost + bytes.length / copyDiscount
    }
    this.#flush()
    return this.#push(new Frame(Tag.binary, bytes, Math.ceil(bytes.length / copyLength)))
  }

  #push(frame: Frame): number {
    const stack = this.#stack
    stack.push(frame)
    const depth = stack.length
    // Looked at when the depth doubles: a cycle gets that deep, and honest data pays next to nothing.
    if (depth >= 1024 && (depth & (depth - 1)) === 0) {
      if (new Set(stack.map((each) => each.source)).size < depth) {
        throw this.#refuse('contains itself')
      }
    }
    return valueCost
  }

  #tag(tag: number): number {
    if (this.#at === this.#piece.bytes.length) this.#room(1)
    this.#piece.bytes[this.#at++] = tag
    return valueCost
  }

  #varint(value: number): void {
    this.#room(5)
    const { bytes } = this.#piece
    while (value > 127) {
      bytes[this.#at++] = (value & 127) | 128
      value >>>= 7
    }
    bytes[this.#at++] = value
  }

  #room(size: number): void {
    if (this.#at + size <= this.#piece.bytes.length) return
    this.#flush()
    if (size > this.#piece.bytes.length) this.#piece = new Piece(size)
  }

  #flush(): void {
    if (this.#at === 0) return
    // A copy that covers its memory: it may be given away, and the piece is used again.
    const piece = this.#piece.bytes.slice(0, this.#at)
    if (this.#piece.bytes.length < pieceSize) {
      spare = this.#piece
      this.#piece = new Piece(pieceSize)
    }
    this.#at = 0
    this.#finish(piece)
  }

  #finish(piece: Uint8Array<ArrayBuffer>): void {
    this.#finished.push(piece)
    this.#finishedBytes += piece.length
    this.#checkSize()
  }

  #checkSize(): void {
    if (this.bytes <= this.#limit) return
    const details = { key: this.#what, bytes: this.bytes, limit: this.#limit }
    throw (this.#refusal = new HeddleError('HDL_VALUE_TOO_LARGE', details))
  }

  /** The error that refuses the value at the place where the encoder is. */
  #refuse(problem: string, cause?: unknown): HeddleError {
    const places = this.#stack.map((frame) => frame.place)
    // The beginning and the end say where it is; a cycle would fill the screen.
    const path = places.length > 12 ? [...places.slice(0, 6), ' … ', ...places.slice(-6)] : places
    const where = path.join('') || 'it'
    const what = `The value of "${this.#what}"`
    const details = { what, action: 'be stored', cause: `${where} ${problem}` }
    this.#refusal = new HeddleError('HDL_NOT_CLONEABLE', details, { cause })
    return this.#refusal
  }
}

/** The nearest place at or before `index` that is not inside a surrogate pair. */
function cutAt(text: string, index: number): number {
  if (index >= text.length) return text.length
  const before = text.charCodeAt(index - 1)
  return before >= 0xd800 && before <= 0xdbff ? index - 1 : index
}

function* inTurn(map: ReadonlyMap<unknown, unknown>): Generator {
  for (const [key, value] of map) {
    yield key
    yield value
  }
}
