import { HeddleError } from '../errors.ts'
import { binaryKinds, copyLength, smallInt, Tag } from './tags.ts'

/** Same cost as in the encoder. Making objects costs more than reading them. */
const valueCost = 96
const copyDiscount = 4

/**
 * Short texts are cut out of a window of this many characters, which is decoded in one native call:
 * a call for each of them would cost four times as much. Longer than half of it, they get their own.
 */
const windowLength = 2 ** 18

/** A list of keys. `__proto__` as a key of its own must be defined, not assigned. */
interface Shape {
  readonly keys: readonly string[]
  readonly safe: boolean
}

/** A container whose values are still to be read. */
class Frame {
  readonly tag: number
  readonly length: number
  readonly shape: Shape | undefined
  target: unknown
  index = 0
  /** The key of a map or dictionary whose value comes next. */
  key: unknown

  constructor(tag: number, target: unknown, length: number, shape?: Shape) {
    this.tag = tag
    this.target = target
    this.length = length
    this.shape = shape
  }
}

/** Stands for "a container was opened: its values come first". */
const opened: unique symbol = Symbol('opened')

/**
 * Turns bytes back into the value, a step at a time.
 *
 * Every length is checked against the remaining bytes before anything of that size is made, so damaged
 * bytes end in an error and never in a crash. Large binary data is viewed in place, in the
 * memory of `body`; small binary data in a large value is copied, so that it does not keep all of it.
 */
export class Decoder {
  readonly #body: Uint8Array<ArrayBuffer>
  readonly #view: DataView
  readonly #text: Buffer
  readonly #mayLook: boolean
  readonly #stack: Frame[] = []
  readonly #shapes: Shape[] = []
  #window = ''
  #windowStart = 0
  #at = 0
  #values = 0
  #result: unknown
  #done = false

  /** With `mayLook` false all binary data is copied: each array then has a buffer of its own. */
  constructor(body: Uint8Array<ArrayBuffer>, mayLook = true) {
    this.#body = body
    this.#mayLook = mayLook
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength)
    this.#text = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  }

  /** Values read so far, the containers included. */
  get values(): number {
    return this.#values
  }

  /** The value. Only after the last step. */
  get result(): unknown {
    return this.#result
  }

  /**
   * Goes on for about `budget` bytes of work. True when the value is complete.
   *
   * @throws `HDL_STORE_FAILED` when the bytes are damaged.
   */
  step(budget: number): boolean {
    const start = this.#at
    let values = 0
    while (!this.#done) {
      if (this.#at - start + values * valueCost >= budget) return false
      values++
      const frame = this.#stack.at(-1)
      if (frame?.tag === Tag.binary) budget -= this.#copy(frame)
      else {
        const value = this.#read()
        if (value !== opened) this.#put(value)
      }
      this.#close()
    }
    if (this.#at !== this.#body.length) throw this.#damaged('there is more than one value')
    return true
  }

  /** Hands complete containers to the ones they are in. */
  #close(): void {
    const stack = this.#stack
    for (let top = stack.at(-1); top !== undefined && top.index >= top.length; top = stack.at(-1)) {
      stack.pop()
      this.#put(top.target)
    }
  }

  #put(value: unknown): void {
    const frame = this.#stack.at(-1)
    if (frame === undefined) {
      this.#result = value
      this.#done = true
      return
    }
    const index = frame.index++
    switch (frame.tag) {
      case Tag.array:
        ;(frame.target as unknown[])[index] = value
        break
      case Tag.object:
        this.#assign(frame, frame.shape!.keys[index]!, value)
        break
      case Tag.dictionary:
        this.#assign(frame, frame.key as string, value)
        break
      case Tag.pieces:
        // Text grows as a rope: joining in one go would copy all of it at once.
        ;(frame.target as string) += value as string
        break
      case Tag.set:
        ;(frame.target as Set<unknown>).add(value)
        break
      default:
        if (index % 2 === 0) frame.key = value
        else (frame.target as Map<unknown, unknown>).set(frame.key, value)
    }
  }

