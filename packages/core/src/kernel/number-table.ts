const pieceBits = 12

/** How many records a piece has. */
export const pieceSize = 1 << pieceBits
const pieceMask = pieceSize - 1

/** Records in the first piece. It doubles until it is as large as the others: most tables are small. */
const fewestRecords = 64

type Numbers = Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>

/**
 * A growing table of numbers: records of a few fields each, by index.
 *
 * Numbers in a column of their own are not visited by the collector. The table grows by pieces that stay where
 * they are: one column that doubles would copy all of it at once, which holds the loop for 30 ms at three
 * million records.
 */
export class NumberTable<A extends Numbers> {
  readonly #pieces: A[] = []
  readonly #width: number
  readonly #make: (length: number) => A
  #capacity = 0

  /** `width` is the number of fields of a record; `make` makes a piece with the value that fields begin with. */
  constructor(width: number, make: (length: number) => A) {
    this.#width = width
    this.#make = make
  }

  /** Makes room for the record of an index. Records are added in order of their index. */
  add(index: number): void {
    if (index >= this.#capacity) this.#grow()
  }

  /** The piece in which the record of an index stands, at {@link offset}. */
  piece(index: number): A {
    return this.#pieces[index >> pieceBits]!
  }

  /** Where in its piece a record begins. */
  offset(index: number): number {
    return (index & pieceMask) * this.#width
  }

  #grow(): void {
    const [first] = this.#pieces
    if (first === undefined || this.#capacity >= pieceSize) {
      const records = first === undefined ? fewestRecords : pieceSize
      this.#pieces.push(this.#make(records * this.#width))
      this.#capacity += records
      return
    }
    this.#capacity *= 2
    const larger = this.#make(this.#capacity * this.#width)
    larger.set(first)
    this.#pieces[0] = larger
  }
}
