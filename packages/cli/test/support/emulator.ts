/**
 * The part of a terminal that the screen uses: the screen and the scrollback.
 *
 * Lines are kept as the program wrote them, so that a resize can wrap them again as terminals do.
 */
import { widthOf } from '../../src/text/terminal-text.ts'

/** One hard line: the text between two line feeds. */
type HardLine = string[]

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const sequence = /\u001b\[([?\d;]*)([A-Za-z])/y
/** The beginning of an escape sequence at the end of a chunk: a pipe may cut anywhere. */
// oxlint-disable-next-line no-control-regex -- see above
const begun = /\u001b(?:\[[?\d;]*)?$/

export class Emulator {
  columns: number
  rows: number
  cursorVisible = true
  wrap = true
  /** Whether a frame has begun and is not complete. */
  isDrawing = false
  /** How often something was written. */
  writes = 0
  /** Cells of all rows since the start; '' is the right half of a wide character. */
  #cells: HardLine[] = [[]]
  /** Whether a row continues in the next one because it was full. */
  #soft: boolean[] = [false]
  #row = 0
  #column = 0
  #top = 0
  #begun = ''

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
  }

  write(piece: string): true {
    this.writes++
    let text = this.#begun + piece
    this.#begun = begun.exec(text)?.[0] ?? ''
    text = text.slice(0, text.length - this.#begun.length)
    let at = 0
    while (at < text.length) {
      sequence.lastIndex = at
      const found = sequence.exec(text)
      if (found !== null) {
        this.#control(found[1]!, found[2]!)
        at = sequence.lastIndex
        continue
      }
      const next = text.slice(at).search(/[\u001b\r\n]/)
      const end = next < 0 ? text.length : at + Math.max(next, 1)
      const plain = text.slice(at, end)
      if (plain === '\r') this.#column = 0
      else if (plain === '\n') this.#lineFeed()
      else if (plain.startsWith('\u001b'))
        throw new Error(`Unknown sequence ${JSON.stringify(text.slice(at, at + 10))}`)
      else this.#print(plain)
      at = end
    }
    return true
  }

  /** The text on the screen, without spaces at the ends of lines. */
  get screen(): string[] {
    return this.#cells.slice(this.#top, this.#top + this.rows).map(textOf)
  }

  /** Everything since the start, the screen included, with lines that were wrapped put together again. */
  get everything(): string[] {
    const lines: string[] = []
    let line = ''
    for (const [i, cells] of this.#cells.entries()) {
      line += cells.join('')
      if (this.#soft[i] === true) continue
      lines.push(line.trimEnd())
      line = ''
    }
    return lines
  }

  get cursor(): { readonly row: number; readonly column: number } {
    return { row: this.#row - this.#top, column: this.#column }
  }

  /** Wraps all lines again, as terminals that reflow do. */
  resize(columns: number, rows: number): void {
    const cells: HardLine[] = []
    const soft: boolean[] = []
    let hard: string[] = []
    let cursorRow = 0
    let cursorOffset: number | undefined
    let cursorColumn = 0
    for (const [i, row] of this.#cells.entries()) {
      if (i === this.#row) cursorOffset = hard.length + this.#column
      hard.push(...row)
      if (this.#soft[i] === true) continue
      const pieces = wrapped(trimEnd(hard), columns)
      if (cursorOffset !== undefined) {
        const piece = Math.min(pieces.length - 1, Math.floor(cursorOffset / columns))
        cursorRow = cells.length + piece
        cursorColumn = Math.min(columns - 1, cursorOffset - piece * columns)
        cursorOffset = undefined
      }
      for (const [k, piece] of pieces.entries()) {
        cells.push(piece)
        soft.push(k < pieces.length - 1)
      }
      hard = []
    }
    this.columns = columns
    this.rows = rows
    this.#cells = cells
    this.#soft = soft
    this.#row = cursorRow
    this.#column = cursorColumn
    this.#top = Math.max(0, this.#row - rows + 1, Math.min(this.#top, cells.length - rows))
  }

  #control(parameters: string, final: string): void {
    const n = Number(parameters.replace('?', '') || '0')
    if (final === 'm') return
    if (final === 'A') this.#row = Math.max(this.#top, this.#row - Math.max(1, n))
    else if (final === 'J' && n === 0) this.#eraseBelow()
    else if (final === 'K' && n === 0)
      this.#cells[this.#row]!.length = Math.min(this.#cells[this.#row]!.length, this.#column)
    else if (parameters === '?25') this.cursorVisible = final === 'h'
    else if (parameters === '?7') this.wrap = final === 'h'
    else if (parameters === '?2026') this.isDrawing = final === 'h'
    else throw new Error(`Unknown sequence CSI ${parameters}${final}`)
  }

  #eraseBelow(): void {
    const row = this.#cells[this.#row]!
    row.length = Math.min(row.length, this.#column)
    this.#soft[this.#row] = false
    this.#cells.length = this.#row + 1
    this.#soft.length = this.#row + 1
  }

  #lineFeed(): void {
    this.#row++
    while (this.#cells.length <= this.#row) {
      this.#cells.push([])
      this.#soft.push(false)
    }
    this.#top = Math.max(this.#top, this.#row - this.rows + 1)
  }

  #print(text: string): void {
    for (const { segment } of characters.segment(text)) {
      const width = widthOf(segment)
      if (width === 0) continue
      if (this.#column + width > this.columns) {
        if (!this.wrap) {
          this.#column = this.columns - width
        } else {
          this.#soft[this.#row] = true
          this.#lineFeed()
          this.#column = 0
        }
      }
      const row = this.#cells[this.#row]!
      while (row.length < this.#column) row.push(' ')
      row[this.#column++] = segment
      if (width === 2) row[this.#column++] = ''
    }
  }
}

function trimEnd(cells: readonly string[]): string[] {
  const end = cells.findLastIndex((cell) => cell !== ' ')
  return cells.slice(0, end + 1)
}

function wrapped(cells: readonly string[], columns: number): string[][] {
  const rows: string[][] = [[]]
  for (let i = 0; i < cells.length; i++) {
    const width = cells[i + 1] === '' ? 2 : 1
    if (rows.at(-1)!.length + width > columns) rows.push([])
    rows.at(-1)!.push(...cells.slice(i, i + width))
    i += width - 1
  }
  return rows
}

function textOf(cells: readonly string[]): string {
  return cells.join('').trimEnd()
}