  #assign(frame: Frame, key: string, value: unknown): void {
    const target = frame.target as Record<string, unknown>
    if (frame.shape?.safe === true || key !== '__proto__') target[key] = value
    else {
      const property = { value, writable: true, enumerable: true, configurable: true }
      Object.defineProperty(target, key, property)
    }
  }

  #read(): unknown {
    const frame = this.#stack.at(-1)
    if (frame?.tag === Tag.dictionary) frame.key = this.#key()
    this.#values++
    const tag = this.#byte()
    if (tag >= smallInt) return tag - smallInt
    switch (tag) {
      case Tag.undefined:
        return undefined
      case Tag.null:
        return null
      case Tag.false:
        return false
      case Tag.true:
        return true
      case Tag.hole:
        return this.#holes(frame, 1)
      case Tag.holes:
        return this.#holes(frame, this.#varint())
      case Tag.int: {
        const zigzag = this.#varint()
        return (zigzag >>> 1) ^ -(zigzag & 1)
      }
      case Tag.double:
        return this.#double()
      case Tag.date:
        // oxlint-disable-next-line no-restricted-globals -- a date that is data, not the time of day
        return new Date(this.#double())
      case Tag.bigint: {
        const negative = this.#byte() === 1
        const size = BigInt(`0x${this.#key()}`)
        return negative ? -size : size
      }
      case Tag.ascii:
      case Tag.utf8:
      case Tag.utf16:
        return this.#string(tag)
      case Tag.binary:
        return this.#binary()
      default:
        return this.#open(tag)
    }
  }

  /** A container. */
  #open(tag: number): typeof opened {
    const count = this.#varint()
    switch (tag) {
      case Tag.object: {
        const shape = this.#shapes[count]
        if (shape === undefined) throw this.#damaged(`there is no list of keys ${count}`)
        return this.#push(new Frame(Tag.object, {}, shape.keys.length, shape))
      }
      case Tag.shape: {
        this.#checkLeft(count)
        const keys = Array.from({ length: count }, () => this.#key())
        const shape = { keys, safe: !keys.includes('__proto__') }
        this.#shapes.push(shape)
        return this.#push(new Frame(Tag.object, {}, count, shape))
      }
      case Tag.array:
        // Not checked: holes take no bytes, and nothing of this size is made.
        return this.#push(new Frame(tag, [], count))
      case Tag.dictionary:
        return this.#push(new Frame(tag, {}, this.#checkLeft(count)))
      case Tag.pieces:
        return this.#push(new Frame(tag, '', this.#checkLeft(count)))
      case Tag.map:
        return this.#push(new Frame(tag, new Map(), this.#checkLeft(count * 2)))
      case Tag.set:
        return this.#push(new Frame(tag, new Set(), this.#checkLeft(count)))
      default:
        throw this.#damaged(`there is no tag ${tag}: it may be of a newer version of Heddle`)
    }
  }

  #push(frame: Frame): typeof opened {
    this.#stack.push(frame)
    return opened
  }

  #holes(frame: Frame | undefined, count: number): typeof opened {
    if (frame?.tag !== Tag.array) throw this.#damaged('a hole is not in an array')
    frame.index += count
    if (frame.index > frame.length) throw this.#damaged('there are more holes than places')
    if (frame.index === frame.length) endWithHole(frame.target as unknown[], frame.length)
    return opened
  }

  #key(): string {
    const tag = this.#byte()
    if (tag !== Tag.ascii && tag !== Tag.utf8 && tag !== Tag.utf16) {
      throw this.#damaged(`tag ${tag} is not text`)
    }
    return this.#string(tag)
  }

  #string(tag: number): string {
    const length = this.#checkLeft(this.#varint())
    const start = this.#at
    this.#at += length
    if (tag === Tag.utf8) return this.#text.toString('utf8', start, this.#at)
    if (tag === Tag.utf16) return this.#text.toString('utf16le', start, this.#at)
    if (length > windowLength / 2) return this.#text.toString('latin1', start, this.#at)
    // It is not moved back: text is read in order.
    if (this.#at > this.#windowStart + this.#window.length) {
      this.#window = this.#text.toString('latin1', start, start + windowLength)
      this.#windowStart = start
    }
    const from = start - this.#windowStart
    return this.#window.slice(from, from + length)
  }

  #binary(): unknown {
    const kind = binaryKinds[this.#byte()]
    if (kind === undefined) throw this.#damaged('there is no such kind of binary data')
    const length = this.#varint()
    while (this.#at % 8 !== 0) this.#at++
    this.#checkLeft(length)
    const start = this.#body.byteOffset + this.#at
    if (length % ('BYTES_PER_ELEMENT' in kind ? kind.BYTES_PER_ELEMENT : 1) !== 0) {
      throw this.#damaged('binary data is cut inside an element')
    }
    if (length === 0) return viewOf(kind, new ArrayBuffer(0), 0, 0)
    const isMostOfIt = length * 2 >= this.#body.buffer.byteLength && start % 8 === 0
    if (this.#mayLook && isMostOfIt && kind !== ArrayBuffer) {
      this.#at += length
      return viewOf(kind, this.#body.buffer, start, length)
    }
    const copy = new Uint8Array(length)
    this.#stack.push(new Frame(Tag.binary, { kind, copy }, Math.ceil(length / copyLength)))
    return opened
  }

  /** The next piece of binary data that is copied. */
  #copy(frame: Frame): number {
    const { kind, copy } = frame.target as BinaryCopy
    const start = frame.index++ * copyLength
    const length = Math.min(copyLength, copy.length - start)
    copy.set(this.#body.subarray(this.#at, this.#at + length), start)
    this.#at += length
    if (frame.index === frame.length) frame.target = viewOf(kind, copy.buffer, 0, copy.length)
    // Its bytes were charged as text when the position moved.
    return length / copyDiscount - length
  }

  #double(): number {
    this.#checkLeft(8)
    this.#at += 8
    return this.#view.getFloat64(this.#at - 8, true)
  }

  #byte(): number {
    const byte = this.#body[this.#at++]
    if (byte === undefined) throw this.#damaged('it ends too early')
    return byte
  }

  #varint(): number {
    let result = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte()
      result |= (byte & 127) << shift
      if (byte < 128) return result >>> 0
    }
    throw this.#damaged('a length is too long')
  }

  /** Each counted item takes at least one byte, so a larger count is damage. */
  #checkLeft(count: number): number {
    if (count > this.#body.length - this.#at) throw this.#damaged('it ends too early')
    return count
  }

  #damaged(problem: string): HeddleError {
    return new HeddleError('HDL_STORE_FAILED', {
      store: 'A stored value',
      action: 'be read',
      cause: `at byte ${this.#at} ${problem}`,
    })
  }
}

/** Does not set the length: V8 would make room for all places. */
function endWithHole(items: unknown[], length: number): void {
  items[length - 1] = undefined
  Reflect.deleteProperty(items, length - 1)
}

type BinaryKind = (typeof binaryKinds)[number]

interface BinaryCopy {
  readonly kind: BinaryKind
  readonly copy: Uint8Array<ArrayBuffer>
}

function viewOf(kind: BinaryKind, buffer: ArrayBuffer, start: number, length: number): unknown {
  if (kind === ArrayBuffer) return buffer
  if (kind === DataView) return new DataView(buffer, start, length)
  const array = kind as Uint8ArrayConstructor
  return new array(buffer, start, length / array.BYTES_PER_ELEMENT)
}
