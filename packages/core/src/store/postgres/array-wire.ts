/**
 * Arrays of PostgreSQL in its binary format, built value by value: columns of many rows as parameters of one statement. The
 * text format costs more on both sides: quotes and escapes here, and a parser there (docs/decisions/0193).
 *
 *     dimensions, has NULLs, type of the elements, length, first index, then for each element: length, bytes
 */

/** The numbers of the types in PostgreSQL's catalogue: fixed for ever. */
const typeNumbers = {
  smallint: 21,
  integer: 23,
  bigint: 20,
  'double precision': 701,
  text: 25,
  bytea: 17,
} as const

export type ElementType = keyof typeof typeNumbers

const headerBytes = 20
const firstSize = 4_096

/** Text of this length at most is copied character by character, which is cheaper than a call. */
const shortText = 24

export class ArrayWire {
  readonly #type: ElementType
  #bytes = Buffer.allocUnsafe(firstSize)
  #end = headerBytes
  #length = 0
  #hasNull = false

  constructor(type: ElementType) {
    this.#type = type
  }

  get length(): number {
    return this.#length
  }

  pushNull(): void {
    this.#reserve(4)
    this.#end = this.#bytes.writeInt32BE(-1, this.#end)
    this.#hasNull = true
    this.#length++
  }

  /** A number as the type of the elements has it; not for text and bytes. */
  pushNumber(value: number | null): void {
    if (value === null) return this.pushNull()
    this.#reserve(12)
    const bytes = this.#bytes
    const at = this.#end
    switch (this.#type) {
      case 'smallint':
        bytes.writeInt32BE(2, at)
        this.#end = bytes.writeInt16BE(value, at + 4)
        break
      case 'integer':
        bytes.writeInt32BE(4, at)
        this.#end = bytes.writeInt32BE(value, at + 4)
        break
      case 'bigint':
        bytes.writeInt32BE(8, at)
        bytes.writeInt32BE(Math.floor(value / 2 ** 32), at + 4)
        this.#end = bytes.writeUInt32BE((value % 2 ** 32) >>> 0, at + 8)
        break
      case 'double precision':
        bytes.writeInt32BE(8, at)
        this.#end = bytes.writeDoubleBE(value, at + 4)
        break
      case 'text':
      case 'bytea':
        throw new TypeError(`a number is not ${this.#type}`)
    }
    this.#length++
  }

  /** Text that PostgreSQL can hold: see stored-text.ts. */
  pushText(text: string | null): void {
    if (text === null) return this.pushNull()
    const { length } = text
    this.#reserve(4 + 3 * length)
    const bytes = this.#bytes
    const start = this.#end + 4
    let written = 0
    if (length <= shortText) {
      while (written < length) {
        const code = text.charCodeAt(written)
        if (code > 127) break
        bytes[start + written++] = code
      }
    }
    if (written < length) written = bytes.write(text, start)
    bytes.writeInt32BE(written, this.#end)
    this.#end = start + written
    this.#length++
  }

  pushBytes(body: Uint8Array | null): void {
    if (body === null) return this.pushNull()
    this.#reserve(4 + body.length)
    const start = this.#bytes.writeInt32BE(body.length, this.#end)
    this.#bytes.set(body, start)
    this.#end = start + body.length
    this.#length++
  }

  /** The parameter. Nothing may be pushed afterwards. */
  wire(): Buffer {
    const bytes = this.#bytes
    bytes.writeInt32BE(this.#length === 0 ? 0 : 1, 0)
    bytes.writeInt32BE(this.#hasNull ? 1 : 0, 4)
    bytes.writeInt32BE(typeNumbers[this.#type], 8)
    if (this.#length === 0) return bytes.subarray(0, 12)
    bytes.writeInt32BE(this.#length, 12)
    bytes.writeInt32BE(1, 16)
    return bytes.subarray(0, this.#end)
  }

  #reserve(count: number): void {
    const needed = this.#end + count
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}

/** Columns of one kind of row. */
export function arrayWires<const T extends readonly ElementType[]>(
  ...types: T
): { readonly [I in keyof T]: ArrayWire } {
  return types.map((type) => new ArrayWire(type)) as { [I in keyof T]: ArrayWire }
}
