/**
 * A live region at the end of ordinary output.
 *
 * The region is redrawn in place below the scrollback. Lines that are printed while it is shown go
 * above it and stay: they can be scrolled to and copied, also after the end. The alternate screen is
 * never used.
 *
 *   hidden ──draw()──▶ shown ──print(), draw()──▶ shown ──hide()──▶ hidden
 *
 * Between two calls the cursor rests, invisible, in the first column of the region's last line.
 *
 * Invariants, quoted by the tests:
 *  T1  After draw(lines) the terminal shows everything printed so far, then exactly these lines.
 *  T2  draw() of the current lines writes nothing; of a few changed lines, only those.
 *  T3  While hidden, the cursor is visible, at the start of an empty line, and wrapping is on.
 *  T4  Each call is one write: no other writer can come in between, and a crash in between two calls
 *      leaves no half sequence.
 *
 * Known limits: what writes to the terminal past this process (a child with inherited output) moves the
 * region; the next full redraw continues below it. A terminal that got narrower has already wrapped the
 * region again; its rows are computed as terminals that reflow do it. Parts of a region that were
 * pushed out of a window that got lower stay in the scrollback.
 */
import { rowsOf, widthOf } from '../text/terminal-text.ts'

/** Where a screen writes: `process.stdout` has it. */
export interface ScreenOutput {
  readonly columns: number
  readonly rows: number
  write(text: string): unknown
}

const csi = '\u001b['
const hideCursor = `${csi}?25l`
const showCursor = `${csi}?25h`
const wrapOff = `${csi}?7l`
const wrapOn = `${csi}?7h`
// Terminals that know it show the update at once; the others ignore it.
const beginUpdate = `${csi}?2026h`
const endUpdate = `${csi}?2026l`
const eraseBelow = `${csi}J`
const eraseRight = `${csi}K`

/** A line as it is written, and as it is read. */
export interface PaintedLine {
  readonly text: string
  readonly plain: string
}

export function painted(text: string, plain: string = text): PaintedLine {
  return { text, plain }
}

export class Screen {
  readonly #output: ScreenOutput
  #shown: readonly PaintedLine[] = []
  #columns: number

  constructor(output: ScreenOutput) {
    this.#output = output
    this.#columns = output.columns
  }

  get columns(): number {
    return this.#output.columns
  }

  get rows(): number {
    return this.#output.rows
  }

  get isShown(): boolean {
    return this.#shown.length > 0
  }

  /** Shows these lines in place of those that are shown, below `above`, which stays. */
  draw(lines: readonly PaintedLine[], above: readonly string[] = []): void {
    const isWhole = above.length > 0 || !this.isShown || this.#columns !== this.columns
    const text = isWhole ? this.#redraw(lines, above) : this.#difference(lines)
    this.#shown = lines
    this.#columns = this.columns
    if (text === '') return
    // While hidden nothing is to be left but the printed lines (T3).
    const cursor = lines.length > 0 ? hideCursor : showCursor
    this.#output.write(`${beginUpdate}${cursor}${text}${wrapOn}${endUpdate}`)
  }

  /** Prints lines above the region. */
  print(above: readonly string[]): void {
    if (above.length > 0) this.draw(this.#shown, above)
  }

  /** Removes the region; lines printed above it stay. */
  hide(): void {
    if (this.isShown) this.draw([])
  }

  /** The terminal was used by another program meanwhile: the region is not where it was. */
  forget(): void {
    this.#shown = []
  }

  #redraw(lines: readonly PaintedLine[], above: readonly string[]): string {
    const printed = above.map((line) => `${line}\r\n`).join('')
    const region = lines.map(({ text }) => text).join('\r\n')
    return `${this.#toTop()}${eraseBelow}${printed}${wrapOff}${region}\r`
  }

  #difference(lines: readonly PaintedLine[]): string {
    const shown = this.#shown
    let text = ''
    let at = shown.length - 1
    const goTo = (row: number): string => {
      const move = row < at ? `${csi}${at - row}A` : '\n'.repeat(row - at)
      at = row
      return `${move}\r`
    }
    for (const [row, line] of lines.entries()) {
      if (shown[row]?.text === line.text) continue
      // In the last column there is nothing right of the cursor but the character just written.
      const rest = widthOf(line.plain) < this.columns ? eraseRight : ''
      text += `${goTo(row)}${line.text}${rest}`
    }
    const last = lines.length - 1
    if (lines.length < shown.length) {
      text += last < 0 ? `${goTo(0)}${eraseBelow}` : `${goTo(last + 1)}${eraseBelow}`
    }
    if (text === '') return ''
    return last < 0 ? text : `${wrapOff}${text}${goTo(last)}`
  }

  /** To the first column of the region's first row, also when a resize has wrapped its lines. */
  #toTop(): string {
    const above = this.#shown.slice(0, -1)
    const rows = above.reduce((sum, { plain }) => sum + rowsOf(plain, this.columns), 0)
    return rows > 0 ? `${csi}${rows}A\r` : '\r'
  }
}
