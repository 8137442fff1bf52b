/**
 * What a row of a timeline looks like in pixels: however many bars it has, a row of 1,000 pixels is at most 1,000
 * rectangles.
 *
 * Invariants, quoted by the tests:
 *  B1  A bar colours every pixel that it touches, at least one.
 *  B2  Where several bars touch one pixel the one with the higher weight is seen: a failure is never hidden.
 *  B3  Neighbouring pixels of one colour are one rectangle; rectangles do not overlap and are in order.
 */
export interface Span {
  /** Pixels. */
  readonly from: number
  readonly to: number
  /** The value that `colour` gave; 0 is nothing. */
  readonly colour: number
}

export class PixelRow {
  readonly #pixels: Uint8Array

  constructor(width: number) {
    this.#pixels = new Uint8Array(width)
  }

  clear(): void {
    this.#pixels.fill(0)
  }

  /** Colours are their own weights: a larger one covers a smaller one. */
  add(from: number, to: number, colour: number): void {
    const pixels = this.#pixels
    const first = Math.max(0, Math.floor(from))
    const last = Math.min(pixels.length - 1, Math.max(first, Math.ceil(to) - 1))
    if (to < 0 || from >= pixels.length) return
    for (let pixel = first; pixel <= last; pixel++) {
      if (pixels[pixel]! < colour) pixels[pixel] = colour
    }
  }

  spans(visit: (from: number, to: number, colour: number) => void): void {
    const pixels = this.#pixels
    let from = 0
    for (let pixel = 1; pixel <= pixels.length; pixel++) {
      if (pixel < pixels.length && pixels[pixel] === pixels[from]) continue
      if (pixels[from] !== 0) visit(from, pixel, pixels[from]!)
      from = pixel
    }
  }
}

/**
 * A row of one colour. A bar costs two writes however long it is: it is counted where it begins and where it ends, and
 * pixels are covered while the count is above zero. A node may wait for the whole of a run, and a row have thousands.
 */
export class CoverRow {
  /** How many more bars cover a pixel than the one before it. */
  readonly #steps: Int32Array

  constructor(width: number) {
    this.#steps = new Int32Array(width + 1)
  }

  clear(): void {
    this.#steps.fill(0)
  }

  add(from: number, to: number): void {
    const width = this.#steps.length - 1
    if (to < 0 || from >= width) return
    const first = Math.max(0, Math.floor(from))
    this.#steps[first]!++
    this.#steps[Math.min(width, Math.max(first + 1, Math.ceil(to)))]!--
  }

  spans(visit: (from: number, to: number, colour: number) => void): void {
    const steps = this.#steps
    let covering = 0
    let from = -1
    for (let pixel = 0; pixel < steps.length; pixel++) {
      covering += steps[pixel]!
      if (covering > 0 && from < 0) from = pixel
      if (covering === 0 && from >= 0) {
        visit(from, pixel, 1)
        from = -1
      }
    }
  }
}

/** All rectangles of a row. */
export function spansOf(row: PixelRow | CoverRow): Span[] {
  const found: Span[] = []
  row.spans((from, to, colour) => found.push({ from, to, colour }))
  return found
}
