import type { SourceSpan } from '../finding.ts'
import { lineStarts } from '../frontend/lines.ts'

/** The lines of a text, found once. A byte order mark counts for nothing, as in every position. */
export class LineIndex {
  readonly #text: string
  readonly #starts: Uint32Array

  constructor(text: string) {
    this.#text = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
    this.#starts = lineStarts(this.#text)
  }

  /** The text of a line, counted from 1, without its end; empty where there is none. */
  line(number: number): string {
    const start = this.#starts[number - 1]
    if (start === undefined) return ''
    return this.#text.slice(start, this.#starts[number]).replace(/[\r\n]+$/, '')
  }

  /** The text from one line to another one, both counted from 1 and both in it. */
  lines(first: number, last: number): string {
    return this.#text.slice(this.#offset(first, 1), this.#offset(last + 1, 1))
  }

  /** The text that a span covers. */
  slice(span: SourceSpan): string {
    return this.#text.slice(
      this.#offset(span.line, span.column),
      this.#offset(span.endLine, span.endColumn),
    )
  }

  #offset(line: number, column: number): number {
    const start = this.#starts[line - 1]
    return start === undefined ? this.#text.length : start + column - 1
  }
}
